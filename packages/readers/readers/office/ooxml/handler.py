"""Office Open XML (ECMA-376, [MS-XLSB], [MS-VSDX]): Word documents, workbooks, presentations and Visio drawings; their embeddings
and media as children."""

from __future__ import annotations

import base64
import io
import re
import zipfile
from collections.abc import Iterator

from lxml import etree

from readers import clean
from readers.base import Child, Declared, LeafHandler, MemorySource, Part, Source, Text
from readers.errors import DocumentError, corrupt, keep_error
from readers.identification.text import as_text, office_xml
from readers.modules import MEDIA_TYPES
from readers.office import vba as office_vba
from readers.office.cell_formats import FORMATS_LEFT
from readers.office.encryption import locks as office_unlock
from readers.office.ole.compound import CompoundFile
from readers.office.ooxml.kinds import KEYS_OF_2003, LEFT
from readers.office.ooxml.package import Package, carried
from readers.office.ooxml.text import Reader, unescaped
from readers.office.ooxml.xml import Element, attribute, elements, local, tree
from readers.records import Kind, Limits

# Word documents that are one XML file: flat packages ([MS-DOCX] calls them flat OPC), and those of Word
# 2003 (Office 2003 XML Reference Schemas). Both are converted to a package in memory, so that one
# reader reads all.

_FLAT = ("application/vnd.ms-word2006ml", "application/vnd.ms-wordml")
_CONTENT_TYPES = "{http://schemas.openxmlformats.org/package/2006/content-types}"
_Part = tuple[str, bytes | None, str]  # name, bytes (None where they are damaged), content type


def package(source: Source, limits: Limits) -> tuple[Source, DocumentError | None]:
    """Return the package, and any error in the XML. Raises DocumentError if nothing can be read, `too_large`."""
    data = source.whole(limits.parse_bytes)
    root, broken = tree(data)
    if root is None:
        raise corrupt(f"the document is not well-formed XML: {broken}")
    error = corrupt(f"the document is not well-formed XML: {broken}") if broken else None
    out, known = io.BytesIO(), set[str]()
    types = etree.Element(_CONTENT_TYPES + "Types")
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, content, kind in _word_2003(root, data) if root.find("{*}part") is None else _parts(root):
            if content is None:
                error = error or corrupt(f"the bytes of {name} are not base64")
            elif name not in known:
                known.add(name)
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
    """Yield its text, variables and properties under the names of the parts that contain them in later versions."""
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


_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_MACROS = b"vbaproject.bin"
_CARRIED = re.compile(
    rb"(?:(?:^|/)(?:embeddings|media)/[^/]+|^docprops/thumbnail[^/]*"
    rb"|(?:^|/)vbaproject\.bin$|^xl/model/[^/]+$"
    # w:altChunk, text in any format that Word imports on opening, often called afchunk; and other files of no part's type
    rb"|(?:^|/)(?:[^/]+\.(?!(?:xml|rels|vml|bin|odttf|fntdata|sigs|psmdcp|xsd)$)\w+|(?:afchunk|ole)[^/]*))$",
    re.IGNORECASE,
)
_KEYS = {
    "title": "title",
    "creator": "author",
    "subject": "doc_subject",
    "description": "description",
    "keywords": "keywords",
    "lastModifiedBy": "last_author",
    "created": "created",
    "modified": "modified",
    "Application": "application",
    **KEYS_OF_2003,
}
_TYPES = MEDIA_TYPES["office.ooxml.handler"]
_EXCEL, _POWERPOINT, _VISIO = (
    tuple(one for one in _TYPES if any(word in one for word in words))
    for words in (("excel", "spreadsheetml"), ("powerpoint", "presentationml"), ("visio",))
)
_WORD = tuple(one for one in _TYPES if one not in (*_EXCEL, *_POWERPOINT, *_VISIO))
_DECLARED_KEYS = (*dict.fromkeys(_KEYS.values()), clean.KEY)
_DECLARED_CHILDREN = (
    "embedded objects (a packaged file under its own name), media, macro modules and the thumbnail, marked "
    "`thumbnail`, in the archive's order"
)
_DECLARED_LEFT = (
    "documents that need a password which is not in the bank (`--passwords`)",
    *LEFT,
    "link targets and addresses of external files beyond the first 10,000 different ones: the exception is `too_large`",
)


