"""RTF, PDF, OneNote, and what old Office documents carry."""

import struct
import zlib

from djvu_file import djvu
from hwp_file import deflated, hwp
from old_office import chars, holding, powerpoint, record, word
from pdf_file import CATALOGUE, CONTENT, HELVETICA, PAGES, page, pdf, stream

from readers.cfb import Storage, write
from shapes.shape import shapes

# RTF ---------------------------------------------------------------------------------------------------------------


def _rtf(text: bytes) -> bytes:
    return rb"{\rtf1\ansi" + text + b"}"


# PDF ---------------------------------------------------------------------------------------------------------------


_BOX = b"0 0 99 99"


def _one_page(*objects: bytes, entries: bytes = b"", catalogue: bytes = b"") -> bytes:
    return pdf(CATALOGUE % catalogue, PAGES, page(entries, _BOX), *objects)


def _packed(n: int) -> bytes:
    """Object streams before the table of objects, of which only the last ends."""
    own = b"9 0 obj<</Type /ObjStm /Filter /FlateDecode >>stream\n" + zlib.compress(b"1 0 <<>>") + b"\n"
    return _one_page(own * n + b"endstream")


def _open_streams(n: int) -> bytes:
    """The same of a document that has to be put together again."""
    return b"%PDF-1.7\n" + b"1 0 obj<</Type /ObjStm /Filter /FlateDecode >>stream\n" * n + b"endstream %%EOF"


def _page_of(content: bytes) -> bytes:
    return _one_page(stream(content), HELVETICA, entries=CONTENT)


def _annotations(n: int) -> bytes:
    note = b"<</Type/Annot/Subtype/Text/Rect[0 0 1 1]/Contents(a)>>"
    return _one_page(entries=b"/Annots[" + note * n + b"]")


def _fields(n: int) -> bytes:
    """A form; each field is a widget of the page."""
    refs = b" ".join(b"%d 0 R" % (4 + i) for i in range(n))
    fields = [b"<</Type/Annot/Subtype/Widget/FT/Tx/T(f%d)/V(v)/Rect[0 0 1 1]>>" % i for i in range(n)]
    return _one_page(*fields, catalogue=b"/AcroForm<</Fields[%b]>>" % refs, entries=b"/Annots[%b]" % refs)


def _files(n: int, *, nested: bool) -> bytes:
    """Embedded files in one leaf of the name tree, or in as many leaves as there are."""
    spec = b"<</Type/Filespec/F(a)/EF<</F 4 0 R>>>>"
    names = b" ".join(b"(%06d) %b" % (i, spec) for i in range(n))
    tree = b"<</Names[%b]>>" % names
    if nested:
        kids = b"".join(b"<</Limits[(%06d)(%06d)]/Names[(%06d) %b]>>" % (i, i, i, spec) for i in range(n))
        tree = b"<</Kids[%b]>>" % kids
    return _one_page(stream(b"x"), catalogue=b"/Names<</EmbeddedFiles %b>>" % tree)


def _pages(n: int) -> bytes:
    kids = b" ".join(b"%d 0 R" % (3 + i) for i in range(n))
    return pdf(CATALOGUE % b"", b"<</Type/Pages/Kids[%b]/Count %d>>" % (kids, n), *[page(box=_BOX)] * n)


# OneNote -----------------------------------------------------------------------------------------------------------

_PACKAGE = bytes(48) + bytes.fromhex("2fe98d63d4a6c14b9a36b3fc2511a5b7") + bytes(4)


def _one_object(raw: bytes) -> bytes:
    """A packaged section with one object: its properties."""
    size = b"\x80" + struct.pack("<Q", len(raw))
    body = b"\0\0" + size + raw
    return _PACKAGE + _large(0x16, body) + bytes((0x7A << 2 & 0xFF | 3, 0x7A << 2 >> 8))


def _large(kind: int, body: bytes) -> bytes:
    return struct.pack("<I", 2 | kind << 3 | 0x7FFF << 17) + b"\x80" + struct.pack("<Q", len(body)) + body


def _references(n: int) -> bytes:
    """Lists of references that are not there."""
    head = struct.pack("<I", 1 << 31)
    return _one_object(
        head + struct.pack("<H", min(n, 65_000)) + struct.pack("<I", 9 << 26) * n + struct.pack("<I", 1 << 30) * n
    )


def _objects(n: int) -> bytes:
    """Objects whose references are behind them."""
    own = struct.pack("<I", 2 | 0x16 << 3 | 9 << 17) + b"\x80" + struct.pack("<Q", 1 << 40)
    return _PACKAGE + own * n + bytes(20 * n)


