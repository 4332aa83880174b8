"""Zip archives and what is built on them: Office Open XML and OpenDocument."""

import io
import struct
import zipfile

from archive_files import zip_entry, zip_member, zip_whole
from office_xml import binary

from shapes.shape import shapes

_OFFICE = "application/vnd.openxmlformats-officedocument."
_W = b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
_ODF = "application/vnd.oasis.opendocument."
_NAMES = (
    b'xmlns:t="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:b="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    b'xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"'
)
_RELS = b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'


def _zip(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in parts.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _styles(n: int) -> bytes:
    """Each paragraph in a style of its own, of which only the last has a list."""
    names = b'<w:w xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">%b</w:w>'
    style = b'<w:style w:styleId="s%d"><w:basedOn w:val="s%d"/></w:style>'
    last = b'<w:style w:styleId="s%d"><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>' % n
    level = b'<w:lvl w:ilvl="0"><w:start w:val="9"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1"/></w:lvl>'
    lists = (
        b'<w:abstractNum w:abstractNumId="0">'
        + level
        + b'</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    )
    paragraphs = b"".join(b'<w:p><w:pPr><w:pStyle w:val="s%d"/></w:pPr></w:p>' % i for i in range(n))
    styles = b"".join(style % (i, i + 1) for i in range(n)) + last
    return _docx(paragraphs, **{"word/numbering.xml": names % lists, "word/styles.xml": names % styles})


def _tiny(n: int) -> bytes:
    body = zip_member(b"a", b"") * n
    return zip_whole(body, b"".join(zip_entry(b"a", 31 * i, 0, 0) for i in range(n)), n)


def _backwards(n: int) -> bytes:
    body = zip_member(b"a", b"") * n
    return zip_whole(body, b"".join(zip_entry(b"a", 31 * (n - 1 - i), 0, 0) for i in range(n)), n)


def _overlapping(n: int) -> bytes:
    body = zip_member(b"a", b"") * n
    return zip_whole(body, b"".join(zip_entry(b"a", 0, 31 * n - 31, 31 * n - 31) for i in range(n)), n)


def _announcing(n: int) -> bytes:
    """Members that announce four gigabytes each: as many ranges as there are members."""
    body = zip_member(b"a", b"", method=8) * n
    return zip_whole(body, b"".join(zip_entry(b"a", 31 * i, 0, 0xFFFFFFF0, 8) for i in range(n)), n)


def _without_directory(n: int) -> bytes:
    return zip_member(b"a", b"") * n


def _unmeasured(n: int) -> bytes:
    """Members of unknown length, each of empty blocks up to the end of all, where something else is."""
    head = zip_member(b"a", b"", flags=8, method=8)
    block = b"\x00" + struct.pack("<HH", len(head), len(head) ^ 0xFFFF) + head
    return head + block * n + b"\xff" * 64


# Office Open XML ---------------------------------------------------------------------------------------------------


def _docx(body: bytes, **more: bytes) -> bytes:
    return _zip({"word/document.xml": _W + body + b"</w:body></w:document>", **more})


def _namespaces(n: int) -> bytes:
    declared = b" ".join(b'xmlns:a%d="u%d"' % (i, i) for i in range(n))
    return _docx(b"<w:p %b>" % declared + b"<a0:x/>" * n + b"</w:p>")


def _attributes(n: int) -> bytes:
    return _docx(b"<w:p %b/>" % b" ".join(b'a%d="b"' % i for i in range(n)))


def _boxes(n: int) -> bytes:
    box = b"<w:p><w:r><w:txbxContent><w:p><w:r><w:t>a</w:t></w:r></w:p></w:txbxContent></w:r></w:p>"
    return _docx(box * n)


def _nested_tables(n: int) -> bytes:
    table = b"<w:tbl><w:tr><w:tc>" * 60 + b"<w:p><w:r><w:t>a</w:t></w:r></w:p>" + b"</w:tc></w:tr></w:tbl>" * 60
    return _docx(table * n)


def _xlsx(sheet: bytes, strings: bytes = b"", styles: bytes = b"") -> bytes:
    return _zip(
        {
            "xl/workbook.xml": b'<workbook><sheets><sheet name="S"/></sheets></workbook>',
            "xl/worksheets/sheet1.xml": b"<worksheet><sheetData>" + sheet + b"</sheetData></worksheet>",
            "xl/sharedStrings.xml": b"<sst>" + strings + b"</sst>",
            "xl/styles.xml": b"<s>" + styles + b"</s>",
        }
    )


def _sheets(n: int) -> bytes:
    sheets = {f"xl/worksheets/sheet{i}.xml": b"<worksheet><row><c><v>1</v></c></row></worksheet>" for i in range(n)}
    return _zip({"xl/workbook.xml": b"<workbook/>", **sheets})


def _codes(n: int) -> bytes:
    formats = b'<numFmts><numFmt numFmtId="170" formatCode="%b"/></numFmts>' % (b"[" * n)
    return _xlsx(b"", styles=formats + b"<cellXfs>" + b'<xf numFmtId="170"/>' * n + b"</cellXfs>")


def _slides(n: int) -> bytes:
    slide = b'<p:sld xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>a</a:t></a:r></a:p></p:sld>'
    ids = b"".join(b'<p:sldId r:id="r%d"/>' % i for i in range(n))
    rels = b"".join(b'<Relationship Id="r%d" Target="slides/slide%d.xml"/>' % (i, i) for i in range(n))
    parts = {f"ppt/slides/slide{i}.xml": slide for i in range(n)}
    main = b'<p:presentation xmlns:p="p" xmlns:r="r">' + ids + b"</p:presentation>"
    return _zip(
        {"ppt/presentation.xml": main, "ppt/_rels/presentation.xml.rels": _RELS + rels + b"</Relationships>", **parts}
    )


def _media(n: int) -> bytes:
    return _docx(b"", **{f"word/media/image{i}.png": b"x" for i in range(n)})


def _xlsb(n: int) -> bytes:
    cell = binary(5, bytes(8) + struct.pack("<d", 1.5))
    return _zip({"xl/workbook.bin": binary(153, b"\0"), "xl/worksheets/sheet1.bin": binary(0, bytes(4)) + cell * n})


def _xlsb_counts(n: int) -> bytes:
    """In a cache of a pivot table one record, where every place may be the beginning of a text that ends with the record."""
    cache = binary(33, struct.pack("<IHH", n, 65, 66) * n + bytes(8))
    return _zip(
        {
            "xl/workbook.bin": binary(153, b"\0"),
            "xl/worksheets/sheet1.bin": b"",
            "xl/pivotCache/pivotCacheDefinition1.bin": cache,
        }
    )


# OpenDocument ------------------------------------------------------------------------------------------------------


def _odf(body: bytes, kind: str = "text", **more: bytes) -> bytes:
    mimetype = _ODF + kind
    return _zip({"mimetype": mimetype.encode(), "content.xml": b"<d %b>%b</d>" % (_NAMES, body), **more})


def _repeated(n: int) -> bytes:
    cell = b'<b:table-cell b:number-columns-repeated="16384"><t:p>a</t:p></b:table-cell>'
    return _odf(
        b'<b:table b:name="s"><b:table-row b:number-rows-repeated="9999">' + cell * n + b"</b:table-row></b:table>",
        "spreadsheet",
    )


def _rows_in_rows(n: int) -> bytes:
    around = b"<b:table><b:table-row><b:table-cell>"
    ending = b"</b:table-cell></b:table-row></b:table>"
    return _odf((around * 60 + b"<t:p>a</t:p>" * 20 + ending * 60) * n)


def _alternatives(n: int, copies: int = 1) -> bytes:
    one = b"<mc:Choice Requires='w'/>" * copies + b"<mc:Fallback><w:t>a</w:t></mc:Fallback>" * copies
    return _docx(b"<w:p xmlns:mc='m'>" + b"<mc:AlternateContent>%b</mc:AlternateContent>" % one * n + b"</w:p>")


def _manifest(n: int) -> bytes:
    entries = b'<m:file-entry m:full-path="a"><m:encryption-data/></m:file-entry>' * n
    return _odf(b"<t:p>a</t:p>", **{"META-INF/manifest.xml": b"<m:manifest %b>%b</m:manifest>" % (_NAMES, entries)})


_P = b"<w:p><w:r><w:t>a</w:t></w:r></w:p>"
_C = b'<c t="s"><v>0</v></c>'

SHAPES = [
    *shapes(
        "application/zip",
        ("tiny members", 500, _tiny),
        ("tiny members from the last to the first", 500, _backwards),
        ("members in one another", 500, _overlapping),
        ("members that announce much", 500, _announcing),
        ("no directory", 2_000, _without_directory),
        ("no directory, no lengths, no end", 2_000, _unmeasured),
    ),
    *shapes(
        _OFFICE + "wordprocessingml.document",
        ("paragraphs", 1_000, lambda n: _docx(_P * n)),
        ("runs of a paragraph", 2_000, lambda n: _docx(b"<w:p>" + b"<w:r><w:t>a</w:t></w:r>" * n + b"</w:p>")),
        ("paragraphs without end", 60_000, lambda n: _docx(_P * n)),
        ("tables in tables", 20, _nested_tables),
        ("text boxes", 500, _boxes),
        ("styles of lists that are based on one another", 400, _styles),
        ("namespaces", 2_000, _namespaces),
        ("attributes", 4_000, _attributes),
        ("entities", 4_000, lambda n: _docx(b"<w:p><w:t>" + b"&#65;&amp;" * n + b"</w:t></w:p>")),
        ("media", 500, _media),
        ("alternatives", 500, _alternatives),
        ("choices and fallbacks of one alternative", 1_000, lambda n: _alternatives(1, n)),
        (
            "parts",
            500,
            lambda n: _docx(_P, **{f"word/header{i}.xml": _W + b"</w:body></w:document>" for i in range(n)}),
        ),
    ),
    *shapes(
        _OFFICE + "spreadsheetml.sheet",
        ("rows", 1_000, lambda n: _xlsx((b"<row>" + _C + b"</row>") * n, b"<si><t>a</t></si>")),
        ("a wide row", 2_000, lambda n: _xlsx(b"<row>" + _C * n + b"</row>", b"<si><t>a</t></si>")),
        ("shared strings", 1_000, lambda n: _xlsx(b"", b"<si><r><t>a</t></r></si>" * n)),
        ("cell formats and a long code", 300, _codes),
        ("sheets", 300, _sheets),
    ),
    *shapes(_OFFICE + "presentationml.presentation", ("slides", 200, _slides)),
    *shapes(
        "application/vnd.ms-excel.sheet.binary.macroenabled.12",
        ("a wide row", 3_000, _xlsb),
        ("counts of texts", 4_000, _xlsb_counts),
    ),
    *shapes(
        _ODF + "text",
        ("paragraphs", 1_000, lambda n: _odf(b"<t:p>a</t:p>" * n)),
        ("blanks", 2_000, lambda n: _odf(b"<t:p>" + b'<t:s t:c="9"/>' * n + b"</t:p>")),
        ("rows in rows", 8, _rows_in_rows),
        ("paragraphs without end", 100_000, lambda n: _odf(b"<t:p>a</t:p>" * n)),
        ("a manifest of encrypted parts", 1_000, _manifest),
        ("pictures", 500, lambda n: _odf(b"", **{f"Pictures/{i}.png": b"x" for i in range(n)})),
    ),
    *shapes(_ODF + "spreadsheet", ("repeated cells", 1_000, _repeated)),
]
