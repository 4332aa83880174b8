"""`PstWriter`: a store, its folders, its messages."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import IO

from dataset_gen.formats.mapi_mail import (
    DISPLAY_NAME,
    NOTE,
    PS_PUBLIC_STRINGS,
    PSETID_COMMON,
    Details,
    Names,
    crc,
)
from dataset_gen.formats.pst import heap
from dataset_gen.formats.pst.message import ATTACHMENT_TABLE, RECIPIENT_TABLE, write_message
from dataset_gen.formats.pst.space import BBT, DLIST, NBT, Space, page, write_tree
from readers.mail_form import MailForm

FOLDER, SEARCH_FOLDER, MESSAGE = 0x02, 0x03, 0x04  # types of nodes: the lower five bits of their numbers
_HIERARCHY, _CONTENTS, _ASSOCIATED, _SEARCH = 0x0D, 0x0E, 0x0F, 0x10  # kinds of tables
_TEMPLATES = 0x600  # the number of a table's template less that of the table's kind


class Nodes:
    """The nodes of a store, for its node B-tree."""

    def __init__(self, blocks: heap.Blocks) -> None:
        self.blocks = blocks
        self.entries: list[bytes] = []
        self.templates: dict[int, tuple[int, int]] = {}

    def add(self, nid: int, data: int, sub: int = 0, parent: int = 0) -> None:
        """Add a node: its number, block ids of data and subnodes, and its folder."""
        entry = b"".join(n.to_bytes(8, "little") for n in (nid, data, sub, parent))
        self.entries.append(nid.to_bytes(4, "big") + entry)

    def properties(self, nid: int, values: heap.Properties, parent: int = 0) -> None:
        """Add a node that is a property context."""
        self.add(nid, *heap.write_properties(self.blocks, values), parent)

    def template(self, nid: int, columns: heap.Columns) -> None:
        """Add a table without rows; folders share it as their empty table."""
        self.templates[nid] = heap.TableContext(self.blocks, columns).finish()
        self.add(nid, *self.templates[nid])

    def table(self, nid: int, table: heap.TableContext | None) -> None:
        """Add a node that is a table; without rows, it shares its template."""
        if table is None or table.count == 0:
            data, sub = self.templates[_TEMPLATES | nid & 0x1F]
            self.add(nid, self.blocks.share(data), self.blocks.share(sub))
        else:
            self.add(nid, *table.finish())

    def sorted(self) -> bytes:
        """All entries in order of their numbers, 32 bytes each."""
        self.entries.sort()
        return b"".join([entry[4:] for entry in self.entries])


class Folder:
    """A folder that is being filled."""

    def __init__(self, nid: int, name: str, parent: int, container_class: str | None = None) -> None:
        self.nid = nid
        self.name = name
        self.parent = parent
        self.container_class = container_class
        self.folders: dict[str, Folder] = {}
        self.contents: heap.TableContext | None = None

    def add(self, blocks: heap.Blocks, nid: int, shown: heap.Properties) -> None:
        """Add a message's row."""
        if self.contents is None:
            self.contents = heap.TableContext(blocks, heap.CONTENTS)
        self.contents.row(nid, shown)

    def finish(self, nodes: Nodes) -> dict[int, heap.Value]:
        """Write the folder and all beneath it; returns the values of its row in the folder above."""
        below = heap.TableContext(nodes.blocks, heap.HIERARCHY)
        for folder in sorted(self.folders.values(), key=lambda f: f.nid):
            below.row(folder.nid, folder.finish(nodes))
        values = self.put(nodes)
        for kind, table in (_HIERARCHY, below), (_CONTENTS, self.contents), (_ASSOCIATED, None):
            nodes.table(self.nid & ~0x1F | kind, table)
        return values | {0x66350003: 0, 0x66360003: 0}  # hidden messages, and unread ones

    def put(self, nodes: Nodes) -> dict[int, heap.Value]:
        """Write the node of its properties and return them."""
        values: dict[int, heap.Value] = {
            DISPLAY_NAME: self.name,
            0x36020003: self.contents.count if self.contents else 0,  # ContentCount
            0x36030003: 0,  # ContentUnreadCount
            0x360A000B: bool(self.folders),  # Subfolders
        }
        if self.container_class is not None:
            values[0x3613001F] = self.container_class
        nodes.properties(self.nid, values, self.parent)
        return values


