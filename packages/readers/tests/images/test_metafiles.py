"""Metafiles: what they write, in the code page of the font, put together to lines."""

import struct

import pytest
from as_found import text_of
from metafiles import (
    emf,
    emr,
    emr_font,
    emr_text,
    plus,
    plus_record,
    plus_string,
    small,
    wide,
    wmf,
    wmr,
    wmr_ext_text,
    wmr_font,
    wmr_text,
)

from core.records import Limits
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.records import TextState
from readers.registry import handler_for

RUSSIAN = "Договор".encode("cp1251")
PEN = wmr(0x02FA, bytes(10))


def test_every_record_of_an_enhanced_metafile_that_writes() -> None:
    many = struct.pack("<I", 1) + struct.pack("<iiIII4iI", 0, 40, 4, 80, 0, 0, 0, 0, 0, 0) + "many".encode("utf-16-le")
    records = [
        wide("wide", (0, 10)),
        emr_font(1, 204),
        emr(37, struct.pack("<I", 1)),
        emr_text(RUSSIAN, len(RUSSIAN), (0, 20), kind=83),
        emr(97, bytes(16) + struct.pack("<Iff", 1, 1, 1) + many),
        small(b"small", 0x200),
        small("малый".encode("utf-16-le"), 0x100),
    ]
    out = text_of(emf(*records))
    assert out.text.split() == ["wide", "Договор", "many", "small", "малый"]
    assert (out.state, out.error, out.metadata) == (None, None, {"format": "emf"})


def test_runs_become_words_and_lines() -> None:
    """A word that is written letter by letter is one; a gap parts words, another height lines."""
    runs = [wide("Con", (0, 5), far=(10, 10, 10)), wide("tract", (30, 5), far=(10,) * 5), wide("of", (90, 5))]
    assert text_of(emf(*runs, wide("sale", (0, 9)))).text == "Contract of\nsale\n"


@pytest.mark.parametrize(
    ("flags", "other", "message"),
    [
        (1, [wide("Drawn twice")], "Drawn twice\n"),
        (0, [wide("Before it")], "Before it\nplus\ndriver\n"),
        (1, [], "plus\ndriver\n"),
    ],
)
def test_emf_plus(flags: int, other: list[bytes], message: str) -> None:
    driver = struct.pack("<IIII", 0, 1, 0, 6) + "driver".encode("utf-16-le") + struct.pack("<12f", *[9.0] * 12)
    records = plus(plus_record(0x4001, bytes(16), flags), plus_string("plus"), plus_record(0x4036, driver))
    assert text_of(emf(records, *other)).text == message


@pytest.mark.parametrize("placeable", [True, False])
def test_a_windows_metafile(placeable: bool) -> None:
    far = (10,) * 3
    records = [wmr_text(b"one", y=1), wmr_ext_text(b"two", y=2, options=2), wmr_ext_text(b"thr", y=3, far=far)]
    out = text_of(wmf(*records, wmr_ext_text(b"ee", x=30, y=3), placeable=placeable))
    assert out.text == "one\ntwo\nthree\n"
    assert (out.state, out.error, out.metadata) == (None, None, {"format": "wmf"})


def test_fonts_by_their_places_in_the_table() -> None:
    select = [wmr(0x012D, struct.pack("<H", n)) for n in range(3)]
    delete = wmr(0x01F0, struct.pack("<H", 0))
    greek, hebrew = "Σύμβαση".encode("cp1253"), "חוזהאחד".encode("cp1255")
    records = [
        *(wmr_font(161), PEN, wmr_font(204), select[2], wmr_text(RUSSIAN, y=1)),
        *(wmr(0x1E), select[0], select[1], wmr_text(greek, y=2)),
        *(delete, wmr_font(177), select[0], wmr_text(hebrew, y=3)),
        *(wmr(0x0127, struct.pack("<h", -1)), wmr_text(RUSSIAN, y=4)),
    ]
    assert text_of(wmf(*records)).text.split() == ["Договор", "Σύμβαση", "חוזהאחד", "Договор"]


