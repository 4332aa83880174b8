"""core.passwords: the bank as a person writes it, its limits, and what may be known of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UsageError
from core.options.tuning import MOST_PASSWORDS
from core.passwords import MOST_BYTES, PasswordBank, bank_of, parse_bank, read_bank
from core.records import BankNote, JobOptions

LINES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0\ufeff"), max_size=40), min_size=1, max_size=20
).filter(any)


@given(LINES)
def test_a_bank_comes_back_from_its_file(lines: list[str]) -> None:
    """Nothing is stripped from a password; its line is the first that has it."""
    bank = parse_bank(PasswordBank(tuple(lines)).to_bytes(), "it")
    assert bank.passwords == {line: lines.index(line) + 1 for line in lines if line}
    assert parse_bank(bank.to_bytes(), "it").to_bytes() == bank.to_bytes()  # of which the digest is made, slowly


def test_lines_of_windows_and_empty_ones() -> None:
    """A byte order mark and carriage returns are no part of a password, spaces are; empty lines keep their number."""
    assert parse_bank("\ufeffone\r\n\r\n two \r\n".encode(), "it").passwords == {"one": 1, " two ": 3}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no password"),
        (b"\n\n", "no password"),
        (b"good\nb\xff\xfe\n", "line 2 is not UTF-8"),
        (b"x" * (MOST_BYTES + 1), "line 1"),
        (b"a\0b", "line 1"),
        ("\n".join(map(str, range(MOST_PASSWORDS + 1))).encode(), "the most is"),
    ],
)
def test_a_bad_file_is_refused_in_one_line_that_shows_no_password(tmp_path: Path, data: bytes, why: str) -> None:
    file = tmp_path / "p.txt"
    file.write_bytes(data)
    with pytest.raises(UsageError, match=why) as caught:
        read_bank(file)
    said = str(caught.value)
    assert said.startswith("--passwords ")
    assert "\n" not in said
    assert "good" not in said


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        read_bank(tmp_path / "none")


def test_nothing_that_is_shown_has_a_password() -> None:
    bank = bank_of(["hunter2", "tiger"], "it")
    assert parse_bank(bank.to_bytes(), "it").note == bank.note
    options = JobOptions(passwords=bank.note)
    assert "hunter2" not in repr(bank) + repr(options)
    assert options.to_json()["passwords"] == {"count": 2, "digest": bank.note.digest}
    assert JobOptions.from_json(options.to_json()) == options
    old = JobOptions().to_json()
    del old["passwords"]
    assert JobOptions.from_json(old).passwords == BankNote()


def test_more_passwords_come_behind_those_there_are() -> None:
    one, two = parse_bank(b"a\n\nb\n", "it"), parse_bank(b"b\nc\n", "it")
    assert one.extended(two).passwords == {"a": 1, "b": 3, "c": 4}
    assert one.note != one.extended(two).note


def test_a_line_break_in_a_password_is_refused() -> None:
    with pytest.raises(UsageError, match="line break"):
        bank_of(["a\nb"], "passwords")
