"""Office Open XML and OpenDocument packages from their parts."""

import struct
import zipfile
from collections.abc import Mapping

from archive_files import zipped
from as_found import read_by

from core.records import Limits
from readers.office.ooxml.handler import OoxmlHandler

LIMITS = Limits()
HANDLER = OoxmlHandler()
read, children = read_by(HANDLER)
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"
V = "urn:schemas-microsoft-com:vml"
OFFICE = "application/vnd.openxmlformats-officedocument."
ODF = "application/vnd.oasis.opendocument."
_ODF_NAMES = {name: name for name in ("office", "text", "table", "form", "style", "meta", "presentation")}
_ODF_NAMES |= {"draw": "drawing", "svg": "svg-compatible"}
ODF_NAMES = (
    " ".join(f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for short, name in _ODF_NAMES.items())
    + ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink"'
)

MAIN = {
    "word/document": "wordprocessingml.document.main",
    "xl/workbook": "spreadsheetml.sheet.main",
    "ppt/presentation": "presentationml.presentation.main",
}
_FAMILIES = {"word": "wordprocessingml", "xl": "spreadsheetml", "ppt": "presentationml"}
_KINDS = {"ppt/comment": "presentationml.comments", "chart": "drawingml.chart", "chartEx": "chartex"}


def kind_of(name: str) -> str:
    """The content type of a part with its usual name."""
    family, *folders, base = name.removesuffix(".xml").rstrip("0123456789").split("/")
    known = (MAIN.get(f"{family}/{base}"), _KINDS.get(f"{family}/{base}"), _KINDS.get(base))
    kind = folders[-1].removesuffix("s") if base == "sheet" else base
    return next(filter(None, known), f"{_FAMILIES[family]}.{kind}")


def package(
    parts: Mapping[str, str | bytes], types: Mapping[str, str] | None = None, method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """A zip with these parts and their content types; None: of the XML parts those that their names say."""
    if types is None:
        types = {name: kind_of(name) for name in parts if name.endswith(".xml") and not name.startswith("docProps/")}
    overrides = "".join(f'<Override PartName="/{n}" ContentType="{OFFICE}{t}+xml"/>' for n, t in types.items())
    return zipped({"[Content_Types].xml": f'<Types xmlns="t">{overrides}</Types>', **parts}, method)


def word(body: str, tag: str = "document") -> str:
    """A Word part."""
    return f'<w:{tag} xmlns:w="{W}" xmlns:mc="{MC}" xmlns:a="{A}" xmlns:v="{V}"><w:body>{body}</w:body></w:{tag}>'


def para(text: str) -> str:
    """A paragraph of one run."""
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def docx(body: str, **more: str | bytes) -> bytes:
    """A Word document with this body."""
    return package({"word/document.xml": word(body), **more}, {"word/document.xml": "wordprocessingml.document.main"})


def opendocument(body: str, kind: str = "text", padding: str = "", **more: str | bytes) -> bytes:
    """An OpenDocument package of that kind with this body; further members by name."""
    content = (
        f"<office:document-content {ODF_NAMES}>{padding}<office:body>{body}</office:body></office:document-content>"
    )
    return zipped({"mimetype": ODF + kind, "content.xml": content, **more}, zipfile.ZIP_STORED)


def binary(kind: int, data: bytes = b"") -> bytes:
    """A record of a binary part ([MS-XLSB] 2.1.4)."""
    head = bytes((kind,)) if kind < 128 else bytes((kind & 0x7F | 0x80, kind >> 7))
    size = len(data)
    while size > 127:
        head += bytes((size & 0x7F | 0x80,))
        size >>= 7
    return head + bytes((size,)) + data


def binary_text(text: str) -> bytes:
    """A text in such a record."""
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def xlsb(sheet: bytes, *, before: bytes = b"", behind: bytes = b"", **more: bytes) -> bytes:
    """A binary workbook of one sheet, which is called Sums; records before and behind the sheet's name in the main part."""
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "xl/workbook.bin": before + binary(156, bytes(8) + binary_text("rId7") + binary_text("Sums")) + behind,
            "xl/_rels/workbook.bin.rels": '<Relationships><Relationship Id="rId7" Target="worksheets/sheet1.bin"/></Relationships>',
            "xl/worksheets/sheet1.bin": sheet,
            **more,
        }
    )
