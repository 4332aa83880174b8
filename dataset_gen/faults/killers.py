"""Small sound-looking files that make careless parsers recurse, expand or loop. A careful one stays calm: what is
expected is the exception its limits give at once, or none."""

from __future__ import annotations

from dataclasses import replace

from dataset_gen.formats.mail import eml
from dataset_gen.formats.office import xlsx
from dataset_gen.formats.office.ooxml import MAIN, OFFICE, PACKAGE
from dataset_gen.formats.order import Order
from dataset_gen.made import Made, branch, leaf
from dataset_gen.material.text import planted_token, prose
from dataset_gen.packing.zip import ZipWriter
from readers.errors import ExceptionCode

_DEEP = 25_000  # elements inside one another
_LAUGHS = 9  # levels of entities, ten times as much at each
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def _entities(word: str) -> str:
    """A document type whose last entity would be 10⁹ words (the billion laughs)."""
    lines = [f'<!ENTITY e0 "{word} ">']
    lines += [f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, _LAUGHS + 1)]
    return "<!DOCTYPE root [\n" + "\n".join(lines) + "\n]>\n"


def deep_html(order: Order) -> Made:
    """Tens of thousands of elements inside one another around a paragraph that can be found."""
    term = planted_token(order.dice)
    lines = prose().lines(order.dice, 500)
    data = f"<!DOCTYPE html>\n<html><body>{'<div>' * _DEEP}<p>{term}.</p>\n<p>{' '.join(lines)}</p>{'</div>' * _DEEP}</body></html>\n"
    return leaf(data.encode(), "text/html", terms=(term,)).spoiled("deep_html")


def wide_html(order: Order) -> Made:
    """A tag with tens of thousands of attributes before a paragraph that can be found."""
    term = planted_token(order.dice)
    attributes = " ".join(f"a{n}=1" for n in range(order.dice.between(20_000, 25_000)))
    data = f"<!DOCTYPE html>\n<html><body><div {attributes}><p>{term}.</p></div></body></html>\n"
    return leaf(data.encode(), "text/html", terms=(term,)).spoiled("wide_html")


def deep_xml(order: Order) -> Made:
    """The same in XML: read as plain text, because no tree of it is made."""
    term = planted_token(order.dice)
    data = f'<?xml version="1.0"?>\n{"<a>" * _DEEP}\n{term}.\n{"</a>" * _DEEP}\n'
    return leaf(data.encode(), "application/xml", terms=(term,)).spoiled("deep_xml")


def entity_xml(order: Order) -> Made:
    """Entities of entities; they are left as they stand."""
    term = planted_token(order.dice)
    word = order.dice.pick(prose().plain)
    data = f'<?xml version="1.0"?>\n{_entities(word)}<root>\n{term}.\n&e{_LAUGHS};</root>\n'
    return leaf(data.encode(), "application/xml", terms=(term,)).spoiled("entity_xml")


def entity_xlsx(order: Order) -> Made:
    """A workbook whose shared strings are such entities (ECMA-376 forbids document types)."""
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
    made = branch(out.finish(), xlsx.MEDIA_TYPE, own=[content.encode() for content in parts.values()])
    return made.spoiled("entity_xlsx", ExceptionCode.CORRUPT.value)


def looped_pdf(order: Order) -> Made:
    """A page tree that is its own child, and counts a thousand million pages."""
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
    return branch(out, "application/pdf", own=(out,)).spoiled("looped_pdf", ExceptionCode.CORRUPT.value)


def nested_multiparts(order: Order) -> Made:
    """Hundreds of multiparts inside one another; its text lies in the innermost."""
    letter = replace(eml.single(replace(order, size=1200, terms=())), html=False, attachments=(), encoding="7bit")
    made = eml.write(letter).data
    head, _, body = made.partition(b"MIME-Version: 1.0\n")
    _, _, text = body.partition(b"\n\n")
    levels = 400
    opening = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(levels))
    closing = b"".join(b"\n--b%d--\n" % n for n in range(levels - 1, -1, -1))
    data = head + b"MIME-Version: 1.0\n" + opening + b"Content-Type: text/plain\n\n" + text + closing
    return branch(data, "message/rfc822", own=(data,)).spoiled("nested_multiparts", ExceptionCode.NESTING_LIMIT.value)
