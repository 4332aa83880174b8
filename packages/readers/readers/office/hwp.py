"""Documents of Hancom's word processor, version 5 and later (.hwp; Hancom, "HWP Document File Formats 5.0"): text by
the library `unhwp`, pictures and objects from its compound file."""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import struct
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from readers import clean
from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.errors import DocumentError, corrupt, encrypted, truncated, unsupported
from readers.inflate import DECODE_ERRORS, DEFLATED, Inflater
from readers.office.ole.compound import MAGIC, CompoundFile, DirectoryEntry
from readers.records import Kind, Limits

_PATH = "UNHWP_LIB_PATH"


def _load() -> tuple[ModuleType | None, str]:
    """Return the module; else the reason why it is not available: its wheel has libraries for some platforms only."""
    found = importlib.util.find_spec("unhwp")
    if found is None or not found.submodule_search_locations:
        return None, "unhwp is not installed"
    kind = "linux-musl-x64" if "musl" in str(sysconfig.get_config_var("HOST_GNU_TYPE")) else "linux-x64"
    library = Path(found.submodule_search_locations[0]) / "lib" / kind / "libunhwp.so"
    supported = (
        sys.platform == "linux" and platform.machine() == "x86_64" and _PATH not in os.environ and library.is_file()
    )
    if supported:
        os.environ[_PATH] = str(library)
    try:
        return importlib.import_module("unhwp"), ""
    except (ImportError, OSError) as error:
        return None, str(error)
    finally:
        if supported:
            del os.environ[_PATH]


UNHWP, MISSING = _load()


_HEADER = struct.Struct("<32sII")  # of the stream FileHeader: signature, version, properties
_SIGNATURE = b"HWP Document File"
_COMPRESSED, _ENCRYPTED, _FOR_DISTRIBUTION = 1, 2, 4  # bits of the properties
_LENGTH = 4  # bytes before an OLE object


class HwpHandler(LeafHandler):
    """A document of Hancom's word processor."""

    name = "hwp"
    declared = Declared(
        title="Documents of Hancom's word processor (Hangul)",
        extensions=("hwp",),
        text="the text, tables, text boxes, notes, headers and footers of all sections",
        metadata=("title", "author"),
        children="pictures and objects in the order of the compound file",
        leaves_out=(
            "documents of versions before 5: the exception is `unsupported`; documents with a password: `encrypted`",
            "the text of a document for distribution, which is encrypted for Hancom's viewer: the text is a "
            "notice, the state `partial`",
            "comments, change tracking, scripts; private-use characters are kept",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield the content of BinData. One that is unreadable, or has a password, has none: `text` reports why."""
        try:
            compound, properties = _opened(source, limits)
        except DocumentError:
            return
        if properties & _ENCRYPTED:
            return
        storage = compound.root.find("BinData")
        for position, entry in enumerate(e for e in (storage.children if storage else ()) if not e.storage):
            yield _child(compound, entry, position, limits, packed=bool(properties & _COMPRESSED))

    def text(self, source: Source, limits: Limits) -> Text:
        """Return all sections; for a document for distribution its notice and `unsupported`."""
        compound, properties = _opened(source, limits)
        if properties & _ENCRYPTED:
            raise encrypted("a password is needed to open it")
        document = _parsed(source.whole(limits.parse_bytes))
        collector = clean.Collector(limits.text_characters)
        collector.add(document.plain_text)
        out = collector.result(metadata=clean.values((("title", document.title), ("author", document.author))))
        if properties & _FOR_DISTRIBUTION:
            out.error = unsupported("a document for distribution: its text is encrypted for Hancom's viewer")
        else:
            out.error = compound.error
        return out


def _opened(source: Source, limits: Limits) -> tuple[CompoundFile, int]:
    """Return the compound file and the document's properties."""
    data = source.whole(limits.parse_bytes)
    if data.startswith(_SIGNATURE):
        raise unsupported("a document of a version before 5")
    compound = CompoundFile(data)
    header = compound.read(compound.root.stream("FileHeader"))
    if len(header) < _HEADER.size or not header.startswith(_SIGNATURE):
        raise corrupt("its header is not that of a Hancom document")
    return compound, _HEADER.unpack_from(header)[2]


def _parsed(data: bytes) -> Any:
    if UNHWP is None:
        raise unsupported(f"Hancom documents cannot be read: {MISSING}")
    try:
        return UNHWP.parse_bytes(data)
    except UNHWP.UnhwpError as error:
        raise corrupt(f"the Hancom document cannot be read: {error}") from error


def _child(compound: CompoundFile, entry: DirectoryEntry, position: int, limits: Limits, *, packed: bool) -> Child:
    error = None
    data = compound.read(entry)
    if packed:
        inflater = Inflater(DEFLATED)
        try:
            data = inflater.feed(data, limits.parse_bytes)
            if not inflater.ended:
                error = truncated("its data end early")
        except DECODE_ERRORS:  # some are stored uncompressed
            pass
    if data.startswith(MAGIC, _LENGTH):
        data = data[_LENGTH:]
    name = entry.name.encode("utf-8", "backslashreplace")
    return Child(name=name, kind=Kind.EMBEDDED_OBJECT, ordinal=position, data=data, error=error)
