"""OneNote sections ([MS-ONE], [MS-ONESTORE]): text of all pages, and the files and pictures on them as children."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import BinaryIO

from readers import clean
from readers.base import Child, Handler, LeafHandler, Part, Source, Text
from readers.declared import Declared
from readers.errors import DocumentError, ExceptionCode
from readers.office.onenote.packaged import PACKAGING, read_packaged
from readers.office.onenote.properties import Value, properties
from readers.office.onenote.store import REVISION_STORE, Store, StoredFile, read_store
from readers.records import FixedLimits, Kind, Limits
from readers.streams import SMALL_MEMBER, RangeStream

MEDIA_TYPE = "application/onenote"
# Numbers of properties with their types, [MS-ONE] 2.1.12.
_TEXT, _TEXT_8BIT, _TITLE, _ALT_TEXT = 0x1C001C22, 0x1C003498, 0x1C001CF3, 0x1C001E58
_AUTHOR, _FILE_NAME, _PICTURE_NAME = 0x1C001D75, 0x1C001D9C, 0x1C001DD7
_FILE_CONTAINER, _PICTURE_CONTAINER, _WEB_PICTURE = 0x20001D9B, 0x20001C3F, 0x200034C8
_CONTAINERS = (_FILE_CONTAINER, _PICTURE_CONTAINER, _WEB_PICTURE)
_LINK = 0x1C001E20
_CREATED, _MODIFIED = 0x14001D09, 0x14001D7A  # seconds since 1980
_FIELD = re.compile('\ufddfHYPERLINK "([^"]*)"')
_EPOCH = datetime(1980, 1, 1)


class OneNoteHandler(LeafHandler):
    """One section, or the table of contents of a notebook."""

    name = "onenote"
    media_types: tuple[str, ...] = (MEDIA_TYPE,)
    whole = False
    declared: tuple[Declared, ...] = (
        Declared(
            title="OneNote sections",
            extensions=("one", "onetoc2"),
            text="the text of all pages in the order in which the file keeps it, addresses of links, descriptions of "
            "pictures; the last version of each piece, all versions where a server packaged it",
            metadata=("title", "author", "created", "modified", "application"),
            children="attached files under their names, pictures and printouts, in the order of the file data store",
            announces="the file data store",
            leaves_out=(
                "sections of more than 64 MB as servers hand them out: the exception is `too_large`",
                "ink, recordings' places in the text, earlier versions where it is not packaged",
            ),
        ),
    )

    def announced(self, source: Source) -> int | None:
        """Files in the file data store; None where not all of it can be read."""
        try:
            with source.open() as file:
                store = _store(file, source, FixedLimits())
        except DocumentError:
            return None
        return None if store.error else len(store.files)

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Embedded files with their position in the store as ordinal; cut ones with their available bytes. Of a damaged
        section, the readable ones, then its error."""
        with source.open() as file:
            store = _store(file, source, limits)
            names = _names(store)
            for position, (guid, stored) in enumerate(store.files.items()):
                yield _child(file, source.size, position, names.get(guid) or f"object-{position}", stored)
        if store.error is not None:
            raise store.error

    def text(self, source: Source, limits: Limits) -> Text:
        """Text and properties of all objects. Raises what `_store` raises."""
        with source.open() as file:
            store = _store(file, source, limits)
        collector = clean.Collector(limits.text_characters)
        by_number: dict[int, list[bytes]] = {}
        said: set[tuple[bytes, str]] = set()
        for held in store.objects.values():
            for number, value in properties(held.raw):
                if isinstance(value, int):
                    continue
                if number in (_TEXT, _TEXT_8BIT, _LINK, _ALT_TEXT) and (line := _decoded(number, value)):
                    if (held.owner, line) not in said:
                        collector.add(line + "\n")
                    if held.owner:
                        said.add((held.owner, line))
                elif number in (_TITLE, _AUTHOR, _CREATED, _MODIFIED):
                    by_number.setdefault(number, []).append(value)
        out = collector.result()
        out.metadata = _metadata(by_number)
        out.error = out.error or store.error
        return out


def _store(file: BinaryIO, source: Source, limits: Limits) -> Store:
    """What the section declares, in whichever packaging. DocumentError where nothing can be read."""
    file_type = source.head[48:64]
    if file_type == PACKAGING:
        return read_packaged(source.whole(limits.parse_bytes))
    if file_type != REVISION_STORE and len(file_type) == 16:
        raise DocumentError(ExceptionCode.UNSUPPORTED, "a OneNote file of a packaging that is not known")
    return read_store(file, source.size)


def _decoded(number: int, value: bytes) -> str:
    """A line of text; a link within it as its address and then what is shown."""
    text = value.decode("cp1252" if number == _TEXT_8BIT else "utf-16-le", "replace")
    return _FIELD.sub(r"\1 ", text).replace("\0", "").replace("\v", "\n").strip()


def _metadata(by_number: dict[int, list[bytes]]) -> dict[str, object]:
    """The first page's title, the first author, the earliest and the latest date."""
    pairs: list[tuple[str, str | None]] = [
        (key, next((text for raw in by_number.get(number, ()) if (text := _decoded(number, raw))), None))
        for key, number in (("title", _TITLE), ("author", _AUTHOR))
    ]
    for key, number, pick in (("created", _CREATED, min), ("modified", _MODIFIED, max)):
        seconds = [s for raw in by_number.get(number, ()) if (s := int.from_bytes(raw, "little"))]
        pairs.append((key, (_EPOCH + timedelta(seconds=pick(seconds))).isoformat() + "Z" if seconds else None))
    pairs.append(("application", "Microsoft OneNote"))
    return dict(clean.values(pairs))


def _names(store: Store) -> dict[bytes, str]:
    """File names by the GUID of the data: the attachment's or picture's own, else one from its extension."""
    names: dict[bytes, str] = {}
    for held in store.objects.values():
        values: dict[int, Value] = dict(properties(held.raw))
        name = next((values[n] for n in (_FILE_NAME, _PICTURE_NAME) if n in values), None)
        for number in _CONTAINERS if held.table else ():
            compact = values.get(number)
            if isinstance(compact, int) and isinstance(name, bytes):
                guid, _ = store.file_objects.get(held.key(compact), (b"", ""))
                names.setdefault(guid, _decoded(_FILE_NAME, name))
    for guid, key in store.holders.items():
        named: dict[int, Value] = dict(properties(store.objects[key].raw)) if key in store.objects else {}
        name = next((named[n] for n in (_FILE_NAME, _PICTURE_NAME) if n in named), None)
        if isinstance(name, bytes):
            names[guid] = _decoded(_FILE_NAME, name)
    extensions = dict(store.file_objects.values())
    for position, guid in enumerate(store.files):
        if guid not in names and extensions.get(guid):
            names[guid] = f"object-{position}{extensions[guid]}"
    return names


def _child(file: BinaryIO, size: int, position: int, name: str, stored: StoredFile) -> Child:
    length = max(0, min(stored.size, size - stored.start))
    child = Child(name=name.encode("utf-8", "backslashreplace"), kind=Kind.EMBEDDED_OBJECT, ordinal=position)
    if not stored.complete:
        detail = f"the OneNote file ends after {length} of the embedded file's {stored.size} bytes"
        child.error = DocumentError(ExceptionCode.TRUNCATED, detail)
    if length > SMALL_MEMBER:
        child.stream, child.size_hint = RangeStream.buffered(file, stored.start, length), length
    else:
        file.seek(stored.start)
        child.data = file.read(length)
    return child


HANDLERS: tuple[Handler, ...] = (OneNoteHandler(),)
