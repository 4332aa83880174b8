"""Texts of the older drawings of a workbook (VML, ECMA-376 part 4, 19): buttons, boxes and labels, which are stored
nowhere else, and letters that make shapes. The boxes of notes are there too; their text is in the notes."""

from __future__ import annotations

from collections.abc import Iterator

from readers.errors import DocumentError, ExceptionCode
from readers.office.ooxml.package import Package
from readers.office.ooxml.xml import Element, tree

_MOST = 16_000_000  # bytes of one drawing
_DATA, _NOTE, _PATH = b"<x:ClientData", b'ObjectType="Note"', b"textpath"


def parts(package: Package) -> list[str]:
    """The drawings, in the order of their names."""
    return sorted(name for name in package.names if name.endswith(".vml"))


def texts(package: Package, name: str) -> Iterator[str]:
    """Yield the text of each shape. Excel writes HTML into them that is not well-formed XML, so syntax errors are no
    sign of damage. Raises DocumentError as `Package.pieces`."""
    data = b"".join(package.pieces(name))
    if (
        _PATH not in data and data.count(_NOTE) >= data.count(_DATA) > 0
    ):  # nothing but notes, of which there may be thousands
        return
    if len(data) > _MOST:
        raise DocumentError(
            ExceptionCode.TOO_LARGE, f"a drawing of {len(data):,} bytes with buttons and boxes is not read"
        )
    root, _ = tree(data)
    for shape in () if root is None else root.iter("{urn:schemas-microsoft-com:vml}*"):
        client = shape.find("{*}ClientData")
        if client is None or client.get("ObjectType") != "Note":
            yield from _said(shape)


def _said(shape: Element) -> Iterator[str]:
    for part in shape.iterchildren("{*}textbox", "{*}textpath"):
        told = (part.get("string") or "", *(text for text in part.itertext() if isinstance(text, str)))
        if text := " ".join(" ".join(told).split()):
            yield text
