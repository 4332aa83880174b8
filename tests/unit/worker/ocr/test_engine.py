"""worker.ocr.tesseract: which tesseract is there, and the lines that say why there is none."""

import uuid
from pathlib import Path
from typing import Any

import pytest
from debian_programs import program
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from core.records import OcrChoice, Phase
from readers.records import TextState
from sql.findings import Item, ItemText
from worker.items.loose import loose_row
from worker.ocr.candidates import PAGES_A_TASK, bare_pages, is_candidate, tasks
from worker.ocr.tesseract import (
    Engine,
    OcrUnavailable,
    Recognised,
    find_engine,
    parse_languages_list,
    parse_version,
    recognised,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tesseract 5.3.0\n leptonica-1.82.0\n", ("5.3.0", 5)),
        ("tesseract 4.1.1\n", ("4.1.1", 4)),
        ("tesseract v5.4.0.20240606\n", ("5.4.0.20240606", 5)),
        ("tesseract 5.0.0-alpha-20210401", ("5.0.0-alpha-20210401", 5)),
    ],
)
def test_versions(text: str, found: tuple[str, int]) -> None:
    """As the releases, Windows builds and development versions write them."""
    assert parse_version(text) == found


def test_what_states_no_version_is_no_tesseract() -> None:
    with pytest.raises(OcrUnavailable, match="install"):
        parse_version("usage: something else")


def test_languages() -> None:
    text = 'List of available languages in "/usr/share/x/" (3):\neng\nosd\nscript/Latin\n\nsome warning here\n'
    assert parse_languages_list(text) == ("eng", "osd", "script/Latin")


def test_a_language_without_data_is_named_with_its_package() -> None:
    with pytest.raises(OcrUnavailable) as refused:
        Engine("t", "5.3.0", ("eng", "osd")).needs("deu+eng+chi_sim")
    shown = str(refused.value)
    assert "no data for deu, chi_sim" in shown
    assert "apt-get install tesseract-ocr-deu tesseract-ocr-chi-sim" in shown
    assert "\n" not in shown
    Engine("t", "5.3.0", ("eng", "osd")).needs("eng")


def test_no_tesseract(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OcrUnavailable, match="apt-get install tesseract-ocr"):
        find_engine()
    program = tmp_path / "tesseract"
    program.write_text('#!/bin/sh\ncase $1 in --version) echo tesseract 5.9.1;; *) echo "x (1):"; echo eng;; esac\n')
    program.chmod(0o755)
    assert find_engine() == Engine(str(program), "5.9.1", ("eng",))


@pytest.mark.parametrize(
    ("script", "message"), [("echo tesseract 3.04.01", "too old"), ("echo wrong >&2; exit 3", "wrong")]
)
def test_one_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, message: str) -> None:
    program = tmp_path / "tesseract"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OcrUnavailable, match=message):
        find_engine()


def test_the_one_of_this_machine() -> None:
    program("tesseract", "tesseract-ocr")
    engine = find_engine()
    assert Path(engine.program).name == "tesseract"
    engine.needs("eng")


CHOICE = OcrChoice(languages="eng", pages=5)


def _item(media_type: str, **changes: Any) -> Item:
    row = loose_row(uuid.uuid4(), 0, uuid.uuid4().bytes, media_type=media_type, size=100, sha256=bytes(32))
    return replace(row, **changes)


def _row(state: TextState = TextState.NO_TEXT_LAYER, pages: int = 1, **metadata: Any) -> ItemText:
    return ItemText(item=uuid.uuid4(), state=state, characters=0, pages=pages, metadata=metadata)


@pytest.mark.parametrize(
    ("media_type", "metadata", "wanted"),
    [
        ("image/png", {"width": 640, "height": 480}, True),
        ("image/tiff", {"width": 16, "height": 16}, True),
        ("image/gif", {"width": 1, "height": 1}, False),
        ("image/png", {"width": 2000, "height": 15}, False),
        ("image/png", {}, False),
        ("image/heic", {"width": 640, "height": 480}, False),
        ("application/pdf", {}, True),
        ("text/plain", {}, False),
    ],
)
def test_types_and_sizes(media_type: str, metadata: dict[str, int], wanted: bool) -> None:
    """Pictures that tesseract reads and a word fits into, and PDFs."""
    assert is_candidate(_item(media_type), _row(**metadata)) is wanted