class SearchFolder(Folder):
    """The empty search folder for spam that every store has (2.7.1)."""

    def finish(self, nodes: Nodes) -> dict[int, heap.Value]:
        """Write it with the nodes that belong to it."""
        values = self.put(nodes)
        base = self.nid & ~0x1F
        nodes.add(base | 0x06, 0)  # queue of updates
        nodes.properties(base | 0x07, {0x660B0003: 0})  # criteria: none
        nodes.table(base | _SEARCH, None)
        return values


_BUCKETS = 251
# There are readers that refuse an empty map.
_ALWAYS: dict[tuple[bytes, int | str], int] = {(PSETID_COMMON, 0x8506): 0, (PS_PUBLIC_STRINGS, "Keywords"): 1}
DLIST_OFFSET = 0x4200
_UNICODE, _CLIENT = 23, 19
_VALID_MAPS = 2
_NODE_TYPES = 32
# Where the numbers of nodes of a type begin; 0x400 for the others.
FIRST_NUMBERS = {0x03: 0x4000, 0x04: 0x10000, 0x08: 0x8000}


def header(
    *,
    space: Space,
    crypt: heap.Crypt,
    next_page: int,
    next_block: int,
    highest: dict[int, int],
    nodes: Sequence[int],
    blocks: Sequence[int],
) -> bytes:
    """Return the first 564 bytes; `highest` are the numbers given to nodes by type, the trees are (id, offset) of
    roots."""
    numbers = [highest.get(kind, FIRST_NUMBERS.get(kind, 0x400)) for kind in range(_NODE_TYPES)]
    body = struct.pack("<2sHHBBIIQQI", b"SM", _UNICODE, _CLIENT, 1, 1, 0, 0, 0, next_page, 1)
    body += struct.pack(f"<{_NODE_TYPES}IQ", *numbers, 0)
    body += struct.pack("<IQQQQ", 0, space.end, space.last_map, space.free, 0)
    body += struct.pack("<QQQQBBHI", *nodes, *blocks, _VALID_MAPS, 0, 0, 0)
    body += b"\xff" * 256  # free maps: deprecated
    body += struct.pack("<BBHQ", 0x80, crypt, 0, next_block)
    head = b"!BDN" + crc(body[:471]).to_bytes(4, "little") + body + crc(body).to_bytes(4, "little")
    return head + bytes(564 - len(head))


_STORE, _NAME_MAP, _ROOT = 0x21, 0x61, 0x122
_SEARCH_QUEUE, _SEARCH_LIST = 0x1E1, 0x201
_IPM, _FINDER, _DELETED = 0x8022, 0x8042, 0x8062
_SPAM = 0x2223
_VALID_FOLDERS = 0x89  # there are an IPM subtree, deleted items and a finder
_LAST_RESERVED = _DELETED >> 5
IPM_NAME, FINDER_NAME, DELETED_NAME = "Top of Outlook data file", "Search Root", "Deleted Items"
_SPAM_NAME = "SPAM Search Folder 2"


