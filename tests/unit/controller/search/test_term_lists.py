"""Lists of search terms in whatever charset, and what is said of bad ones."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from controller.search.report import MOST_BYTES, Term, listed, read_terms, understood
from core.errors import UsageError

TEXT = 'über\n\n  budget  \r\n"third quarter"\n'
TERMS = (Term(1, "über"), Term(3, "budget"), Term(4, '"third quarter"'))


@pytest.mark.parametrize("charset", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_a_list_is_read_in_the_charset_that_it_is_in(charset: str, tmp_path: Path) -> None:
    file = tmp_path / "terms.txt"
    file.write_bytes(TEXT.encode(charset))
    assert read_terms(file).terms == TERMS
    assert read_terms(file, charset).terms == TERMS


def test_a_stray_byte_of_zero_makes_no_list_utf_16(tmp_path: Path) -> None:
    file = tmp_path / "terms.txt"
    file.write_bytes(b"merger\nbud\0get\nthird quarter\n")
    with pytest.raises(UsageError, match=r"1 terms have syntax errors: line 2: .*NUL"):
        read_terms(file)
    for charset in ("utf-16-le", "utf-16-be"):
        file.write_bytes("бюджет\nсделка\n".encode(charset))
        assert read_terms(file).terms == (Term(1, "бюджет"), Term(2, "сделка"))


def test_terms_that_mean_the_same_are_told(tmp_path: Path) -> None:
    file = tmp_path / "terms.txt"
    file.write_text("Budget\nwor*\nbudget\n'budget'\n")
    jobs: Any = [SimpleNamespace(), SimpleNamespace()]
    assert [one.first for one in understood(jobs, read_terms(file).terms)] == [0, 1, 0, 0]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_line_ends_where_an_editor_shows_it(end: str, tmp_path: Path) -> None:
    """As on the page and in the API: other signs that end one for some programs stand between words of a term, and the lines behind
    keep their numbers."""
    file = tmp_path / "terms.txt"
    for sign in "\u2028\u2029\u0085\f\v\x1c\x1d\x1e":
        file.write_bytes(f"giraffe{sign}lion{end}{end}tiger{end}".encode())
        terms = read_terms(file).terms
        assert [(term.line, term.text) for term in terms] == [(1, f"giraffe{sign}lion"), (3, "tiger")]
        assert terms == listed([f"giraffe{sign}lion", "", "tiger"], "the list")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "has no terms"),
        (b"\n \n\xef\xbb\xbf", "1 terms have syntax errors"),
        (b'fine\n"open\na AND\n', r"2 terms have syntax errors: line 2: .* line 3: "),
        (b"(\n" * 100, "100 terms have syntax errors: .*; and 95 more"),
        (b"\x81\x8d", "not in cp1252"),
        (b"a\n" * 10_001, "more than 10,000 terms"),
        (b"a" * (MOST_BYTES + 1), "more than 10,000,000 bytes"),
    ],
)
def test_a_bad_list_is_one_line(data: bytes, said: str, tmp_path: Path) -> None:
    """That names every line that is at fault, the first few with why."""
    file = tmp_path / "terms.txt"
    file.write_bytes(data)
    with pytest.raises(UsageError, match=said) as caught:
        read_terms(file)
    assert "\n" not in str(caught.value)


def test_files_and_charsets_that_there_are_not(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        read_terms(tmp_path / "none")
    with pytest.raises(UsageError, match="is a directory"):
        read_terms(tmp_path)
    (tmp_path / "terms").write_text("a")
    with pytest.raises(UsageError, match="no character set 'martian'"):
        read_terms(tmp_path / "terms", "martian")
    with pytest.raises(UsageError, match="character set"):
        read_terms(tmp_path / "terms", "hex")
