"""worker.ocr.tesseract: tesseract's table as text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from worker.ocr.tesseract import Recognised, recognised

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
