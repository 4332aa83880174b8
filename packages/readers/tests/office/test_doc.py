"""Word documents: pieces, stories, fields, passwords, embedded objects."""

from __future__ import annotations

import io
import struct

import olefile
import pytest
from old_office import packager, record, word, word_6, word_6_in_fonts

from core.records import Limits
from readers.base import Child, MemorySource, Text
from readers.cfb import Storage
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.office.doc.handler import DocHandler
from readers.records import Kind, TextState

HANDLER = DocHandler()
BITMAP = (
    struct.pack("<IiiHHIIiiII", 40, 1, 1, 1, 24, 0, 4, 0, 0, 0, 0) + b"\1\2\3\0"
)  # a pixel, without the header of a file


def read(data: bytes, limits: Limits | None = None) -> Text:
    return HANDLER.text(MemorySource(b"x.doc", data), limits or Limits())


def children(data: bytes) -> list[Child]:
    return list(HANDLER.children(MemorySource(b"x.doc", data), Limits()))


def test_pieces_in_two_encodings_are_one_text() -> None:
    """8-bit characters are windows-1252, the others UTF-16; paragraphs become lines."""
    out = read(word(["It\u2019s a café\rand ", "это — 中文\r", "the end\r"]))
    assert out.text == "It\u2019s a café\nand это — 中文\nthe end\n"
    assert (out.error, out.pages, out.state) == (None, None, None)


def test_every_story_is_text() -> None:
    stories = ["main\r", "foot\r", "head\r", "", "comment\r", "end\r", "box\r", "headbox\r"]
    out = read(word(["".join(stories)], counts=[len(s) for s in stories]))
    assert out.text.split() == ["main", "foot", "head", "comment", "end", "box", "headbox"]


def test_special_characters() -> None:
    """Cells by tabs, rows and breaks by lines, hyphens kept, optional ones too, for the index has such a word whole
    and in its parts; marks and pictures dropped."""
    out = read(word(["a\x07b\x07\x07c\x0bd\x0ce\x1ef\x1fg\x01\x02\x05\x08h\r"]))
    assert out.text == "a\tb\nc\nd\ne-f\xadgh\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('see \x13 HYPERLINK "http://x" \x14here\x15 now', "see here now\nhttp://x"),
        ("\x13 IF \x13 PAGE \x141\x15 = 1 \x14yes\x15!", "yes!"),
        ("a\x13 XE hidden \x15b", "ab"),
        ("\x13 EQ \\o\\ad(base,reading)\x15!", " EQ \\o\\ad(base,reading)!"),
        ("\x13 MACROBUTTON NoMacro [Name of the client]\x15!", " MACROBUTTON NoMacro [Name of the client]!"),
        ("lost \x13 code without an end", "lost  code without an end"),
        ("stray \x14 and \x15 marks", "stray  and  marks"),
    ],
)
def test_fields_show_results(text: str, shown: str) -> None:
    assert read(word([text + "\r"])).text == shown + "\n"


def test_word_6_is_read_in_its_code_page() -> None:
    """Bytes of the language's Windows code page."""
    assert read(word_6("Привет\r".encode("cp1251"), language=0x419)).text == "Привет\n"


def test_word_6_is_read_by_its_fonts() -> None:
    """Where the language says nothing, the font of Normal does; runs with a font of their own are in that one's code
    page, however short; symbols and fonts of no character set are in the document's."""
    fonts = [(b"Arial", 0), (b"Arial CE", 238), (b"Times Cyr", 0), (b"Symbol", 2), (b"Odd", 99)]
    runs = [("Škoda ", "cp1250", None), ("и ", "cp1251", 2), ("też ", "cp1250", 3), ("łąka\r", "cp1250", 4)]
    assert read(word_6_in_fonts(runs, fonts, normal=1)).text == "Škoda и też łąka\n"


def test_word_6_fonts_do_not_overrule_the_language() -> None:
    runs = [("Привет ", "cp1251", None), ("żółw\r", "cp1250", 0)]
    out = read(word_6_in_fonts(runs, [(b"Arial CE", 238)], normal=0, language=0x419))
    assert out.text == "Привет żółw\n"


