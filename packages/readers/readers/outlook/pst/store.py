"""The upper layer of a PST ([MS-PST] 2.4): folders, messages, recipients, attachments."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct, field

from readers.errors import DocumentError
from readers.office.ole import objects as ole_objects
from readers.outlook.mapi import properties as mapi
from readers.outlook.mapi.fields import EVERYTHING, has_fields, is_contact, our_ids, rename
from readers.outlook.mapi.properties import MapiAttachment, MapiMessage, Properties, decode_strings
from readers.outlook.pst.file import Node, PstFile
from readers.outlook.pst.heap import Heap, TableContext, properties
from readers.records import Limits

_STORE, _ROOT_FOLDER = 0x21, 0x122  # node ids (2.4.1)
# Node types: search folders contain nothing themselves, 8 is hidden in Outlook
_FOLDER, _SEARCH, _MESSAGE = 0x02, 0x03, 0x04
_HIERARCHY, _CONTENTS = 0x0D, 0x0E
_ATTACHMENTS, _RECIPIENTS = 0x671, 0x692
_IPM_SUBTREE, _PASSWORD = 0x35E0, 0x67FF
_NAMES, _NAME_LISTS = (
    0x61,
    (0x0002, 0x0003),
)  # the node with the names of properties: the lists of their sets and of the names
_ENTRY = 32  # bytes of a node in the store's index
_MAX_FOLDERS = 100_000
_MAX_FOLDER_DEPTH = 200
_MAX_ROWS = 20_000  # recipients of a message
_SMALL = 4_000_000  # bytes of names, identifiers and other data that is not content
RECOVERED = "recovered"


class Walk(Struct, frozen=True):
    """The result of walking a store's folders, for later reads of the same store."""

    folders: list[Folder]
    aside: list[tuple[str, ...]]
    damage: str | None


class Folder(Struct):
    """A folder and the ids of its messages in their order."""

    path: tuple[str, ...]
    messages: array[int] = field(default_factory=lambda: array("I"))