def _long_objects(n: int) -> bytes:
    """Objects whose properties are behind them."""
    own = struct.pack("<I", 2 | 0x16 << 3 | 11 << 17) + b"\0\0\x80" + struct.pack("<Q", 1 << 40)
    return _PACKAGE + own * n + bytes(40 * n)


# Word, PowerPoint and compound files -------------------------------------------------------------------------------


def _word_pieces(n: int) -> bytes:
    return word(["a", "b"] * n)


def _word_tables(n: int) -> bytes:
    """Very many places at which a piece table could begin, and none where the document says."""
    return word(["a"], streams={"1Table": (b"\x02" + struct.pack("<II", 16 + 12 * 5, 0)) * 10 * n})


def _word_6_fonts(n: int) -> bytes:
    """Runs of one character each, in two fonts by turns, on pages that all are the same."""
    stream = bytearray(0x400)
    page = struct.pack("<101I", *(0x400 + i for i in range(101))) + bytes((252,)) * 100
    page = page[:504] + b"\x03\x5d\1\0"
    page = page + bytes(511 - len(page)) + b"\x64"
    struct.pack_into("<HHHHHH", stream, 0, 0xA5DC, 101, 0, 0x409, 0, 0)
    struct.pack_into("<II", stream, 0x18, 0x400, 0x400 + 512 * n)
    stream += b"\xe8" * (512 * n)
    stream += page
    table = bytes(4 * (n + 1)) + struct.pack("<H", len(stream) // 512 - 1) * n
    names = struct.pack("<H", 0) + b"\x06\0\0\0\xee\0\0" * n
    for place, data in ((0xB8, table), (0xD0, names)):
        struct.pack_into("<II", stream, place, len(stream), len(data))
        stream += data
    return write(Storage(streams={"WordDocument": bytes(stream)}))


def _word_fields(n: int) -> bytes:
    return word(["\x13 a \x14" * n + "b" + "\x15" * n])


def _pictures(n: int) -> bytes:
    """Headers of metafiles, each within the data of those before it, and nothing that can be inflated."""
    head = b"\x40\x3d\x1a\xf0" + struct.pack("<I", 54 * 40 * n)
    about = bytes(16) + struct.pack("<I24xIBB", 100, 1000 * n, 0, 0xFE)
    return word(["a"], streams={"Data": (head + about) * 40 * n + bytes(20_000)})


def _bitmaps(n: int) -> bytes:
    """Headers of bitmaps, each within the data of those before it, and nothing that is one."""
    return word(
        ["a"], streams={"Data": (b"\x80\x7a\x1f\xf0" + struct.pack("<I", 25 * 80 * n) + bytes(17)) * 80 * n + bytes(99)}
    )


def _frames(n: int) -> bytes:
    """Pieces of text in a Publisher document that are all the same one."""
    entry = struct.pack("<H4s6x4sII", 24, b"TEXT", b"TEXT", 1568, 2 * n)
    contents = b"CHNKINK " + bytes(24) + entry * 64 + b"a\0" * n
    inner = Storage(name="QuillSub", streams={"CONTENTS": contents})
    return write(Storage(storages=[Storage(name="Quill", storages=[inner])]))


def _edits(n: int) -> bytes:
    """Edits of a presentation, all with one long directory."""
    entries = struct.pack("<II", 1 << 20 | 1, 0) + struct.pack("<II", 1 << 20 | 2, 0) * n
    document = holding(0x3E8, chars("a"))
    out = document + record(0x1772, struct.pack("<II", 1 << 20 | 1, 0) + entries)
    last = 0
    for _ in range(n):
        at = len(out)
        out += record(0xFF5, struct.pack("<IHBBIIIIHH", 0, 0, 0, 3, last, len(document), 1, 99, 1, 0))
        last = at
    user = record(0xFF6, struct.pack("<IIIHHBBH", 20, 0xE391C05F, last, 0, 0x3F4, 3, 0, 0))
    return write(Storage(streams={"PowerPoint Document": bytes(out), "Current User": user}))


def _lost_slides(n: int) -> bytes:
    """References that lead nowhere, and masters with placeholders."""
    prompts = holding(0xF004, record(0xBC3, struct.pack("<IBBH", 0, 1, 0, 0)), chars("a")) * n
    references = [record(0x3F3, struct.pack("<IIIII", 9 + i, 0, 0, 0, 0)) for i in range(n)]
    return powerpoint({1: holding(0x3E8, holding(0xFF0, *references), record(0xFD9, b"", 0, 15) * n), 2: prompts})


def _deflated_object(n: int) -> bytes:
    """An embedded object of empty blocks."""
    packed = struct.pack("<I", 9) + b"\x78\x9c" + b"\0\0\0\xff\xff" * 50 * n
    listed = holding(0xFCC, record(0xFC3, struct.pack("<IIIIII", 0, 0, 0, 0, 2, 0)))
    return powerpoint({1: holding(0x3E8, listed), 2: record(0x1011, packed, 1)})


def _slides(n: int) -> bytes:
    return powerpoint({1: holding(0x3E8, holding(0xFF0, *[chars("a")] * n))})


def _overlapping_objects(n: int) -> bytes:
    """Embedded objects, each within those before it."""
    count = 20 * n
    listed = [holding(0xFCC, record(0xFC3, struct.pack("<IIIIII", 0, 0, 0, 0, 2 + i, 0))) for i in range(count)]
    document = holding(0x3E8, *listed)
    storages = b"".join(struct.pack("<HHI", 0x10, 0x1011, 8 * (count - i)) for i in range(count)) + bytes(64)
    places = [struct.pack("<II", 1 << 20 | 2 + i, len(document) + 8 * i) for i in range(count)]
    directory = record(0x1772, struct.pack("<II", 1 << 20 | 1, 0) + b"".join(places))
    at = len(document) + len(storages)
    edit = record(0xFF5, struct.pack("<IHBBIIIIHH", 0, 0, 0, 3, 0, at, 1, 99, 1, 0))
    user = record(0xFF6, struct.pack("<IIIHHBBH", 20, 0xE391C05F, at + len(directory), 0, 0x3F4, 3, 0, 0))
    return write(Storage(streams={"PowerPoint Document": document + storages + directory + edit, "Current User": user}))


def _storages(n: int) -> bytes:
    pool = Storage("ObjectPool", storages=[Storage(f"_{i}", streams={"x": b"a" * 100}) for i in range(n)])
    return word(["a"], storages=[pool])


def _shared_sectors(n: int) -> bytes:
    """Objects that all have the same long stream: their entries are made to say so."""
    pool = Storage("ObjectPool", storages=[Storage(f"_{i:04}", streams={"CONTENTS": b"a" * 10}) for i in range(4 * n)])
    data = bytearray(word(["a"], storages=[pool], streams={"Data": bytes(4096 * n)}))
    name, at = "CONTENTS".encode("utf-16-le"), 0
    entry = data.index("Data\0".encode("utf-16-le"))
    where = bytes(data[entry + 116 : entry + 128])
    while (at := data.find(name, at)) >= 0:
        data[at + 116 : at + 128] = where
        at += 128
    return bytes(data)


def _modules(n: int, streams: int | None = None) -> bytes:
    """Macros: modules with as many streams, or few that are the same for all."""
    packed = struct.pack("<H", 0xB000 | 8) + b"\0Sub a()\n"
    listed = bytearray()
    for i in range(n):
        named = b"s%d" % (i % (streams or n))
        for kind, value in ((0x19, b"m%d" % i), (0x1A, named), (0x31, bytes(4)), (0x2B, b"")):
            listed += struct.pack("<HI", kind, len(value)) + value
    eights = [bytes(listed[at : at + 8]) for at in range(0, len(listed), 8)]
    chunks = (b"".join(b"\0" + eight for eight in eights[at : at + 400]) for at in range(0, len(eights), 400))
    project = b"\1" + b"".join(struct.pack("<H", 0xB000 | len(chunk) - 1) + chunk for chunk in chunks)
    own = {f"s{i}": b"\1" + packed * (1 if streams is None else n) for i in range(streams or n)}
    return word(["a"], storages=[Storage("Macros", storages=[Storage("VBA", streams={"dir": project, **own})])])


SHAPES = [
    *shapes("application/vnd.wordperfect", ("what LibreOffice reads", 10_000, lambda n: b"\xffWPC" + b"a" * n)),
    *shapes(
        "application/rtf",
        ("tables of fonts in one another", 1_500, lambda n: _rtf(rb"{\fonttbl{\f0 A;}" * n)),
        ("tables of fonts that hold text", 4_000, lambda n: _rtf(rb"{\fonttbl\pard" * n)),
        ("fonts and runs", 4_000, lambda n: _rtf(rb"{\fonttbl" + rb"{\f1\fcharset128 B;}" * n + b"}" + rb"\f1 a" * n)),
        ("groups", 5_000, lambda n: _rtf(b"{a}" * n)),
        ("groups that are passed over", 2_000, lambda n: _rtf(rb"{\*\x {a}}" * n)),
        ("groups that do not close", 10_000, lambda n: _rtf(rb"{\*\x {" * n)),
        ("hexadecimal characters", 20_000, lambda n: _rtf(rb"\'e4" * n)),
        ("characters of Unicode", 10_000, lambda n: _rtf(rb"\u1234?" * n)),
        ("pictures", 500, lambda n: _rtf(rb"{\pict\pngblip 89}" * n)),
        ("pictures that hold groups without end", 3_000, lambda n: _rtf(rb"{\pict{\bin9" * n)),
        ("the same twice", 1_000, lambda n: _rtf(rb"{\upr{a}{\*\ud{b}}}" * n)),
        ("what is written about shapes", 1_000, lambda n: _rtf(rb"{\sp{\sn wzDescription}{\sv a}}" * n)),
        ("what does not end", 500, lambda n: _rtf(rb"{\pict{\sn wzDescription}{\sv " * n)),
        ("titles", 1_000, lambda n: _rtf(rb"{\info{\title a}}" * n)),
        ("links", 1_000, lambda n: _rtf(b"".join(rb"{\fldinst HYPERLINK a%d}" % i for i in range(n)))),
        ("a long instruction", 5_000, lambda n: _rtf(rb"{\fldinst EQ \\* \"(" + rb"\\o\"(" * n + b"}")),
        ("instructions in one another", 1_000, lambda n: _rtf(rb"{\fldinst EQ " * n)),
        ("forms in one another", 300, lambda n: _rtf(rb"{\fldinst FORMDROPDOWN{\*\ffl a}}{\fldrslt" * n)),
    ),
    *shapes(
        "application/pdf",
        ("packed objects without an end", 2_000, _packed),
        ("streams without an end", 8_000, _open_streams),
        ("text on a page", 2_000, lambda n: _page_of(b"BT /F 9 Tf " + b"(ab) Tj 9 0 Td " * n + b"ET")),
        ("text in one place", 2_000, lambda n: _page_of(b"BT /F 9 Tf (a) Tj ET " * n)),
        ("states that are kept", 4_000, lambda n: _page_of(b"q " * n)),
        ("comments", 1_000, _annotations),
        ("embedded files", 500, lambda n: _files(n, nested=False)),
        ("pages", 1_000, _pages),
    ),
    *shapes(
        "application/pdf",
        ("fields of a form", 2_000, _fields),
        ("embedded files, each in a leaf", 500, lambda n: _files(n, nested=True)),
        lowered=(
            ("readers.documents.pdf.document.MOST_FIELDS", 1_000),
            ("readers.documents.pdf.document.MOST_FILES", 500),
        ),
    ),
    *shapes(
        "application/onenote",
        ("references that are not there", 5_000, _references),
        ("objects with references behind them", 2_000, _objects),
        ("objects with properties behind them", 2_000, _long_objects),
    ),
    *shapes(
        "image/vnd.djvu",
        ("links", 2_000, lambda n: djvu("a", b'(maparea "u" "d" (rect 0 0 5 5) (xor))' * n)),
        ("brackets in one another", 2_000, lambda n: djvu("a", b"(" * n)),
    ),
    *shapes(
        "application/x-hwp",
        ("paragraphs", 2_000, lambda n: hwp(*["ab"] * n)),
        ("objects", 400, lambda n: hwp("a", **{f"BIN{i:04}_png": deflated(b"ab") for i in range(n)})),
    ),
    *shapes(
        "application/msword",
        ("pieces", 2_000, _word_pieces),
        ("runs in fonts of their own", 1_000, _word_6_fonts),
        ("piece tables that are none", 2_000, _word_tables),
        ("fields in one another", 5_000, _word_fields),
        ("metafiles in one another", 40, _pictures),
        ("bitmaps in one another", 40, _bitmaps),
        ("objects", 400, _storages),
        ("objects of the same sectors", 50, _shared_sectors),
        ("modules of macros", 100, _modules),
        ("modules of the same source", 100, lambda n: _modules(n, streams=1)),
    ),
    *shapes("application/x-mspublisher", ("frames of the same text", 5_000, _frames)),
    *shapes(
        "application/vnd.ms-powerpoint",
        ("slides", 5_000, _slides),
        ("slides that are not there", 1_000, _lost_slides),
        ("an object of empty blocks", 1_000, _deflated_object),
        ("edits with one directory", 1_000, _edits),
        ("objects in one another", 100, _overlapping_objects),
    ),
]
