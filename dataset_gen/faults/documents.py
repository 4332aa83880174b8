"""Faulty documents and pictures: cut, damaged, without a part they need, under another format's name."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from dataclasses import replace

from dataset_gen.formats import eml, images, ooxml, pdf
from dataset_gen.formats.ooxml import MAIN, OFFICE, PACKAGE
from dataset_gen.made import Made, Order, Placed, branch, leaf
from dataset_gen.material.text import planted_token, prose
from dataset_gen.packing import ZipWriter, crc32, deflated, deflated_zeros
from readers.errors import ExceptionCode
from readers.records import Kind

ZIP = "application/zip"


def text(order: Order, characters: int, terms: tuple[str, ...] = ()) -> Made:
    """Build a plain text of about that many characters."""
    lines = [f"{term}." for term in terms] + prose().lines(order.dice, characters)
    return leaf(("\n".join(lines) + "\n").encode(), "text/plain", terms=terms)


def member(name: bytes, ordinal: int, made: Made) -> Placed:
    """Return a member at its position."""
    return Placed(name=name, ordinal=ordinal, kind=Kind.ARCHIVE_MEMBER, truth=made.truth)


GZIP = "application/gzip"
BOMB_BYTES = 200_000_000
NESTED = 20  # zip archives inside one another
LAST_TEXT = 15  # the deepest text next to them, well above the limit


def zip_bomb(order: Order) -> Made:
    """Build a zip with a harmless member, then one of 200 MB zeros, which the expansion limit must stop."""
    out = ZipWriter()
    made = text(order, 800)
    out.add(b"readme.txt", made.data)
    packed, crc = deflated_zeros(BOMB_BYTES)
    out.put(b"zeros.bin", packed, BOMB_BYTES, crc)
    bomb = branch(out.finish(), ZIP, own=(b"zeros",), children=(member(b"readme.txt", 0, made),), container=True)
    return bomb.spoiled("zip_bomb", ExceptionCode.EXPANSION_LIMIT, announced=2, failed=1)


def gzip_bomb(_order: Order) -> Made:
    """Build 200 MB of zeros in one gzip file (RFC 1952), which does not announce its length at the start."""
    packed, crc = deflated_zeros(BOMB_BYTES)
    data = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + packed + struct.pack("<LL", crc, BOMB_BYTES)
    made = branch(data, GZIP, own=(b"zeros",), container=True)
    return made.spoiled("gzip_bomb", ExceptionCode.EXPANSION_LIMIT, failed=1)


@functools.cache
def _inner_bomb() -> tuple[bytes, bytes]:
    """Return a zip of 200 MB zeros, and the same deflated once more: deflate's output for zeros repeats itself."""
    packed, crc = deflated_zeros(BOMB_BYTES)
    out = ZipWriter()
    out.put(b"zeros.bin", packed, BOMB_BYTES, crc)
    data = out.finish()
    return data, deflated(data)


def nested_bomb(order: Order) -> Made:
    """Build a few kilobytes that contain a zip of 200 KB that contains 200 MB."""
    whole, packed = _inner_bomb()
    inner = branch(whole, ZIP, own=(b"zeros",), container=True)
    inner = inner.spoiled("nested_bomb", ExceptionCode.EXPANSION_LIMIT, announced=1, failed=1)
    readme = text(order, 800)
    out = ZipWriter()
    out.add(b"readme.txt", readme.data)
    out.put(b"inner.zip", packed, len(whole), crc32(whole))
    children = (member(b"readme.txt", 0, readme), member(b"inner.zip", 1, inner))
    made = branch(out.finish(), ZIP, children=children, container=True, announced=2)
    return made.spoiled("nested_bomb")


def deep_nesting(order: Order) -> Made:
    """Build zip in zip, twenty deep, with a findable text at each depth down to `LAST_TEXT`."""
    inner: Made | None = None
    for depth in range(NESTED - 1, -1, -1):
        out = ZipWriter()
        children = []
        if depth < LAST_TEXT or inner is None:
            content = text(order, 300, (planted_token(order.dice),))
            name = b"level %d.txt" % (depth + 1)
            out.add(name, content.data)
            children.append(member(name, 0, content))
        if inner is not None:
            name = b"level %d.zip" % (depth + 1)
            children.append(member(name, len(children), inner))
            out.add(name, inner.data, store=True)
        inner = branch(out.finish(), ZIP, children=tuple(children), container=True, announced=len(children))
    assert inner is not None
    return inner.spoiled("deep_nesting")


_DEEP = 25_000  # elements inside one another
_LAUGHS = 9  # levels of entities, ten times as much at each
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def _entities(word: str) -> str:
    """Return a document type whose last entity expands to 10⁹ words (the billion laughs)."""
    lines = [f'<!ENTITY e0 "{word} ">']
    lines += [f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, _LAUGHS + 1)]
    return "<!DOCTYPE root [\n" + "\n".join(lines) + "\n]>\n"


