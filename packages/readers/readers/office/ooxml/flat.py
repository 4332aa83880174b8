"""Word documents that are one file of XML: packages written out ([MS-DOCX] knows them as flat OPC), and those of Word 2003 (Office 2003 XML
Reference Schemas). Both are made the package that they stand for, in memory, so that one reader reads all."""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Iterator

from lxml import etree

from readers.base import MemorySource, Source
from readers.errors import DocumentError, ExceptionCode
from readers.office.ooxml.xml import Element, attribute, tree
from readers.records import Limits

MEDIA_TYPES = FLAT, WORD_2003 = "application/vnd.ms-word2006ml", "application/vnd.ms-wordml"
_CONTENT_TYPES = "{http://schemas.openxmlformats.org/package/2006/content-types}"
_Part = tuple[str, bytes | None, str]  # name, bytes (None where they are damaged), content type


def package(source: Source, limits: Limits) -> tuple[Source, DocumentError | None]:
    """The package, and what is wrong with the XML. DocumentError when there is nothing to be read, `too_large`."""
    data = source.whole(limits.parse_bytes)
    root, broken = tree(data)
    if root is None:
        raise DocumentError(ExceptionCode.CORRUPT, f"the document is not well-formed XML: {broken}")
    error = DocumentError(ExceptionCode.CORRUPT, f"the document is not well-formed XML: {broken}") if broken else None
    out, told = io.BytesIO(), set[str]()
    types = etree.Element(_CONTENT_TYPES + "Types")
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, content, kind in _word_2003(root, data) if root.find("{*}part") is None else _parts(root):
            if content is None:
                error = error or DocumentError(ExceptionCode.CORRUPT, f"the bytes of {name} are no base64")
            elif name not in told:
                told.add(name)
                archive.writestr(zipfile.ZipInfo(name), content)
                etree.SubElement(types, _CONTENT_TYPES + "Override", PartName=f"/{name}", ContentType=kind)
        archive.writestr(zipfile.ZipInfo("[Content_Types].xml"), etree.tostring(types))
    return MemorySource(source.name, out.getvalue(), source.passwords), error


def _parts(root: Element) -> Iterator[_Part]:
    for part in root.iterchildren("{*}part"):
        name, kind = attribute(part, "name").lstrip("/"), attribute(part, "contentType")
        for content in part.iterchildren("{*}xmlData", "{*}binaryData"):
            if len(content):
                yield name, etree.tostring(content[0], encoding="utf-8"), kind
            else:
                yield name, _bytes(content), kind


def _word_2003(root: Element, data: bytes) -> Iterator[_Part]:
    """Yield its text, variables and properties under the names of the parts that hold them in later versions."""
    yield "word/document.xml", data, ""
    yield "word/settings.xml", data, ""
    for properties in root.iterchildren("{*}DocumentProperties"):
        yield "docProps/app.xml", etree.tostring(properties, encoding="utf-8"), ""
    for properties in root.iterchildren("{*}CustomDocumentProperties"):
        yield "docProps/custom.xml", etree.tostring(properties, encoding="utf-8"), ""
    for place, content in enumerate(root.iter("{*}binData")):
        base = attribute(content, "name").rpartition("/")[2] or f"object-{place}"
        yield f"word/media/{base}", _bytes(content), ""


def _bytes(element: Element) -> bytes | None:
    try:
        return base64.b64decode("".join((element.text or "").split()), validate=True)
    except ValueError:
        return None
