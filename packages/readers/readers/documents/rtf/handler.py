"""RTF (Rich Text Format Specification 1.9.1): text, information group; embedded objects and pictures as children."""

from __future__ import annotations

from collections.abc import Iterator

from readers import clean
from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.charset import CHARSET_KEYS
from readers.documents.rtf.reader import Carried, RtfReader, payload
from readers.errors import DocumentError, ExceptionCode, corrupt
from readers.images import bitmaps
from readers.last import Last
from readers.office.ole import objects as ole_objects
from readers.records import FixedLimits, Kind, Limits
from readers.text.unread import unread_in


def read_rtf(data: bytes, limit: int = FixedLimits().text_characters) -> RtfReader:
    """Return a reader that has come to the end, or to the limit of characters. For HTML or plain text that was wrapped
    into RTF ([MS-OXRTFEX]) it has the text without markup. Raises nothing."""
    reader = RtfReader(data, clean.Collector(limit))
    reader.read()
    return reader


_READ = Last(read_rtf)


class RtfHandler(LeafHandler):
    """A Rich Text Format document."""

    name = "rtf"
    declared = Declared(
        title="Rich text",
        extensions=("rtf",),
        text="the document with headers, footers, notes and comments in place, and the results of fields; link "
        "targets at the end",
        metadata=(
            "title",
            "author",
            "doc_subject",
            "keywords",
            "description",
            "last_author",
            "company",
            "created",
            "modified",
            *CHARSET_KEYS,  # if one of its code pages is not as declared, or doubtful
        ),
        children="embedded objects (a packaged file under its own name) and pictures in order; those that represent "
        "an object or another picture are marked `rendering`",
        leaves_out=(
            "pictures as device-dependent bitmaps",
            "linked objects",
            "marks for an index or a table of contents; codes of fields, except their results and link targets; "
            "link targets in a web page that was wrapped in RTF",
            "custom properties, variables, and help texts of form fields",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield objects and pictures in order. A packaged file is itself the child, under its own name. Links have no
        child. Renderings of objects and second forms of pictures may show an earlier content: they are children too."""
        data = source.whole(limits.parse_bytes)
        if b"\\objdata" not in data and b"\\pict" not in data:
            return
        position = 0
        for carried in _READ(data, limits.text_characters).carried:
            child = _child(data, carried, position)
            if child is not None:
                yield child
                position += 1

    def text(self, source: Source, limits: Limits) -> Text:
        """Return the text with headers, footers, notes and comments in place; the information group as metadata."""
        data = source.whole(limits.parse_bytes)
        if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{\\rtf"):
            raise corrupt("it does not begin like RTF")
        reader = _READ(data, limits.text_characters)
        about = clean.values(reader.metadata.items())
        out = reader.collector.result(detected=reader.detected, metadata=about)
        out.text = reader.text.strip("\n")
        out.error = reader.error or unread_in(out.text)
        return out


def _child(data: bytes, carried: Carried, position: int) -> Child | None:
    """Return the child, or None if nothing is carried: a link, a picture without bytes."""
    kind, content = payload(data, carried)
    name, error = b"", None
    if carried.kind == b"picture":
        content = _file(kind, content)
        if not kind or not content:  # device-dependent bitmaps are no files
            return None
        name = b"picture-%d.%b" % (position, kind)
    else:
        try:
            name, content = _object(content)
        except DocumentError as failed:
            if failed.code is ExceptionCode.UNSUPPORTED:
                return None
            error = failed
    return Child(
        name=name or b"object-%d" % position,
        kind=Kind.EMBEDDED_OBJECT,
        ordinal=position,
        data=None if error else content,
        error=error,
        emit=error is None,
        notes={"rendering": True} if carried.rendering else {},
    )


def _file(kind: bytes, content: bytes) -> bytes:
    """Return a picture as a file; b"" if it cannot be one."""
    if kind == b"bmp":
        return bitmaps.with_header(content)
    return bitmaps.PICT_HEADER + content if kind == b"pict" and content else content


def _object(data: bytes) -> tuple[bytes, bytes]:
    """Return name and bytes of the content of an embedded object."""
    class_name, native = ole_objects.embedded(data)
    if class_name == b"Package":
        return ole_objects.packaged(len(native).to_bytes(4, "little") + native)
    return ole_objects.unwrapped(native) or (b"", native)