def deep_html(order: Order) -> Made:
    """Build tens of thousands of nested elements around a paragraph that can be found."""
    term = planted_token(order.dice)
    lines = prose().lines(order.dice, 500)
    data = f"<!DOCTYPE html>\n<html><body>{'<div>' * _DEEP}<p>{term}.</p>\n<p>{' '.join(lines)}</p>{'</div>' * _DEEP}</body></html>\n"
    return leaf(data.encode(), "text/html", terms=(term,)).spoiled("deep_html")


def wide_html(order: Order) -> Made:
    """Build a tag with tens of thousands of attributes before a paragraph that can be found."""
    term = planted_token(order.dice)
    attributes = " ".join(f"a{n}=1" for n in range(order.dice.between(20_000, 25_000)))
    data = f"<!DOCTYPE html>\n<html><body><div {attributes}><p>{term}.</p></div></body></html>\n"
    return leaf(data.encode(), "text/html", terms=(term,)).spoiled("wide_html")


def deep_xml(order: Order) -> Made:
    """Build nested elements in XML: read as plain text, because no tree of it is made."""
    term = planted_token(order.dice)
    data = f'<?xml version="1.0"?>\n{"<a>" * _DEEP}\n{term}.\n{"</a>" * _DEEP}\n'
    return leaf(data.encode(), "application/xml", terms=(term,)).spoiled("deep_xml")


def entity_xml(order: Order) -> Made:
    """Build entities of entities; readers leave them as written."""
    term = planted_token(order.dice)
    word = order.dice.pick(prose().plain)
    data = f'<?xml version="1.0"?>\n{_entities(word)}<root>\n{term}.\n&e{_LAUGHS};</root>\n'
    return leaf(data.encode(), "application/xml", terms=(term,)).spoiled("entity_xml")


def entity_xlsx(order: Order) -> Made:
    """Build a workbook whose shared strings are such entities (ECMA-376 forbids document types)."""
    book = f'<workbook xmlns="{_SHEET}" xmlns:r="{OFFICE}"><sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>'
    sheet = (
        f'<worksheet xmlns="{_SHEET}"><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c></row></sheetData></worksheet>'
    )
    word = order.dice.pick(prose().plain)
    strings = f'{_entities(word)}<sst xmlns="{_SHEET}"><si><t>&e{_LAUGHS};</t></si></sst>'
    types = f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/>' + "".join(
        f'<Override PartName="/xl/{name}.xml" ContentType="{MAIN}.spreadsheetml.{kind}+xml"/>'
        for name, kind in (
            ("workbook", "sheet.main"),
            ("worksheets/sheet1", "worksheet"),
            ("sharedStrings", "sharedStrings"),
        )
    ) + "</Types>"  # fmt: skip
    relations = f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" Type="{OFFICE}/'
    parts = {
        "[Content_Types].xml": types,
        "_rels/.rels": f'{relations}officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/_rels/workbook.xml.rels": f'{relations}worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/workbook.xml": book,
        "xl/worksheets/sheet1.xml": sheet,
        "xl/sharedStrings.xml": strings,
    }
    out = ZipWriter()
    for name, content in parts.items():
        out.add(name.encode(), b'<?xml version="1.0" encoding="UTF-8"?>\n' + content.encode())
    made = branch(out.finish(), ooxml.XLSX, own=[content.encode() for content in parts.values()])
    return made.spoiled("entity_xlsx", ExceptionCode.CORRUPT)


def looped_pdf(order: Order) -> Made:
    """Build a page tree that is its own child, and counts a thousand million pages."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [ 3 0 R 2 0 R 4 0 R ] /Count 1000000000 >>",
        b"<< /Type /Pages /Parent 2 0 R /Kids [ 2 0 R 3 0 R ] /Count 500000000 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [ 0 0 300 300 ] /Contents 5 0 R "
        b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
    ]
    text = " ".join(prose().lines(order.dice, 200))[:300].encode("ascii", "replace")
    content = b"BT /F1 9 Tf 10 200 Td (" + text.replace(b"(", b"").replace(b")", b"") + b") Tj ET"
    objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(content), content))
    out = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(out)
    out += b"xref\n0 6\n0000000000 65535 f \n" + table
    out += b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % start
    return branch(out, "application/pdf", own=(out,)).spoiled("looped_pdf", ExceptionCode.CORRUPT)


def nested_multiparts(order: Order) -> Made:
    """Build hundreds of nested multiparts; the innermost contains the text."""
    letter = replace(eml.single(replace(order, size=1200, terms=())), html=False, attachments=(), encoding="7bit")
    made = eml.write(letter).data
    head, _, body = made.partition(b"MIME-Version: 1.0\n")
    _, _, text = body.partition(b"\n\n")
    levels = 400
    opening = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(levels))
    closing = b"".join(b"\n--b%d--\n" % n for n in range(levels - 1, -1, -1))
    data = head + b"MIME-Version: 1.0\n" + opening + b"Content-Type: text/plain\n\n" + text + closing
    return branch(data, "message/rfc822", own=(data,)).spoiled("nested_multiparts", ExceptionCode.NESTING_LIMIT)


PROGRAM = "application/x-dosexec"


def _small(build: Callable[[Order], Made], order: Order, size: int) -> Made:
    return build(replace(order, size=size, terms=()))


def _spoiled(data: bytes, media_type: str, fault: str, code: ExceptionCode) -> Made:
    return branch(data, media_type, own=(data,)).spoiled(fault, code)


def corrupt_docx(order: Order) -> Made:
    """Build a document whose text part is damaged in the middle; the package's directory is whole."""
    good = _small(ooxml.build_docx, order, 5000).data
    start, packed = _part(good, b"word/document.xml")
    middle = start + packed // 2
    data = good[:middle] + b"\xff" * 64 + good[middle + 64 :]
    return _spoiled(data, ooxml.DOCX, "corrupt_docx", ExceptionCode.CORRUPT)


