"""Word documents: pieces, stories, fields, passwords, embedded objects."""

import io
import struct
from collections.abc import Sequence

import olefile
import pytest
from as_found import read_by
from hypothesis import given
from hypothesis import strategies as st
from old_office import holding, packager, persist, powerpoint, record, word, word_6, word_6_in_fonts

from core.records import Limits
from readers.base import MemorySource
from readers.cfb import Storage, write
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.office import art
from readers.office.doc.handler import DocHandler, addresses, chosen
from readers.office.doc.numbering import Numbering, _paragraphs
from readers.office.ppt.handler import PptHandler
from readers.records import Kind

HANDLER = DocHandler()
read, children = read_by(HANDLER)
# A pixel, without the header of a file
BITMAP = struct.pack("<IiiHHIIiiII", 40, 1, 1, 1, 24, 0, 4, 0, 0, 0, 0) + b"\1\2\3\0"


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
    assert read(word_6(b"counted wrongly", characters=4)).text.split() == ["coun", "ted", "wrongly"]


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


def test_a_password_is_reported() -> None:
    with pytest.raises(DocumentError, match=r"^encrypted:"):
        read(word(["x" * 50 + "\r"], flags=0x100))


def test_a_piece_beyond_the_file_leaves_what_is_there() -> None:
    place = struct.pack("<HIH", 0, 0x400 + len("all of it\r"), 0)
    data = word(["all of it\r", "not there\r"])
    assert place in data
    out = read(data.replace(place, struct.pack("<HIH", 0, 0x30000000, 0)))
    assert out.text.startswith("all of it\n")
    assert (out.error and out.error.code) is ExceptionCode.TRUNCATED


@pytest.mark.parametrize(
    ("data", "code", "message"),
    [
        (word(["part of it\r"], counts=[11, 30]), ExceptionCode.CORRUPT, "have 11 characters, but the document states 41"),
        (word(["part of it\r", "x\r"]).replace(struct.pack("<3I", 0, 11, 13), struct.pack("<3I", 0, 11, 5)), ExceptionCode.CORRUPT, "out of order"),
        (word_6(b"part of it\r").replace(struct.pack("<II", 0x300, 0x30B), struct.pack("<II", 0x300, 0x90000)), ExceptionCode.TRUNCATED, "after the end"),
    ],
    ids=["fewer than counted", "backwards", "old"],
)  # fmt: skip
def test_pieces_that_do_not_add_up_are_reported(data: bytes, code: ExceptionCode, message: str) -> None:
    out = read(data)
    assert out.error is not None
    assert out.error.code is code
    assert message in out.error.detail
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
def test_text_of_damaged_piece_tables(data: bytes, kept: list[str]) -> None:
    """Pieces behind a lost one, a table that is found by what it says, and without any the text that the first block
    tells of; an exception in each case."""
    out = read(data)
    assert out.text == "".join(kept).replace("\r", "\n")
    assert out.error is not None
    assert out.error.code in (ExceptionCode.CORRUPT, ExceptionCode.TRUNCATED)


def test_text_of_word_95_in_two_bytes() -> None:
    shown = "東京の会議\r"
    data = word_6(shown.encode("utf-16-le"), language=0x411, characters=len(shown))
    assert read(data).text == shown.replace("\r", "\n")


@pytest.mark.parametrize(("codec", "width"), [("utf-16-le", 2), ("cp1252", 1)])
def test_pieces_of_word_95(codec: str, width: int) -> None:
    shown = "the second half\rof the first "
    bounds = struct.pack("<3I", 0, 13, len(shown))
    places = [struct.pack("<HIH", 0, 0x300 + width * at, 0) for at in (16, 0)]
    plc = bounds + b"".join(places)
    text = shown.encode(codec)
    data = word_6(
        text + b"\x02" + struct.pack("<I", len(plc)) + plc,
        characters=len(shown),
        flags=0x1004,
        clx=(0x300 + len(text), len(plc) + 5),
    )
    assert read(data).text == "of the first the second half\n"


def test_a_count_that_means_nothing() -> None:
    assert read(word(["all of it\r"], counts=[10, 0, 0, 99])).error is None


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
    assert (child.error and child.error.code) is ExceptionCode.TRUNCATED


