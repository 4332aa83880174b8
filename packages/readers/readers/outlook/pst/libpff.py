"""Stores in formats that our own reader does not support (ANSI, pages of 4,096 bytes, cyclic coding), through libpff.

libpff's Python interface does not return attached messages, and reaches a message only through its folder."""

from __future__ import annotations

import io
from array import array
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator
from typing import Any

import pypff

from readers.base import Source
from readers.errors import DocumentError, corrupt, unsupported
from readers.outlook.mapi import properties as mapi
from readers.outlook.mapi.fields import EVERYTHING, is_contact
from readers.outlook.mapi.properties import MapiAttachment, MapiMessage, Properties, decode_strings
from readers.outlook.pst.store import RECOVERED, Folder
from readers.records import Limits
from readers.streams import scattered

_IPM_SUBTREE, _PASSWORD = 0x35E0, 0x67FF
_WANTED = mapi.WANTED | {_IPM_SUBTREE, _PASSWORD}
_SEARCH_FOLDER, _MESSAGE = 0x03, 0x04  # node types
_MAX_FOLDERS, _MAX_DEPTH = 100_000, 200
_FAILURES = (OSError, MemoryError)  # pypff raises the latter for damaged data, too


class LibpffStore:
    """An open store. Messages are numbered over all folders; `message` takes such a number."""

    def __init__(self, source: Source, limits: Limits) -> None:
        """Open the store. Raises DocumentError if libpff cannot."""
        self._limits = limits
        self.damage: str | None = None
        self.folders: list[Folder] = []
        self.aside: list[tuple[str, ...]] = []
        self._places: list[tuple[int, Any]] = []  # first number and folder
        self._count = 0
        self._reader = scattered(source.open())
        self._file = pypff.file()
        try:
            self._file.open_file_object(self._reader)
        except _FAILURES as e:
            self._reader.close()
            raise _error("the store cannot be opened", e) from e
        try:
            store = self._file.get_message_store()
            own = _properties(store) if store is not None else Properties()
            self.password = bool(own.number(_PASSWORD))
            entry = own.raw(_IPM_SUBTREE)
            self._walk(int.from_bytes(entry[20:24], "little") if len(entry) == 24 else 0)
        except _FAILURES as e:
            self.close()
            raise _error("its folders cannot be read", e) from e

    def close(self) -> None:
        """Close libpff's file and ours."""
        try:
            self._file.close()
        except _FAILURES:  # if the store is damaged
            self.damage = self.damage or "it could not be closed"
        self._reader.close()

    def _walk(self, subtree: int) -> None:
        root = self._file.get_root_folder()
        waiting: list[tuple[Any, tuple[str, ...]]] = [(root, ())] if root is not None else []
        while waiting and len(self.folders) < _MAX_FOLDERS:
            folder, path = waiting.pop()
            try:
                count, inside = folder.number_of_sub_messages, list(folder.sub_folders)
            except _FAILURES as e:
                self.damage = self.damage or _error("a folder cannot be read", e).detail
                continue
            self._places.append((self._count, folder))
            self.folders.append(Folder(path, array("I", range(self._count, self._count + count))))
            self._count += count
            for child in reversed(inside):
                if len(path) < _MAX_DEPTH:
                    named = (*path, _properties(child).text(mapi.DISPLAY_NAME) or "")
                    searches = child.identifier & 0x1F == _SEARCH_FOLDER
                    if searches or child.identifier == subtree:
                        self.aside.append(named)
                    if not searches:
                        waiting.append((child, () if child.identifier == subtree else named))

    def recovered(self) -> Folder:
        """Return messages whose folder is missing."""
        try:
            orphans = [item for item in self._file.orphan_items if (item.identifier or 0) & 0x1F == _MESSAGE]
        except _FAILURES as e:
            self.damage = self.damage or _error("messages without a folder cannot be read", e).detail
            orphans = []
        self._orphans = orphans
        return Folder((RECOVERED,), array("I", range(self._count, self._count + len(orphans))))

    def message(self, nid: int) -> MapiMessage:
        """Return one message. Raises DocumentError if it cannot be read."""
        try:
            if nid >= self._count:
                item = self._orphans[nid - self._count]
            else:
                first, folder = self._places[bisect_right(self._places, nid, key=lambda place: place[0]) - 1]
                item = folder.get_sub_message(nid - first)
            return _message(item)
        except _FAILURES as e:
            raise _error("it cannot be read", e) from e


def _message(item: Any) -> MapiMessage:
    own = _properties(item)
    if is_contact(own):
        own = _properties(item, EVERYTHING)
    decode_strings(own)
    table = getattr(item, "recipients", None)
    people = [_row(record.entries, own.codec) for record in table.record_sets] if table is not None else []
    return MapiMessage(own, people, lambda: _attachments(item, own.codec))


def _attachments(item: Any, codec: str) -> Iterator[MapiAttachment]:
    """Yield attachments in order; what libpff cannot read raises when it is requested."""
    for index in range(getattr(item, "number_of_attachments", 0)):
        try:
            attachment = item.get_attachment(index)
            own = _properties(attachment)
            method = own.number(mapi.ATTACH_METHOD)
            size = attachment.size if method in (mapi.BY_VALUE, mapi.OLE) else 0
        except _FAILURES as e:
            yield MapiAttachment(Properties(), error=_error("an attachment cannot be read", e))
            continue
        own.codec = codec
        if method == mapi.EMBEDDED_MESSAGE:
            error = unsupported("a message inside a message of a store of this format")
            yield MapiAttachment(own, error=error)
        elif method in (mapi.BY_VALUE, mapi.OLE):
            yield MapiAttachment(own, size=size, data=lambda a=attachment, n=size: _data(a, n))  # type: ignore[misc]
        elif method not in mapi.WITHOUT_DATA:
            yield MapiAttachment(own)


def _data(attachment: Any, size: int) -> tuple[bytes, bytes]:
    out = io.BytesIO()
    try:
        attachment.seek_offset(0, 0)
        while out.tell() < size:
            piece = attachment.read_buffer(min(1 << 20, size - out.tell()))
            if not piece:
                break
            out.write(piece)
    except _FAILURES as e:
        raise _error("its data cannot be read", e) from e
    return b"", out.getvalue()


def _properties(item: Any, wanted: Container[int] = _WANTED) -> Properties:
    records = list(item.record_sets)
    return _row(records[0].entries, "", wanted) if records else Properties()


def _row(entries: Iterable[Any], codec: str, wanted: Container[int] = _WANTED) -> Properties:
    out = Properties(codec=codec)
    for entry in entries:
        ident = entry.entry_type
        if ident in wanted and not entry.value_type & mapi.MULTIPLE:
            out.values[ident] = (entry.value_type, entry.data or b"")
    return out


def _error(what: str, cause: BaseException) -> DocumentError:
    detail = str(cause).rstrip().rpartition("libpff_")[2] or str(cause)
    return corrupt(f"{what}: {detail[:200]}")