@pytest.mark.parametrize("place", [0x60, 0xB8, 0xD0])
def test_word_6_with_damaged_fonts(place: int) -> None:
    """A table that lies anywhere costs no more than what it would have told."""
    data = word_6_in_fonts([("Contract\r", "cp1250", 0)], [(b"Arial CE", 238)], normal=0, damaged=place)
    assert read(data).text == "Contract\n"


def test_a_password_is_said() -> None:
    with pytest.raises(DocumentError) as caught:
        read(word(["x" * 50 + "\r"], flags=0x100))
    assert caught.value.code is ExceptionCode.ENCRYPTED


def test_a_piece_beyond_the_file_leaves_what_is_there() -> None:
    place = struct.pack("<HIH", 0, 0x400 + len("all of it\r"), 0)
    data = word(["all of it\r", "not there\r"])
    assert place in data
    out = read(data.replace(place, struct.pack("<HIH", 0, 0x30000000, 0)))
    assert out.text.startswith("all of it\n")
    assert out.error is not None
    assert out.error.code is ExceptionCode.TRUNCATED


@pytest.mark.parametrize(
    ("data", "code", "said"),
    [
        (word(["part of it\r"], counts=[11, 30]), ExceptionCode.CORRUPT, "have 11 characters, the document 41"),
        (word(["part of it\r", "x\r"]).replace(struct.pack("<3I", 0, 11, 13), struct.pack("<3I", 0, 11, 5)), ExceptionCode.CORRUPT, "out of order"),
        (word_6(b"part of it\r").replace(struct.pack("<II", 0x300, 0x30B), struct.pack("<II", 0x300, 0x90000)), ExceptionCode.TRUNCATED, "after the end"),
    ],
    ids=["fewer than counted", "backwards", "old"],
)  # fmt: skip
def test_pieces_that_do_not_add_up_are_told(data: bytes, code: ExceptionCode, said: str) -> None:
    out = read(data)
    assert out.error is not None
    assert out.error.code is code
    assert said in out.error.detail
    assert "part of it" in out.text


TWO = ["the first piece\r", "а это вторая\r"]


def _table_of(data: bytes) -> int:
    """Where the piece table begins: behind the property modifiers that `word` writes in front of it."""
    return data.index(b"padding") + 7 + 5


def _overstated(data: bytes) -> bytes:
    at = _table_of(data) + 1
    return data[:at] + struct.pack("<I", 12_000) + data[at + 4 :]


def _first_piece_outside(data: bytes) -> bytes:
    return data.replace(struct.pack("<HIH", 0, 0x40000800, 0), struct.pack("<HIH", 0, 0x70000000, 0))


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        (_overstated(word(TWO)), TWO),
        (word(TWO).replace(struct.pack("<II", 7, 38), struct.pack("<II", 400, 38)), TWO),
        (word(TWO).replace("1Table".encode("utf-16-le"), "0Table".encode("utf-16-le")), TWO),
        (_first_piece_outside(word(TWO)), TWO[1:]),
        (word(TWO[:1]).replace("1Table".encode("utf-16-le"), "9Table".encode("utf-16-le")), TWO[:1]),
        (word(["", TWO[1]]).replace("1Table".encode("utf-16-le"), "9Table".encode("utf-16-le")), TWO[1:]),
        (word(TWO).replace(struct.pack("<H", 0xA5EC), b"??"), TWO),
    ],
    ids=["overstated", "elsewhere", "other stream", "a piece outside", "none", "none, UTF-16", "first block"],
)
def test_damaged_piece_tables_leave_what_can_be_had(data: bytes, kept: list[str]) -> None:
    """Pieces behind a lost one, a table that is found by what it says, and without any the text that the first block
    tells of; an exception in each case."""
    out = read(data)
    assert out.text == "".join(kept).replace("\r", "\n")
    assert out.error is not None
    assert out.error.code in (ExceptionCode.CORRUPT, ExceptionCode.TRUNCATED)


def test_text_of_word_95_in_two_bytes() -> None:
    said = "東京の会議\r"
    data = word_6(said.encode("utf-16-le"), language=0x411, characters=len(said))
    assert read(data).text == said.replace("\r", "\n")