@pytest.mark.parametrize("state", [state for state in TextState if state is not TextState.NO_TEXT_LAYER])
def test_only_what_has_no_text_layer(state: TextState) -> None:
    assert not is_candidate(_item("application/pdf"), _row(state))


@pytest.mark.parametrize("state", [TextState.OK, TextState.PARTIAL])
def test_a_pdf_with_bare_pages(state: TextState) -> None:
    row = _row(state, pages=900, pages_without_text="2, 5-7")
    assert is_candidate(_item("application/pdf"), row)
    assert bare_pages(row) == [1, 4, 5, 6]
    assert not is_candidate(_item("image/png"), row)
    assert not is_candidate(_item("application/pdf"), _row(TextState.TRUNCATED_BY_LIMIT, pages_without_text="2"))
    assert len(list(tasks([(_item("application/pdf"), row)] * 2, CHOICE))) == 1


def test_bytes_must_be_there() -> None:
    assert not is_candidate(_item("application/pdf", sha256=None), _row())


@settings(max_examples=50)
@given(st.lists(st.integers(min_value=0, max_value=40), max_size=20))
def test_every_item_is_in_one_task(pages: list[int]) -> None:
    found = [(_item("application/pdf"), _row(pages=n)) for n in pages]
    made = list(tasks(found, CHOICE))
    assert [i for task in made for i in task.payload["items"]] == [item.id.hex for item, _ in found]
    counted = {item.id.hex: max(1, min(row.pages, CHOICE.pages)) for item, row in found}
    for task in made:
        assert task.phase is Phase.OCR
        assert task.weight > 0
        assert sum(counted[i] for i in task.payload["items"]) <= PAGES_A_TASK


HEAD = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"


def _word(text: str, confidence: float, block: int = 1, paragraph: int = 1, line: int = 1) -> str:
    return f"5\t1\t{block}\t{paragraph}\t{line}\t1\t0\t0\t9\t9\t{confidence}\t{text}\n"


def test_lines_and_paragraphs_come_back() -> None:
    table = HEAD + "1\t1\t0\t0\t0\t0\t0\t0\t9\t9\t-1\t\n" + _word("Dear", 90) + _word("reader", 96)
    table += _word("second", 80, line=2) + _word("paragraph", 70, paragraph=2) + _word("block", 60, block=2)
    found = recognised(table.encode(), 0, 30)
    assert found.text == "Dear reader\nsecond\n\nparagraph\n\nblock"
    assert found.letters == sum(map(len, ("Dear", "reader", "second", "paragraph", "block")))
    assert found.confidence == 4 * 90 + 6 * 96 + 6 * 80 + 9 * 70 + 5 * 60


def test_guesses_are_left_out() -> None:
    table = HEAD + _word("EEA", 28.8) + _word("real", 30) + _word(" ", 95)
    assert recognised(table.encode(), 0, 30).text == "real"
    assert recognised(table.encode(), 0, 0).text == "EEA real"


def test_a_pattern_is_no_page_of_text() -> None:
    """Where the letters are guesses on average nothing is kept, not even the one word that looks like one."""
    table = HEAD + _word("III|||lll", 12) + _word("FAR", 95) + _word("eeeeee", 20)
    assert recognised(table.encode(), 50, 30) == Recognised()
    assert recognised(table.encode(), 25, 30).text == "FAR"


def test_a_table_that_was_cut_keeps_its_whole_rows() -> None:
    table = (HEAD + _word("whole", 90) + _word("half€", 90)).encode()
    for end in range(len(HEAD + _word("whole", 90)), len(table) - len("€\n") - 5):
        assert recognised(table[:end], 50, 30, cut=True).text == "whole"
    assert recognised(table[:-2], 50, 30).text == "whole half"


@given(st.binary(max_size=300) | st.text(alphabet="5\t1\n.e-nax", max_size=300).map(str.encode))
def test_anything_is_taken(table: bytes) -> None:
    """What a program that went wrong writes is no bug of ours; NUL never comes through, and infinity is no confidence."""
    found = recognised(table, 50, 30)
    assert "\0" not in found.text
    assert 30 * found.letters <= found.confidence <= 100 * found.letters or not found.letters