def test_no_word_document() -> None:
    """A compound file of something else, and a stream that does not begin as one."""
    for data in (word(["x"]).replace("WordDocument".encode("utf-16-le"), "NordDocument".encode("utf-16-le")), b"no"):
        with pytest.raises(DocumentError, match=r"^corrupt:"):
            read(data)
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


def field(entries: list[str], result: int, *, kind: int = 2, default: int = 0) -> bytes:
    """A form's field as it lies in the stream of data."""

    def string(text: str) -> bytes:
        return struct.pack("<H", len(text)) + text.encode("utf-16-le") + b"\0\0"

    head = struct.pack("<IHHH", 0xFFFFFFFF, kind | result << 2, 0, 0) + string("Dropdown1") + struct.pack("<H", default)
    strings = b"".join(map(string, ("", "help", "status", "", "macro")))
    listed = b"".join(struct.pack("<H", len(entry)) + entry.encode("utf-16-le") for entry in entries)
    body = head + strings + struct.pack("<HHH", 0xFFFF, len(entries), 0) + listed
    return struct.pack("<IH", 68 + len(body), 0x44) + bytes(62) + body


def shape(message: str, kind: int = 0x8381) -> bytes:
    """Properties of a shape, the last of which says something."""
    raw = (message + "\0").encode("utf-16-le")
    properties = struct.pack("<HI", 0x0004, 7) + struct.pack("<HI", 0x8380, 4) + struct.pack("<HI", kind, len(raw))
    data = properties + "n\0".encode("utf-16-le") + raw
    return struct.pack("<HHI", 3 << 4 | 3, 0xF00B, len(data)) + data


def test_everything_comes_behind_the_text() -> None:
    link = '\x13 HYPERLINK "http://evidence.example/ a" \\o "tip" \x14click\x15'
    data = b"junk" + field(["Innocent", "Guilty"], 1) + shape("A ship in the harbour")
    owners = b"".join(struct.pack("<H", len(name)) + name.encode("utf-16-le") for name in ("Miller", "Ann", "Miller"))
    made = word(
        [f"Verdict: \x13 FORMDROPDOWN \x01\x15 {link}\r"],
        streams={"Data": data},
        drawings=shape("Watermark", 0x80C0) + shape("Map of the Quarterdeck"),
        owners=owners,
    )
    out = read(made)
    shown = ["Watermark", "Guilty", "Map of the Quarterdeck", "A ship in the harbour", "Miller", "Ann"]
    assert out.text.splitlines() == ["Verdict:  click", *shown, "http://evidence.example/ a"]
    assert out.error is None


@pytest.mark.parametrize(
    ("result", "default", "kind", "wanted"),
    [(1, 0, 2, ["two"]), (25, 1, 2, ["two"]), (2, 0, 2, []), (1, 0, 1, []), (25, 9, 2, [])],
)
def test_the_entry_that_is_chosen(result: int, default: int, kind: int, wanted: list[str]) -> None:
    data = field(["one", "two"], result, kind=kind, default=default)
    assert list(chosen(data)) == wanted
    for cut in range(len(data)):
        list(chosen(data[:cut]))


def test_where_links_lead() -> None:
    text = '\x13HYPERLINK "http://a"\x14x\x15 \x13 hyperlink http://b \\h\x14y\x15 \x13 HYPERLINK \\l "there"\x14z\x15 '
    text += '\x13 HYPERLINK "http://a"\x14x\x15 HYPERLINK "http://c" \x13 REF HYPERLINK "http://d"\x15'
    assert list(addresses(text)) == ["http://a", "http://b"]
    assert list(addresses("\x13 HYPERLINK" + " " * 200_000 + '"')) == []


def test_descriptions_of_shapes() -> None:
    data = b"\x0b\xf0" + shape("one") + b"\x33" + shape("two") + b"\x81\x83"
    assert list(art.descriptions(data)) == ["one", "two"]
    assert list(art.lettering(data)) == []
    for cut in range(len(data)):
        list(art.descriptions(data[:cut]))


def test_descriptions_of_shapes_on_slides_are_text() -> None:
    drawn = holding(0x3EE, holding(0x40C, holding(0xF002, holding(0xF004, shape("A ship in the harbour")))))
    made = powerpoint({1: holding(0x3E8, holding(0xFF0, persist(2))), 2: drawn})
    out = PptHandler().text(MemorySource(b"x.ppt", made), Limits())
    assert (out.text, out.error) == ("A ship in the harbour\n", None)