def _part(package: bytes, name: bytes) -> tuple[int, int]:
    """Return the offset of a part's packed bytes and their number."""
    start = package.index(name) + len(name)
    return start, int.from_bytes(package[start - len(name) - 12 : start - len(name) - 8], "little")


def truncated_docx(order: Order) -> Made:
    """Build a document that is cut in the middle of its text part: no directory, no main part."""
    good = _small(ooxml.build_docx, order, 5000).data
    start, packed = _part(good, b"word/document.xml")
    return _spoiled(good[: start + packed // 2], ooxml.DOCX, "truncated_docx", ExceptionCode.TRUNCATED)


def flipped_xlsx(order: Order) -> Made:
    """Build a workbook with one flipped bit in a sheet: its CRC does not match."""
    data = bytearray(_small(ooxml.build_xlsx, order, 6000).data)
    start, packed = _part(bytes(data), b"xl/worksheets/sheet1.xml")
    data[start + packed // 2 + order.dice.below(packed // 3)] ^= 1 << order.dice.below(8)
    return _spoiled(bytes(data), ooxml.XLSX, "flipped_xlsx", ExceptionCode.CORRUPT)


def docx_without_text(order: Order) -> Made:
    """Build a package whose content types name a main part that it lacks."""
    good = _small(ooxml.build_docx, order, 4000).data
    out = ZipWriter()
    at = 0
    while good.startswith(b"PK\3\4", at):
        method, crc, packed, size = struct.unpack_from("<8xH4xLLL", good, at)
        length = struct.unpack_from("<H", good, at + 26)[0]
        name, start = good[at + 30 : at + 30 + length], at + 30 + length
        if name != b"word/document.xml":
            out.put(name, good[start : start + packed], size, crc, store=method == 0)
        at = start + packed
    return _spoiled(out.finish(), ooxml.DOCX, "docx_without_text", ExceptionCode.CORRUPT)


def truncated_pdf(order: Order) -> Made:
    """Build a PDF that is cut before its cross-reference table: readers find the pages by searching, and report the
    missing end."""
    good = _small(pdf.build, order, 9000)
    data = good.data[: good.data.rindex(b"xref\n", 0, good.data.rindex(b"startxref"))]
    made = branch(data, "application/pdf", own=(data,), pages=good.truth.pages)
    return made.spoiled("truncated_pdf", ExceptionCode.TRUNCATED)


def flipped_pdf(order: Order) -> Made:
    """Build a PDF with one flipped bit in the page tree: a counted page cannot be found."""
    good = _small(pdf.build, order, 9000)
    data = bytearray(good.data)
    data[data.index(b"/Kids [ ") + 8] ^= 0x40  # the first digit of a reference becomes a letter
    made = branch(bytes(data), "application/pdf", own=(bytes(data),))
    return made.spoiled("flipped_pdf", ExceptionCode.CORRUPT)


def truncated_jpg(order: Order) -> Made:
    """Build the upper half of a picture."""
    good = _small(images.build_jpeg, order, 24_000).data
    return leaf(good[: len(good) // 2], "image/jpeg").spoiled("truncated_jpg", ExceptionCode.TRUNCATED)


def docx_as_pdf(order: Order) -> Made:
    """Build a sound Word document named .pdf: its bytes decide."""
    return ooxml.build_docx(order).spoiled("docx_as_pdf")


def jpg_as_txt(order: Order) -> Made:
    """Build a sound picture named .txt: its bytes decide."""
    return images.build_jpeg(order).spoiled("jpg_as_txt")


def exe_as_doc(order: Order) -> Made:
    """Build a program named .doc ([MS-DOS] and PE headers followed only by data): no parser reads programs."""
    stub = b"MZ\x90\0\3\0\0\0\4\0\0\0\xff\xff\0\0\xb8" + bytes(7) + b"\x40" + bytes(35) + struct.pack("<L", 128)
    stub += bytes.fromhex("0e1fba0e00b409cd21b8014ccd21") + b"This program cannot be run in DOS mode.\r\r\n$"
    header = struct.pack("<4sHHLLLHH", b"PE\0\0", 0x14C, 1, 1_500_000_000, 0, 0, 224, 0x102)
    optional = struct.pack("<HBB", 0x10B, 14, 0) + bytes(220)
    data = stub.ljust(128, b"\0") + header + optional + text(order, order.size - 500).data
    return leaf(data, PROGRAM).spoiled("exe_as_doc", ExceptionCode.UNSUPPORTED)
