"""Office Open XML packages from their parts."""

from __future__ import annotations

import io
import zipfile

from core.records import Limits
from readers.base import MemorySource, Text
from readers.office.ooxml.handler import OoxmlHandler

LIMITS = Limits()
HANDLER = OoxmlHandler()
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"
OFFICE = "application/vnd.openxmlformats-officedocument."


def package(parts: dict[str, str | bytes], types: dict[str, str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip with these parts and their content types."""
    overrides = "".join(f'<Override PartName="/{n}" ContentType="{OFFICE}{t}+xml"/>' for n, t in types.items())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("[Content_Types].xml", f'<Types xmlns="t">{overrides}</Types>')
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def word(body: str, tag: str = "document") -> str:
    """A Word part."""
    return f'<w:{tag} xmlns:w="{W}" xmlns:mc="{MC}" xmlns:a="{A}"><w:body>{body}</w:body></w:{tag}>'


def para(text: str) -> str:
    """A paragraph of one run."""
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def docx(body: str, **more: str | bytes) -> bytes:
    """A Word document with this body."""
    return package({"word/document.xml": word(body), **more}, {"word/document.xml": "wordprocessingml.document.main"})


def read(data: bytes, limits: Limits = LIMITS) -> Text:
    """Text of the document in these bytes."""
    return HANDLER.text(MemorySource(b"x", data), limits)