LEGAL, NO_RESTART = 0x04, 0x08


def level(text: str, form: int = 0, start: int = 1, flags: int = 0, limit: int = 0) -> bytes:
    """LVL; `{0}` to `{8}` in the text stand for numbers."""
    shown = text.format(*map(chr, range(9)))
    head = struct.pack("<IBB9xB8xBBBx", start, form, flags, 0, 2, 3, limit)
    return head + b"abc" + b"de" + struct.pack("<H", len(shown)) + shown.encode("utf-16-le")


def lists(*definitions: Sequence[bytes]) -> bytes:
    """PlfLst and the levels behind it; one level makes a simple list."""
    heads = b"".join(struct.pack("<I4x18xBx", 100 + i, len(one) == 1) for i, one in enumerate(definitions))
    levels = b"".join(
        lvl for one in definitions for lvl in [*one, *[level("")] * (9 - len(one) if len(one) > 1 else 0)]
    )
    return struct.pack("<H", len(definitions)) + heads + levels


def instances(*of: tuple[int, Sequence[bytes]]) -> bytes:
    """PlfLfo: definitions by their place, and overrides."""
    heads = b"".join(struct.pack("<I8xBxxx", 100 + number, len(overrides)) for number, overrides in of)
    return struct.pack("<I", len(of)) + heads + b"".join(bytes(4) + b"".join(overrides) for _, overrides in of)


def own(number: int | None = None, at: int | None = None) -> bytes:
    """Modifiers of a paragraph: a list and a level, behind others."""
    out = struct.pack("<HB", 0x2403, 1) + struct.pack("<HBH", 0xC60D, 2, 0)
    out += struct.pack("<HB", 0x260A, at) if at is not None else b""
    return out + (struct.pack("<HH", 0x460B, number) if number is not None else b"")


def styles(*reported: tuple[int, bytes]) -> bytes:
    """STSH: for each style the one that it is based on, and modifiers of paragraphs."""
    out = struct.pack("<HHH", 4, len(reported), 10)
    for base, modifiers in reported:
        papx = struct.pack("<HH", 2 + len(modifiers), 0) + modifiers
        style = struct.pack("<HHHHH", 0, 1 | base << 4, 1, 0, 0) + struct.pack("<H2sH", 1, b"n\0", 0) + papx
        out += struct.pack("<H", len(style)) + style + b"\0" * (len(style) & 1)
    return out