def encrypted(source: Source) -> bool:
    """Return whether a compound file contains an encrypted package ([MS-OFFCRYPTO] 2.3.4). The name is in a directory
    sector of the compound file, so a plain search finds it."""
    with source.open() as file:
        carry = b""
        while data := file.read(1 << 20):
            if _ENCRYPTED in carry + data:
                return True
            carry = data[-len(_ENCRYPTED) :]
    return False


class OoxmlHandler(LeafHandler):
    """An Office Open XML document: docx, xlsx, pptx and vsdx with their macro and template variants."""

    name = "ooxml"
    whole = False
    declared: tuple[Declared, ...] = (
        Declared(
            title="Word documents",
            media_types=_WORD,
            extensions=("docx", "docm", "dotx", "dotm", "xml"),
            text="main text with tracked deletions, then headers, footers, notes, comments, text boxes, charts and "
            "diagrams, with watermarks and WordArt, alternative text of pictures, shapes and tables, selected "
            "form entries; list numbers before their paragraphs; building blocks, names and values of "
            "variables, queries of a mail merge, tooltips of links and forms; link targets, addresses in "
            "fields, of linked pictures and of the template",
            metadata=_DECLARED_KEYS,
            children=_DECLARED_CHILDREN + ", and documents in other formats that Word imports on opening",
            leaves_out=(
                "bullets; list numbers as words of languages other than English or in other scripts: digits "
                "replace them",
                "index entries (XE), other field codes, alternative text of older drawings (VML)",
                "authors of tracked changes, form entries that were not selected",
                *_DECLARED_LEFT,
            ),
        ),
        Declared(
            title="Excel workbooks",
            media_types=_EXCEL,
            extensions=("xlsx", "xlsm", "xltx", "xltm", "xlsb"),
            text="cells by rows, sheet by sheet, including hidden sheets: numbers as stored, and as displayed if "
            "that adds words; comments, text boxes, headers, footers, charts; labels of buttons and boxes, "
            "input prompts of cells, filters; source data cached by pivot tables and links to other workbooks, the "
            "change log of a shared workbook, queries and connections, scenarios, names and captions of "
            "tables, names with their comments; link targets and addresses of other workbooks",
            metadata=_DECLARED_KEYS,
            children=_DECLARED_CHILDREN + "; the data model as it is stored",
            leaves_out=(
                "formulas (their results are extracted; in xlsx also the strings of formulas without a result)",
                "in xlsb, numbers in change logs, in links to other workbooks and in the caches of pivot tables",
                "the content of the data model, whose packing is not published",
                FORMATS_LEFT,
                *_DECLARED_LEFT,
            ),
        ),
        Declared(
            title="PowerPoint presentations",
            media_types=_POWERPOINT,
            extensions=("pptx", "pptm", "potx", "potm", "ppsx", "ppsm"),
            text="slides in order, including hidden ones, with notes, comments, charts and diagrams, and "
            "alternative text of pictures and shapes; then text that masters and layouts add to slides, names "
            "of sections and of slide shows; link targets",
            metadata=_DECLARED_KEYS,
            children=_DECLARED_CHILDREN,
            leaves_out=(
                "the prompts and alternative text of placeholders in masters and layouts",
                *_DECLARED_LEFT,
            ),
        ),
        Declared(
            title="Visio drawings of Visio 2013 and newer",
            media_types=_VISIO,
            extensions=("vsdx", "vsdm", "vstx", "vstm", "vssx", "vssm"),
            text="the text of the shapes page by page, then comments",
            metadata=_DECLARED_KEYS,
            children=_DECLARED_CHILDREN,
            leaves_out=("text that is only in masters, and data of shapes", *_DECLARED_LEFT),
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield embedded files, media and modules of macros in the archive's order; an OLE package as the file in it. A
        damaged archive yields the readable ones, then raises its error."""
        try:
            source, _, _ = _plain(source, limits)
        except DocumentError:
            return
        with source.open() as file:
            members = carried(file, source.size, limits, _CARRIED)
            taken = (child for member in members for child in _taken(member, limits))
            for position, child in enumerate(taken):
                child.kind, child.ordinal = Kind.EMBEDDED_OBJECT, position
                yield child

    def text(self, source: Source, limits: Limits) -> Text:
        """Return the text of all parts; slides as pages; the core and extended properties as metadata. A damaged
        package gives the readable text and `error`. Raises DocumentError if there is no text."""
        source, opened, damage = _plain(source, limits)
        collector = clean.Collector(limits.text_characters)
        with source.open() as file:
            package = Package(file, source.size, limits)
            family = _family(package)
            if family is None:
                raise package.error or corrupt("the main part of the document is missing")
            reader = Reader(package, collector)
            reader.read(family)
            metadata = _metadata(package)
        error = damage or package.error or reader.error
        out = collector.result(error=error, metadata=metadata | opened, pages=reader.slides)
        if family in ("xl", "ppt"):
            out.text = unescaped(out.text)
        return out


def _taken(child: Child, limits: Limits) -> Iterator[Child]:
    """Yield the content of a member: itself, or the modules of the macros."""
    if child.data and child.name.lower() == _MACROS:
        try:
            yield from office_vba.children(CompoundFile(child.data), limits)
            return
        except DocumentError as failed:
            child.error = failed
    yield child


def _plain(source: Source, limits: Limits) -> tuple[Source, dict[str, object], DocumentError | None]:
    """Return the package, the metadata about its encryption, and its damage. An encrypted package is decrypted. A
    single XML file is converted to a package; only that reports damage."""
    if source.head.startswith(b"PK"):
        return source, {}, None
    if office_xml(as_text(source.head) or b"") in _FLAT:
        source, damage = package(source, limits)
        return source, {}, damage
    if not source.head.startswith(_OLE):
        return source, {}, None
    if not encrypted(source):
        raise corrupt("it is a compound file, not Office Open XML")
    return *office_unlock.package(source, limits), None


def _family(package: Package) -> str | None:
    """Return word, xl, xlsb, ppt or visio, by the kinds of the parts with text, else by their folder; None if there are
    none."""
    mains = package.having("main")
    if any(name.endswith(".bin") for name in package.having("worksheet")):
        return "xlsb"
    for name in package.having("main", "slide", "worksheet"):
        folder = name.split("/", 1)[0]
        if folder in ("word", "xl", "ppt", "visio"):
            return "xlsb" if folder == "xl" and name.endswith(".bin") else folder
    for family, role in (("ppt", "slide"), ("xl", "worksheet")):
        if package.having(role):
            return family
    return "word" if mains else None


def _metadata(package: Package) -> dict[str, object]:
    pairs: list[tuple[str, str | None]] = []
    for name in package.having("core-properties", "extended-properties"):
        with keep_error(package):
            for root in elements(package.pieces(name), "*"):
                if key := _KEYS.get(local(root)):
                    pairs.append((key, root.text))
    return dict(clean.values(pairs)) | clean.noted(_added(package))


def _added(package: Package) -> Iterator[tuple[str, str]]:
    """Yield properties added to the standard ones (ECMA-376 part 1, 22.3)."""
    for name in package.having("custom-properties"):
        with keep_error(package):
            for one in elements(package.pieces(name), "property"):
                yield one.get("name") or "", " ".join(text for text in one.itertext() if isinstance(text, str))
