"""Folders: a property context and three tables each ([MS-PST] 2.4.4)."""

from __future__ import annotations

from collections.abc import Iterable

from dataset_gen.formats.pst import tags
from dataset_gen.formats.pst.blocks import Blocks, SubNode
from dataset_gen.formats.pst.columns import ASSOCIATED, CONTENTS, HIERARCHY
from dataset_gen.formats.pst.properties import Properties, Value, write_properties
from dataset_gen.formats.pst.table import Columns, TableContext

FOLDER, SEARCH_FOLDER, MESSAGE = 0x02, 0x03, 0x04  # types of nodes: the lower five bits of their numbers
_HIERARCHY, _CONTENTS, _ASSOCIATED = 0x0D, 0x0E, 0x0F
TEMPLATES = {0x60D: HIERARCHY, 0x60E: CONTENTS, 0x60F: ASSOCIATED}
_TEMPLATE_OF = {_HIERARCHY: 0x60D, _CONTENTS: 0x60E, _ASSOCIATED: 0x60F}


class Nodes:
    """The nodes of a store, for its node B-tree."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.entries: list[bytes] = []
        self.templates: dict[int, tuple[int, int]] = {}

    def add(self, nid: int, data: int, sub: int = 0, parent: int = 0) -> None:
        """A node: its number, block ids of data and subnodes, the folder it is in."""
        entry = b"".join(n.to_bytes(8, "little") for n in (nid, data, sub, parent))
        self.entries.append(nid.to_bytes(4, "big") + entry)

    def properties(self, nid: int, values: Properties, parent: int = 0, inside: Iterable[SubNode] = ()) -> None:
        """A node that is a property context."""
        self.add(nid, *write_properties(self.blocks, values, inside), parent)

    def template(self, nid: int, columns: Columns) -> None:
        """A table without rows; folders' own empty tables are this one again."""
        self.templates[nid] = TableContext(self.blocks, columns).finish()
        self.add(nid, *self.templates[nid])

    def table(self, nid: int, template: int, table: TableContext | None) -> None:
        """A node that is a table."""
        if table is None or table.count == 0:
            data, sub = self.templates[template]
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
        self.contents: TableContext | None = None
        self.unread = 0

    def add(self, blocks: Blocks, nid: int, shown: Properties, *, read: bool) -> None:
        """A message's row."""
        if self.contents is None:
            self.contents = TableContext(blocks, CONTENTS)
        self.contents.row(nid, shown)
        self.unread += not read

    def finish(self, nodes: Nodes) -> dict[int, Value]:
        """Write the folder and all beneath it; returns what its row in the folder above says."""
        below = TableContext(nodes.blocks, HIERARCHY)
        for folder in sorted(self.folders.values(), key=lambda f: f.nid):
            below.row(folder.nid, folder.finish(nodes))
        values: dict[int, Value] = {
            tags.DISPLAY_NAME: self.name,
            tags.CONTENT_COUNT: self.contents.count if self.contents else 0,
            tags.UNREAD_COUNT: self.unread,
            tags.SUBFOLDERS: bool(self.folders),
        }
        if self.container_class is not None:
            values[tags.CONTAINER_CLASS] = self.container_class
        nodes.properties(self.nid, values, self.parent)
        kinds = (_HIERARCHY, below), (_CONTENTS, self.contents), (_ASSOCIATED, None)
        for kind, table in kinds:
            nodes.table(self.nid & ~0x1F | kind, _TEMPLATE_OF[kind], table)
        return values | {tags.HIDDEN_COUNT: 0, tags.HIDDEN_UNREAD: 0}


class SearchFolder(Folder):
    """The empty search folder for spam that every store has (2.7.1)."""

    def finish(self, nodes: Nodes) -> dict[int, Value]:
        """Write it with the nodes that belong to it."""
        values: dict[int, Value] = {
            tags.DISPLAY_NAME: self.name,
            tags.CONTENT_COUNT: 0,
            tags.UNREAD_COUNT: 0,
            tags.SUBFOLDERS: False,
        }
        nodes.properties(self.nid, values, self.parent)
        base = self.nid & ~0x1F
        nodes.add(base | 0x06, 0)  # queue of updates
        nodes.properties(base | 0x07, {tags.SEARCH_FLAGS: 0})  # criteria: none
        nodes.table(base | 0x10, 0x610, None)
        return values