def document(
    paragraphs: Sequence[tuple[str, int, bytes]], lst: bytes, lfo: bytes, sheet: bytes = b"", main: int | None = None
) -> bytes:
    """A Word 97 document of paragraphs (text, style, modifiers), the first `main` characters of which are its main text."""
    text = "".join(one + "\r" for one, _, _ in paragraphs)
    raw = text.encode("cp1252").ljust(512 * (len(text) // 512 + 1), b"\0")
    bounds, entries, room, at = [0x400], [], bytearray(512), 500
    for shown, style, modifiers in paragraphs:
        bounds.append(bounds[-1] + len(shown) + 1)
        papx = struct.pack("<H", style) + modifiers
        papx += b"\0" * (1 - len(papx) % 2)
        at -= (len(papx) + 1 + 1) & ~1
        room[at : at + 1 + len(papx)] = bytes(((len(papx) + 1) // 2,)) + papx
        entries.append(bytes((at // 2,)) + bytes(12))
    head = struct.pack(f"<{len(bounds)}I", *bounds) + b"".join(entries)
    assert len(head) <= at
    room[: len(head)] = head
    room[511] = len(paragraphs)
    page = (0x400 + len(raw)) // 512
    plc = struct.pack("<2I", 0, len(text)) + struct.pack("<HIH", 0, 0x40000000 | 0x400 * 2, 0)
    table = {
        0x1A2: b"\x02" + struct.pack("<I", len(plc)) + plc,
        0x102: struct.pack("<3I", bounds[0], bounds[-1], page),
        0xA2: sheet,
        0x2EA: lfo,
        0x2E2: lst,
    }
    fib, stream = bytearray(0x400), bytearray(7)
    struct.pack_into("<HHHHHH", fib, 0, 0xA5EC, 0xC1, 0, 0x409, 0, 0x1200)
    struct.pack_into("<II", fib, 0x18, 0x400, 0x400 + len(text))
    count = len(text) if main is None else main
    struct.pack_into("<2I", fib, 0x4C, count, len(text) - count)
    for place, part in table.items():
        struct.pack_into("<II", fib, place, len(stream), len(part))
        stream += part
    return write(Storage(streams={"WordDocument": bytes(fib) + raw + room, "1Table": bytes(stream)}))


def lines(data: bytes) -> list[str]:
    """What the document says."""
    out = read(data)
    assert out.error is None
    return out.text.splitlines()


OUTLINE = (level("{0}."), level("{0}.{1}"), level("{0}.{1}({2})", 4), level("({3})", 2))


def test_what_people_cite_is_found() -> None:
    steps = [0, 0, 0, 0, 1, 1, 2, 2, 3, 1, 2, None, 0]
    paragraphs = [(f"p{i}", 0, own(None if at is None else 1, at)) for i, at in enumerate(steps)]
    main = sum(len(shown) + 1 for shown, _, _ in paragraphs)
    data = document([*paragraphs, ("note", 0, own(1, 0))], lists(OUTLINE), instances((0, ())), main=main)
    labels = ["1.", "2.", "3.", "4.", "4.1", "4.2", "4.2(a)", "4.2(b)", "(i)", "4.3", "4.3(a)", None, "5."]
    shown = [f"{label}\tp{i}" if label else f"p{i}" for i, label in enumerate(labels)]
    assert lines(data) == [*shown, "1.\tnote"]


def test_instances_styles_and_flags() -> None:
    start = struct.pack("<iI", 7, 0x10)
    form = struct.pack("<iI", 0, 0x20) + level("Art. {0}", 1)
    lst = lists((level("{0}", 3), level("{0}-{1}", 0, flags=LEGAL | NO_RESTART)), (level("\u2022", 23),))
    lfo = instances((0, ()), (0, (start,)), (0, (form,)), (1, ()))
    sheet = styles((0xFFF, b""), (0xFFF, own(1)), (1, own(None, 1)))
    paragraphs = [
        *(("a", 1, b""), ("b", 2, b""), ("c", 2, b""), ("d", 1, own(0)), ("e", 1, b""), ("f", 2, b"")),
        *(("g", 0, own(2, 0)), ("h", 0, own(3, 0)), ("i", 0, own(4, 0)), ("j", 0, own(9, 0)), ("k", 77, own())),
    ]
    labels = ["A", "1-1", "1-2", "", "B", "2-3", "G", "Art. VIII", "", "", ""]
    expected = [
        f"{label}\t{shown}" if label else shown for label, (shown, _, _) in zip(labels, paragraphs, strict=True)
    ]
    assert lines(document(paragraphs, lst, lfo, sheet)) == expected


def test_a_levels_text_hides_nothing() -> None:
    lst, lfo = lists((level("\x14%1\x1e{0}\x13"),)), instances((0, ()))
    assert lines(document([("a", 0, own(1, 0)), ("b", 0, own(1, 0))], lst, lfo)) == ["%1-1\ta", "%1-2\tb"]


def test_a_page_of_paragraphs_is_taken_once() -> None:
    page = (struct.pack("<2IB", 0, 10, 250).ljust(500, b"\0") + b"\1").ljust(511, b"\0") + b"\1"
    numbers = [1, 1 | 1 << 22, 7] * 100  # the last one is not there
    table = bytes(4 * (len(numbers) + 1)) + struct.pack(f"<{len(numbers)}I", *numbers)
    assert [run[:2] for run in _paragraphs(bytes(512) + page, table)] == [(0, 10)]


@given(st.data())
def test_damaged_lists_cost_no_text(data: st.DataObject) -> None:
    """Neither an exception nor a word."""
    table = bytearray(lists(OUTLINE) + instances((0, (struct.pack("<iI", 7, 0x10),))) + styles((0xFFF, own(1))))
    stream = bytearray(0x400)
    for place in (0xA2, 0x102, 0x2E2, 0x2EA):
        struct.pack_into("<II", stream, place, data.draw(st.integers(0, 600)), data.draw(st.integers(0, 600)))
    for _ in range(data.draw(st.integers(0, 8))):
        table[data.draw(st.integers(0, len(table) - 1))] = data.draw(st.integers(0, 255))
    Numbering(bytes(stream + table), bytes(table))
