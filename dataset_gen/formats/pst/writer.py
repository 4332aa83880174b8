"""`PstWriter`: a store, its folders, its messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import IO

from dataset_gen.formats.pst import tags
from dataset_gen.formats.pst.attachments import ATTACHMENT_TABLE, Attached
from dataset_gen.formats.pst.blocks import Blocks, Crypt
from dataset_gen.formats.pst.columns import ATTACHMENTS, RECIPIENTS, SEARCH
from dataset_gen.formats.pst.folders import FOLDER, MESSAGE, SEARCH_FOLDER, TEMPLATES, Folder, Nodes, SearchFolder
from dataset_gen.formats.pst.header import DLIST_OFFSET, FIRST_NUMBERS, density_list, header
from dataset_gen.formats.pst.message import RECIPIENT_TABLE, Extras, write_message
from dataset_gen.formats.pst.named import Names
from dataset_gen.formats.pst.pages import BBT, NBT, checksum, write_tree
from dataset_gen.formats.pst.properties import Value
from dataset_gen.formats.pst.space import Space
from readers.mail_form import MailAttachment, MailForm

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
    message, 24 bytes a block, and what one message has besides attachments given as `Attached`.

    `key` makes the store known to others; two that may be open at once should differ in it. `password` is not a secret
    and encrypts nothing: programs that honour it ask before they show the store.
    """

    def __init__(
        self,
        file: IO[bytes],
        *,
        display_name: str = "Outlook Data File",
        key: bytes = b"\x01" * 16,
        crypt: Crypt = Crypt.PERMUTE,
        password: str | None = None,
    ) -> None:
        self._file = file
        self._space = Space(file)
        self._blocks = Blocks(self._space, crypt)
        self._nodes = Nodes(self._blocks)
        self._display_name = display_name
        self._key = key
        self._password = password
        self.names = Names()
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
        for nid, columns in TEMPLATES.items():
            self._nodes.template(nid, columns)
        self._nodes.template(0x610, SEARCH)
        self._nodes.template(ATTACHMENT_TABLE, ATTACHMENTS)
        self._nodes.template(RECIPIENT_TABLE, RECIPIENTS)

    def folder(self, path: Sequence[str], container_class: str = "IPF.Note") -> int:
        """Make sure that a folder and those above it exist; returns its number. The empty path is the top folder."""
        return self._folder(path, container_class).nid

    def _folder(self, path: Sequence[str], container_class: str = "IPF.Note") -> Folder:
        at = self._ipm
        for name in path:
            below = at.folders.get(name)
            if below is None:
                self._folders += 1
                below = at.folders[name] = Folder(self._folders << 5 | FOLDER, name, at.nid, container_class)
            at = below
        return at

    def paths(self) -> Iterator[tuple[str, ...]]:
        """All folders below the top one as readers meet them: depth first, a folder before those in it; first ()."""
        waiting: list[tuple[tuple[str, ...], Folder]] = [((), self._ipm)]
        while waiting:
            path, at = waiting.pop()
            yield path
            waiting += [((*path, name), folder) for name, folder in reversed(at.folders.items())]

    def add(
        self,
        path: Sequence[str],
        form: MailForm,
        extras: Extras | None = None,
        attachments: Iterable[MailAttachment | Attached] | None = None,
    ) -> int:
        """Write a message into a folder and return its number; `attachments` take the place of the form's.

        Raises ValueError for an attachment or property of 2 GB and more.
        """
        folder = self._folder(path)
        written = write_message(self._blocks, form, extras, attachments)
        self.messages += 1
        nid = (FIRST_NUMBERS[MESSAGE] + self.messages) << 5 | MESSAGE
        self._nodes.add(nid, written.data, written.sub, folder.nid)
        folder.add(self._blocks, nid, written.shown, read=extras is None or extras.read)
        return nid

    def finish(self) -> int:
        """Write folders, tables, B-trees and header; returns the size of the file. Nothing may be added after it."""
        nodes = self._nodes
        nodes.properties(_STORE, self._store())
        nodes.properties(_NAME_MAP, self.names.properties())
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
        self._file.write(density_list(next_page))
        return self._space.end

    def _store(self) -> dict[int, Value]:
        """The properties of the store (2.4.3)."""
        out: dict[int, Value] = {
            tags.RECORD_KEY: self._key,
            tags.REPLICA_VERSIONS: b"\1\0\0\0" + self._key + b"\1\0\0\0",
            tags.REPLICA_FLAGS: 0,
            tags.DISPLAY_NAME: self._display_name,
            tags.VALID_FOLDERS: _VALID_FOLDERS,
            tags.NO_RESTRICTIONS: True,
            tags.PASSWORD: checksum(self._password.encode("cp1252", "replace")) if self._password else 0,
        }
        for tag, nid in ((tags.IPM_SUBTREE, _IPM), (tags.WASTEBASKET, _DELETED), (tags.FINDER, _FINDER)):
            out[tag] = bytes(4) + self._key + nid.to_bytes(4, "little")
        return out