class PstWriter:
    """Writes one store into a seekable binary file that is empty; nothing can be read before `finish`.

    with open("mail.pst", "wb") as file:
            store = PstWriter(file, display_name="Mail of Anna")
            store.add(("Inbox", "Project X"), MailForm(subject="Hello", plain="…"))
            store.finish()

    Folders are named by their path below the top folder and made when they are first named; a folder's messages stay in
    the order in which they were added. Memory: up to 16 KB for each folder with messages, 65 bytes and 8 bytes a
    message, 24 bytes a block, and what one message has.

    `key` makes the store known to others; two that may be open at once should differ in it. `password` is not a secret
    and encrypts nothing: programs that honour it ask before they show the store."""

    def __init__(
        self,
        file: IO[bytes],
        *,
        display_name: str = "Outlook Data File",
        key: bytes = b"\x01" * 16,
        crypt: heap.Crypt = heap.Crypt.PERMUTE,
        password: str | None = None,
    ) -> None:
        self._file = file
        self._space = Space(file)
        self._blocks = heap.Blocks(self._space, crypt)
        self._nodes = Nodes(self._blocks)
        self._display_name = display_name
        self._key = key
        self._password = password
        self._names = Names(dict(_ALWAYS))
        self._root = Folder(_ROOT, "", _ROOT)
        self._ipm = Folder(_IPM, IPM_NAME, _ROOT)
        self._root.folders = {
            IPM_NAME: self._ipm,
            FINDER_NAME: Folder(_FINDER, FINDER_NAME, _ROOT),
            _SPAM_NAME: SearchFolder(_SPAM, _SPAM_NAME, _ROOT),
        }
        self._ipm.folders = {DELETED_NAME: Folder(_DELETED, DELETED_NAME, _IPM)}
        self._folders = _LAST_RESERVED
        self.messages = 0
        for nid, columns in (
            (_TEMPLATES | _HIERARCHY, heap.HIERARCHY),
            (_TEMPLATES | _CONTENTS, heap.CONTENTS),
            (_TEMPLATES | _ASSOCIATED, heap.ASSOCIATED),
            (_TEMPLATES | _SEARCH, heap.SEARCH),
            (ATTACHMENT_TABLE, heap.ATTACHMENTS),
            (RECIPIENT_TABLE, heap.RECIPIENTS),
        ):
            self._nodes.template(nid, columns)

    def folder(self, path: Sequence[str]) -> Folder:
        """Make sure that a folder and those above it exist. The empty path is the top folder."""
        at = self._ipm
        for name in path:
            below = at.folders.get(name)
            if below is None:
                self._folders += 1
                below = at.folders[name] = Folder(self._folders << 5 | FOLDER, name, at.nid, "IPF.Note")
            at = below
        return at

    def paths(self) -> Iterator[tuple[str, ...]]:
        """All folders below the top one as readers meet them: depth first, a folder before those in it; first ()."""
        waiting: list[tuple[tuple[str, ...], Folder]] = [((), self._ipm)]
        while waiting:
            path, at = waiting.pop()
            yield path
            waiting += [((*path, name), folder) for name, folder in reversed(at.folders.items())]

    def add(self, path: Sequence[str], form: MailForm, details: Details = NOTE) -> int:
        """Write a message into a folder and return its number.

        Raises ValueError for an attachment or property of 2 GB and more."""
        folder = self.folder(path)
        named = {self._names.tag(name): value for name, value in details.named.items()}
        details = replace(details, properties={**details.properties, **named}) if named else details
        values, _, data, sub = write_message(self._blocks, form, details)
        self.messages += 1
        nid = (FIRST_NUMBERS[MESSAGE] + self.messages) << 5 | MESSAGE
        self._nodes.add(nid, data, sub, folder.nid)
        folder.add(self._blocks, nid, values)
        return nid

    def finish(self) -> int:
        """Write folders, tables, B-trees and header; returns the size of the file. Nothing may be added after it."""
        nodes = self._nodes
        nodes.properties(_STORE, self._store())
        named = {number << 16 | 0x102: data for number, data in self._names.map(_BUCKETS).items()}
        nodes.properties(_NAME_MAP, {0x00010003: _BUCKETS, **named})
        nodes.add(_SEARCH_QUEUE, 0)
        nodes.add(_SEARCH_LIST, 0)
        self._root.finish(nodes)
        place = self._space.put_page
        *nodes_root, next_page = write_tree(NBT, nodes.sorted(), 32, place, 1)
        *blocks_root, next_page = write_tree(BBT, bytes(self._blocks.entries), 24, place, next_page)
        self._space.finish()
        highest = {
            FOLDER: self._folders,
            SEARCH_FOLDER: FIRST_NUMBERS[SEARCH_FOLDER],
            MESSAGE: FIRST_NUMBERS[MESSAGE] + self.messages,
        }
        self._file.seek(0)
        self._file.write(
            header(
                space=self._space,
                crypt=self._blocks.crypt,
                next_page=next_page,
                next_block=self._blocks.next_id,
                highest=highest,
                nodes=nodes_root,
                blocks=blocks_root,
            )
        )
        self._file.seek(DLIST_OFFSET)
        self._file.write(
            page(DLIST, b"", DLIST_OFFSET, next_page)
        )  # empty: the next program finds free space by itself
        return self._space.end

    def _store(self) -> dict[int, heap.Value]:
        """Return the properties of the store (2.4.3)."""
        out: dict[int, heap.Value] = {
            0x0FF90102: self._key,  # RecordKey
            0x0E340102: b"\1\0\0\0" + self._key + b"\1\0\0\0",  # ReplicaVersions
            0x0E380003: 0,  # ReplicaFlags
            DISPLAY_NAME: self._display_name,
            0x35DF0003: _VALID_FOLDERS,
            0x6633000B: True,  # no restrictions
            0x67FF0003: crc(self._password.encode("cp1252", "replace")) if self._password else 0,
        }
        for tag, nid in ((0x35E00102, _IPM), (0x35E30102, _DELETED), (0x35E70102, _FINDER)):
            out[tag] = bytes(4) + self._key + nid.to_bytes(4, "little")
        return out