@pytest.mark.parametrize(("codec", "width"), [("utf-16-le", 2), ("cp1252", 1)])
def test_pieces_of_word_95(codec: str, width: int) -> None:
    said = "the second half\rof the first "
    bounds = struct.pack("<3I", 0, 13, len(said))
    places = [struct.pack("<HIH", 0, 0x300 + width * at, 0) for at in (16, 0)]
    plc = bounds + b"".join(places)
    text = said.encode(codec)
    data = word_6(
        text + b"\x02" + struct.pack("<I", len(plc)) + plc,
        characters=len(said),
        flags=0x1004,
        clx=(0x300 + len(text), len(plc) + 5),
    )
    assert read(data).text == "of the first the second half\n"


def test_a_count_that_means_nothing() -> None:
    assert read(word(["all of it\r"], counts=[10, 0, 0, 99])).error is None


def test_the_limit_of_characters() -> None:
    out = read(word(["x" * 500 + "\r"]), Limits(text_characters=100))
    assert (len(out.text), out.state) == (100, TextState.TRUNCATED_BY_LIMIT)


def test_pieces_that_overlap_are_no_bomb() -> None:
    """A table of many pieces that all are the whole text gives no more than the stream is long."""
    data = bytearray(word(["x" * 2_000 + "\r"] + [""] * 400))
    plc_at = bytes(data).index(b"padding") + 7 + 10
    for i in range(1, 402):
        struct.pack_into("<I", data, plc_at + 4 * i, i * 2_001)
        struct.pack_into("<I", data, plc_at + 4 * 402 + 8 * (i - 1) + 2, 0x40000000 | 0x400 * 2)
    out = read(bytes(data))
    assert 2_000 <= len(out.text) <= 10_000
    assert out.error is not None


def pool(*storages: Storage) -> list[Storage]:
    return [Storage("ObjectPool", storages=list(storages))]


def test_embedded_files_and_documents() -> None:
    """A package gives its file with its name, an Office Open XML stream its bytes, another document a compound file
    of its own; links and controls give nothing."""
    inner = Storage("_3", bytes(range(16)), {"Workbook": b"w" * 5_000, "\x01CompObj": b"c"}, [Storage("Sub")])
    data = word(
        ["x\r"],
        storages=pool(
            Storage("_1", streams={"\x01Ole10Native": packager(b"C:\\a\\report.pdf", b"%PDF-1.4"), "\x01Ole": b"o"}),
            Storage("_2", streams={"Package": b"PK\3\4"}),
            inner,
            Storage("_4", streams={"\x01Ole": b"o", "\x03LinkInfo": b"l"}),
            Storage("_5", streams={"\x03OCXNAME": b"n", "contents": b"c"}),
        ),
    )
    found = children(data)
    assert [(c.name, c.ordinal, c.kind) for c in found] == [
        (b"report.pdf", 0, Kind.EMBEDDED_OBJECT),
        (b"_2", 1, Kind.EMBEDDED_OBJECT),
        (b"_3", 2, Kind.EMBEDDED_OBJECT),
    ]
    assert [c.data for c in found[:2]] == [b"%PDF-1.4", b"PK\3\4"]
    with olefile.OleFileIO(io.BytesIO(found[2].data or b"")) as other:
        assert other.openstream("Workbook").read() == b"w" * 5_000
        assert other.root.clsid == "03020100-0504-0706-0809-0A0B0C0D0E0F"
        assert other.listdir(storages=True) == [["\x01CompObj"], ["Sub"], ["Workbook"]]