def test_nothing_written_is_a_picture() -> None:
    assert [text_of(data).state for data in (emf(emr(54, bytes(8))), wmf(PEN))] == [TextState.NO_TEXT_LAYER] * 2


@pytest.mark.parametrize(
    ("data", "kept", "code"),
    [
        (emf(wide("kept"), wide("lost"))[:-40], "kept\n", ExceptionCode.TRUNCATED),
        (emf(wide("kept"), bytes(24)), "kept\n", ExceptionCode.CORRUPT),
        (emf(wide("kept"), wide("\x03\x04", options=0x10)), "kept\n", ExceptionCode.UNSUPPORTED),
        (emf(wide("\x03\x04", options=0x10)), None, ExceptionCode.UNSUPPORTED),
        (wmf(wmr_text(b"kept"), wmr_text(b"lost"))[:-8], "kept\n", ExceptionCode.TRUNCATED),
        (wmf(wmr_text(b"kept"), b"\0\0\0\0\5\0"), "kept\n", ExceptionCode.CORRUPT),
        (wmf(wmr_ext_text(b"ab", options=0x10)), None, ExceptionCode.UNSUPPORTED),
        (b"\xd7\xcd\xc6\x9a" + bytes(60), None, ExceptionCode.CORRUPT),
    ],
)
def test_missing_parts_are_reported(data: bytes, kept: str | None, code: ExceptionCode) -> None:
    """What there is stays, and says why it is not all; with nothing, that is the answer."""
    if kept is None:
        with pytest.raises(DocumentError) as failed:
            text_of(data)
        assert failed.value.code is code
        return
    out = text_of(data)
    assert (out.text, out.error.code if out.error else None) == (kept, code)


def test_many_texts_at_one_place_are_no_bomb() -> None:
    """A record of a thousand texts that are all at the same place gives no more than it has."""
    one = struct.pack("<iiIII4iI", 0, 0, 20_000, 40, 0, 0, 0, 0, 0, 0)
    record = emr(96, bytes(16) + struct.pack("<IffI", 1, 1, 1, 1000) + one * 1000)
    assert len(text_of(emf(record)).text) < 2 * len(record)


def test_other_forms_of_a_picture_are_children() -> None:
    """Office for Mac keeps a PDF, others a metafile for older programs; other comments, and what is cut off, carry none."""
    pdf = b"%PDF-1.3 page %%EOF"
    about = b"\2\0\0\0mac" + pdf
    carried = emr(70, struct.pack("<I", len(about)) + about + b"\0\0")
    old = wmf(wmr_text(b"older words"))
    older = struct.pack("<4sIHHIII", b"GDIC", 0x80000001, 0x300, 0, 0, 0, len(old)) + old
    comments = emr(70, struct.pack("<I", 4) + b"none"), emr(70, struct.pack("<I", len(older)) + older)
    data = emf(wide("said"), *comments, carried)
    source = MemorySource(b"picture1.emf", data)
    assert identify(source) == "image/emf"
    handler = handler_for("image/emf")
    found = [(b"picture-0.wmf", old), (b"picture-1.pdf", pdf)]
    assert [(c.name, c.data) for c in handler.children(source, Limits())] == found
    cut = MemorySource(b"picture1.emf", data[: data.index(b"%PDF") + 9])
    assert [(c.name, c.data) for c in handler.children(cut, Limits())] == found[:1]


def test_the_windows_metafile_in_a_comment() -> None:
    def comment(older: bytes) -> bytes:
        about = struct.pack("<4sIHHIII", b"GDIC", 0x80000001, 0x300, 0, 0, 0, len(older)) + older
        return emr(70, struct.pack("<I", len(about)) + about)

    older = wmf(wmr_text(b"older words"))
    assert text_of(emf(comment(older))).text.split() == ["older", "words"]
    assert text_of(emf(wide("older words"), comment(older))).text.split() == ["older", "words"]
    assert text_of(emf(wide("newer"), comment(older))).text.split() == ["newer", "older", "words"]
    assert text_of(emf(wide("newer"), comment(older[:10]))).error is None
    with pytest.raises(DocumentError):
        text_of(emf(comment(older[:10])))