class PstStore:
    """An open store: folders first, messages when they are requested."""

    def __init__(self, file: PstFile, limits: Limits) -> None:
        self._file, self._limits = file, limits
        self.damage: str | None = None  # of folders, whose messages are recovered
        self.password = False
        self.aside: list[tuple[str, ...]] = []
        self._subtree = self._about()
        self._folders: list[Folder] | None = None
        # No store has more rows than fit into its index (twice: each folder is in a row and has its own table); tables
        # of damaged ones may be the same for all folders.
        self._rows_left = 2 * file.size // _ENTRY

    @property
    def walked(self) -> Walk | None:
        """The walk of the folders; None until they were read."""
        return None if self._folders is None else Walk(self._folders, self.aside, self.damage)

    @walked.setter
    def walked(self, walk: Walk) -> None:
        self._folders, self.aside, self.damage = walk.folders, walk.aside, walk.damage

    @property
    def folders(self) -> list[Folder]:
        """All folders with messages or without. Raises DocumentError if the store's index cannot be read at all."""
        if self._folders is None:
            self._folders = self._walk()
        return self._folders

    def _about(self) -> int:
        """Read the store's own properties; return the id of the folder that users see as the top."""
        try:
            node = self._node(_STORE)
            own, _ = properties(Heap(self._file, node, _SMALL), (_IPM_SUBTREE, _PASSWORD))
        except DocumentError as e:
            self._note(e)
            return 0
        self.password = bool(own.number(_PASSWORD))
        entry = own.raw(_IPM_SUBTREE)
        return int.from_bytes(entry[20:24], "little") if len(entry) == 24 else 0

    def _note(self, error: DocumentError) -> None:
        self.damage = self.damage or error.detail

    def _node(self, nid: int) -> Node:
        node = self._file.node(nid)
        if node is None:
            raise self._file.fail(f"node {nid:#x} is missing")
        return node

    def _walk(self) -> list[Folder]:
        """Return the folders depth first, parents first. The users' top folder is not in paths."""
        self._node(_ROOT_FOLDER)
        out: list[Folder] = []
        seen = {_ROOT_FOLDER}
        left = self._file.size // _ENTRY  # no store has more messages than fit into its index
        waiting: list[tuple[int, tuple[str, ...]]] = [(_ROOT_FOLDER, ())]
        while waiting and len(seen) < _MAX_FOLDERS:
            nid, path = waiting.pop()
            folder = Folder(path)
            folder.messages.extend(self._rows(nid, _CONTENTS, _MESSAGE)[:left])
            left -= len(folder.messages)
            out.append(folder)
            inside: list[tuple[int, tuple[str, ...]]] = []
            for child in self._rows(nid, _HIERARCHY, _FOLDER, _SEARCH):
                if child not in seen and len(path) < _MAX_FOLDER_DEPTH:
                    seen.add(child)
                    named = (*path, self._name(child))
                    if child == self._subtree or child & 0x1F == _SEARCH:
                        self.aside.append(named)
                    if child & 0x1F == _FOLDER:
                        inside.append((child, () if child == self._subtree else named))
            waiting.extend(reversed(inside))
        return out

    def _rows(self, nid: int, table: int, *kinds: int) -> list[int]:
        """Return ids of these types in one of a folder's tables, as far as it can be read; a folder without the table
        is empty."""
        out: list[int] = []
        try:
            node = self._file.node(nid & ~0x1F | table)
            if node is not None and node.data and self._rows_left > 0:
                for row in TableContext(Heap(self._file, node, 1 << 31)).ids():
                    self._rows_left -= 1
                    if self._rows_left < 0:
                        raise self._file.fail("its folders' tables have more rows than the store has room for")
                    if row & 0x1F in kinds:
                        out.append(row)
        except DocumentError as e:
            self._note(e)
        return out

    def _name(self, nid: int) -> str:
        try:
            own, _ = properties(Heap(self._file, self._node(nid), _SMALL), (mapi.DISPLAY_NAME,))
        except DocumentError as e:
            if nid & 0x1F == _FOLDER:  # others contain nothing
                self._note(e)
            return f"folder-{nid:x}"
        return own.text(mapi.DISPLAY_NAME) or ""

    def recovered(self) -> Folder:
        """Return messages that are in the store but in none of its folders."""
        known = {nid for folder in self.folders for nid in folder.messages}
        messages = (node.nid for node in self._file.nodes(_MESSAGE) if node.nid not in known)
        return Folder((RECOVERED,), array("I", messages))

    def message(self, nid: int) -> MapiMessage:
        """Return one message. Raises DocumentError if it has no properties."""
        return self._message(self._node(nid))

    def _message(self, node: Node) -> MapiMessage:
        heap = Heap(self._file, node, self._limits.parse_bytes)
        own, _ = properties(heap, mapi.WANTED)
        if has_fields(own.text(mapi.MESSAGE_CLASS)):
            own, _ = properties(heap, EVERYTHING if is_contact(own) else mapi.WANTED | self._names.keys())
            rename(own, self._names)
        people = self._recipients(heap)
        decode_strings(own, people)
        return MapiMessage(own, people, lambda: self._attachments(heap, own.codec))

    @cached_property
    def _names(self) -> dict[int, int]:
        """Our ids of named properties by those of this store (2.4.7); none if they cannot be read."""
        if (node := self._file.node(_NAMES)) is None:
            return {}
        try:
            own, _ = properties(Heap(self._file, node, _SMALL), _NAME_LISTS)
        except DocumentError as e:
            self._file.damage = e
            return {}
        return our_ids(*map(own.raw, _NAME_LISTS))

    def _recipients(self, heap: Heap) -> list[Properties]:
        node = heap.subnodes.get(_RECIPIENTS)
        if node is None:
            return []
        try:
            return TableContext(Heap(self._file, node, _SMALL)).rows(mapi.WANTED, _MAX_ROWS)
        except DocumentError as e:
            self._file.damage = e
            return []

    def _attachments(self, heap: Heap, codec: str) -> Iterator[MapiAttachment]:
        """Yield attachments in the order of the message's table."""
        node = heap.subnodes.get(_ATTACHMENTS)
        if node is None:
            return
        for nid in TableContext(Heap(self._file, node, _SMALL)).ids():
            inner = heap.subnodes.get(nid)
            if inner is None:
                yield MapiAttachment(Properties(), error=self._file.fail(f"attachment {nid:#x} is missing"))
                continue
            try:
                yield self._attachment(inner, codec)
            except DocumentError as e:
                yield MapiAttachment(Properties(), error=self._file.fail(e.detail))

    def _attachment(self, node: Node, codec: str) -> MapiAttachment:
        heap = Heap(self._file, node, self._limits.parse_bytes)
        own, left = properties(heap, mapi.WANTED)
        own.codec = codec
        kind, reference = left.get(mapi.ATTACH_DATA, (0, 0))
        if kind == mapi.BINARY:
            return MapiAttachment(own, size=self._size(heap, reference), data=lambda: (b"", heap.value(reference)))
        if kind != mapi.OBJECT:
            return MapiAttachment(own)
        inner = heap.subnodes.get(struct.unpack("<I", heap.item(reference)[:4].ljust(4, b"\0"))[0])
        if inner is None:
            raise self._file.fail("the object of an attachment is missing")
        if own.number(mapi.ATTACH_METHOD) == mapi.EMBEDDED_MESSAGE:
            return MapiAttachment(own, message=lambda: self._message(inner))
        size = self._file.data_size(inner.data)
        return MapiAttachment(  # the file in an OLE object, else the object unchanged
            own,
            size=size,
            data=lambda: ole_objects.unwrapped(raw := self._file.data(inner.data, heap.limit)) or (b"", raw),
        )

    def _size(self, heap: Heap, reference: int) -> int:
        if not reference & 0x1F:
            return len(heap.item(reference))
        node = heap.subnodes.get(reference)
        return self._file.data_size(node.data) if node else 0