def test_pictures_in_and_above_the_text() -> None:
    """Those of both streams, after the objects, a bitmap with the header of its file; one that is cut off, and one that is
    no picture, are none."""
    jpg, png, tif = b"\xff\xd8\xff\xe0jpg", b"\x89PNG\r\n", b"II*\0tif"
    data = b"".join(
        (
            b"header" * 20 + record(0xF01D, bytes(17) + jpg, 0x46A) + b"between",
            record(0xF01D, bytes(33) + jpg, 0x6E3) + record(0xF01D, bytes(17) + b"text", 0x46A),
            record(0xF01F, bytes(17) + b"no bitmap" * 9, 0x7A8) + record(0xF01F, bytes(17) + BITMAP, 0x7A8),
            record(0xF029, bytes(17) + tif, 0x6E4) + record(0xF01E, bytes(17) + png, 0x6E0)[:-1],
        )
    )
    objects = pool(Storage("_1", streams={"Package": b"PK\3\4"}))
    found = children(word(["x\r"], storages=objects, streams={"Data": data}))
    assert [(c.name, c.ordinal, c.data) for c in found[1:]] == [
        (b"picture1.jpg", 1, jpg),
        (b"picture2.jpg", 2, jpg),
        (b"picture3.bmp", 3, b"BM" + struct.pack("<IHHI", 14 + len(BITMAP), 0, 0, 54) + BITMAP),
        (b"picture4.tif", 4, tif),
    ]
    with olefile.OleFileIO(io.BytesIO(word(["x\r"]))) as other:
        main = other.openstream("WordDocument").read() + record(0xF01E, bytes(33) + png, 0x6E1)
    assert [c.data for c in children(word([], streams={"WordDocument": main}))] == [png]


def test_a_package_cut_short_is_a_row_with_an_exception() -> None:
    cut = packager(b"a.bin", b"abc", size=900)
    child = children(word(["x\r"], storages=pool(Storage("_1", streams={"\x01Ole10Native": cut}))))[0]
    assert (child.data, child.name, child.emit) == (None, b"_1", True)
    assert child.error is not None
    assert child.error.code is ExceptionCode.TRUNCATED


def test_no_word_document() -> None:
    """A compound file of something else, and a stream that does not begin as one."""
    for data in (word(["x"]).replace("WordDocument".encode("utf-16-le"), "NordDocument".encode("utf-16-le")), b"no"):
        with pytest.raises(DocumentError) as caught:
            read(data)
        assert caught.value.code is ExceptionCode.CORRUPT
    assert children(b"no") == []


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0x02, b"\0\0"),  # a version before Word 97, whose tables are elsewhere
        (0x0B, b"\x00"),  # the other table
        (0x18, struct.pack("<II", 0x7FFFFFF0, 0x7FFFFFF8)),
        (0x4C, bytes(32)),  # no characters
        (0x1A2, bytes(8)),  # no piece table
        (0x1A2, struct.pack("<II", 0x7FFFFFFF, 100)),
        (0x1A6, struct.pack("<I", 10)),
    ],
)
def test_a_first_block_that_points_elsewhere_is_never_empty_without_a_word(place: int, value: bytes) -> None:
    """What can be had is text; else there is an exception."""
    data = word("firstword of the text")
    begin = data.find(struct.pack("<H", 0xA5EC))
    damaged = data[: begin + place] + value + data[begin + place + len(value) :]
    try:
        found = read(damaged)
    except DocumentError:
        return
    assert found.error is not None or "firstword" in found.text


@pytest.mark.parametrize(("codec", "width"), [("cp1252", 1), ("utf-16-le", 2)])
def test_what_is_left_of_a_file_without_its_directory(codec: str, width: int) -> None:
    """Word puts the document first and the tables behind it: of a file that breaks off the text is there."""
    text, first = "words that are left\rand a café\r", 0x400
    block = bytearray(first)
    struct.pack_into("<HH", block, 0, 0xA5EC, 193)
    struct.pack_into("<II", block, 0x18, first, first + width * len(text))
    struct.pack_into("<I", block, 0x4C, len(text))
    head = bytearray(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(512, b"\0"))
    struct.pack_into("<HHH", head, 26, 3, 0xFFFE, 9)
    struct.pack_into("<I", head, 48, 500)  # where the directory was
    data = bytes(head + block) + text.encode(codec)[: width * -4]
    source = MemorySource(b"x.doc", data)
    assert identify(source, None) == "application/msword"
    out = HANDLER.text(source, Limits())
    assert out.text == "words that are left\nand a c"
    assert out.error is not None
