"""Outlook's mail stores, PST and OST ([MS-PST]): containers whose messages are extracted in canonical form.

Our own reader reads stores in the Unicode format, libpff all others (ANSI, pages of 4,096 bytes, cyclic coding);
docs/dev/decisions.md (20) explains why. The ordinal of a message is its running number over the whole store, recovered
messages after all others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress
from typing import ClassVar

from msgspec import Struct

from readers import clean
from readers.base import Child, ContainerHandler, Declared, MemorySource, Part, Source, Text
from readers.errors import DocumentError, ExceptionCode
from readers.last import LARGEST
from readers.mail_form import store_name, write_message
from readers.outlook.mapi.fields import LEFT_OF_FIELDS
from readers.outlook.mapi.form import FormReader, conversation_of, note_in_child
from readers.outlook.pst.file import PERMUTED, UNICODE, PstFile, read_header
from readers.outlook.pst.libpff import LibpffStore
from readers.outlook.pst.store import Folder, PstStore, Walk
from readers.records import FixedLimits, Kind, Limits, TextState
from readers.rest import AFTER_CONTENT, rest

_MAX_NAMES = 1_000  # names of empty folders in the metadata


Store = PstStore | LibpffStore


class PstHandler(ContainerHandler):
    """A mail store; its messages are its children, named by folders and subject."""

    name = "pst"
    splits = True
    declared = Declared(
        title="Outlook mail stores",
        extensions=("pst", "ost"),
        metadata=("password", "empty_folders"),
        children="messages folder by folder, named by folders and subject; their metadata has `folder`, `conversation` "
        "and the properties of appointments, meetings and tasks (`location`, `start`, `end`, `task_owner`, "
        "`task_state`); the fields of a contact precede its note; then messages in no folder, in a folder "
        "`recovered`",
        announces="the folders' tables and the index of the store",
        leaves_out=(
            LEFT_OF_FIELDS,
            "place and times of appointments and tasks in stores in the ANSI format and OST files with pages of 4,096 bytes",
            "search folders and hidden items (views, forms, rules)",
            "recovered messages of stores in the ANSI format and of OST files with pages of 4,096 bytes, if the "
            "library that reads these finds none",
            "names of empty folders beyond the first 1,000",
        ),
    ).alone()

    def announced(self, source: Source) -> int | None:
        """Return the number of messages in all folders' tables and in none; None if some may be missing because the
        store's index is damaged. Raises DocumentError if it cannot be opened."""
        with _Open(source, FixedLimits()) as opened:
            count = opened.count()
            return None if opened.incomplete else count

    def parts(self, source: Source, target_bytes: int) -> list[Part]:
        """Return ranges of ordinals with about the same number of messages."""
        with _Open(source, FixedLimits()) as opened:
            count = opened.count()
        pieces = min(count, -(-source.size // max(1, target_bytes)))
        if pieces < 2:
            return []
        cuts = [count * i // pieces for i in range(pieces + 1)]
        return [Part(start=a, stop=b, announced=b - a) for a, b in itertools.pairwise(cuts)]

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield messages in order: folders depth first, then those that are in none, in a folder "recovered". Raises at
        the end the damage of the store itself."""
        with _Open(source, limits) as opened:
            start, stop = (part.start, part.stop) if part else (0, opened.count())
            for ordinal, path, nid in opened.messages(start, stop):
                yield opened.child(ordinal, path, nid)
            last = stop >= opened.ordinary and stop >= opened.count()
            if last and (damage := opened.damage()):
                raise damage
        header = read_header(source)
        if last and header.version <= UNICODE:
            with source.open() as file:
                yield from rest(file, header.size, source.size, AFTER_CONTENT, "mail store", kind=Kind.EMBEDDED_OBJECT)

    def text(self, source: Source, limits: Limits) -> Text:
        """Return no text: a mail store has none of its own. The metadata reports whether it has a password, which
        protects nothing, and the folders without messages, as far as they can be read."""
        with _Open(source, limits) as opened:
            out = Text(state=TextState.EMPTY, metadata={"password": True} if opened.store.password else {})
            with suppress(DocumentError):  # damage is reported with the children
                if names := list(itertools.islice(_empty(opened.store), _MAX_NAMES)):
                    out.metadata["empty_folders"] = names
        return out


class _Known(Struct, frozen=True):
    """Folders and index of the store that was read last. It is read for the number of messages it announces, for the
    messages, and for its own metadata, and walking all folders is most of the work for a small one."""

    source: Source  # compared by identity; a small one contains its bytes
    walk: Walk
    index_damage: str | None
    incomplete: bool
    recovered: Folder | None


class _Open:
    """A store that is being read."""

    _known: ClassVar[_Known | None] = None

    def __init__(self, source: Source, limits: Limits) -> None:
        header = read_header(source)
        self._limits = limits
        self._own: PstFile | None = None
        self._libpff: LibpffStore | None = None
        if header.version == UNICODE and header.crypt <= PERMUTED:
            self._own = PstFile(source, header)
            self.store: Store = PstStore(self._own, limits)
        else:
            self._libpff = LibpffStore(source, limits)
            self.store = self._libpff
        self._recovered: Folder | None = None
        self._source = source
        self._truncated = header.version <= UNICODE and header.size > source.size
        known = _Open._known
        if known is not None and known.source is source and isinstance(self.store, PstStore) and self._own is not None:
            self.store.walked, self._recovered = known.walk, known.recovered
            self._own.index_damage, self._own.incomplete = known.index_damage, known.incomplete

    def _keep(self) -> None:
        if isinstance(self.store, PstStore) and self._own is not None and (walk := self.store.walked) is not None:
            state = (self._own.index_damage, self._own.incomplete, self._recovered)
            small = not isinstance(self._source, MemorySource) or self._source.size <= LARGEST
            _Open._known = _Known(self._source, walk, *state) if small else None

    def __enter__(self) -> _Open:
        return self

    def __exit__(self, *_: object) -> None:
        self._keep()
        for opened in (self._own, self._libpff):
            if opened is not None:
                opened.close()

    @property
    def ordinary(self) -> int:
        """Number of messages in all folders."""
        return sum(len(folder.messages) for folder in self.store.folders)

    def recovered(self) -> Folder:
        """Return the messages in no folder; this reads every page of the index."""
        if self._recovered is None:
            self._recovered = self.store.recovered()
        return self._recovered

    def count(self) -> int:
        """Return the number of all messages."""
        return self.ordinary + len(self.recovered().messages)

    def messages(self, start: int, stop: int) -> Iterator[tuple[int, tuple[str, ...], int]]:
        """Yield (ordinal, folder, id) of the messages with these ordinals."""
        base = 0
        for folder in self.store.folders:
            count = len(folder.messages)
            for i in range(max(0, start - base), min(count, stop - base)):
                yield base + i, folder.path, folder.messages[i]
            base += count
        if stop > base:
            folder = self.recovered()
            for i in range(max(0, start - base), min(len(folder.messages), stop - base)):
                yield base + i, folder.path, folder.messages[i]

    def child(self, ordinal: int, path: tuple[str, ...], nid: int) -> Child:
        """Return one message; a failed child if it cannot be read at all."""
        if self._own is not None:
            self._own.damage = None
        reader = FormReader(self._limits)
        try:
            message = self.store.message(nid)
            form = reader.form(message)
        except DocumentError as e:
            error = DocumentError(e.code, f"message {ordinal} in {'/'.join(path)[:200]}: {e.detail}")
            return Child(name=store_name(path, ""), kind=Kind.MESSAGE, ordinal=ordinal, error=error, emit=False)
        damage = self._own.damage if self._own is not None else None
        notes = {"folder": clean.value("/".join(path)), "conversation": conversation_of(message.properties)}
        child = Child(
            name=store_name(path, form.subject),
            kind=Kind.MESSAGE,
            ordinal=ordinal,
            data=write_message(form),
            error=reader.error or damage,
            media_type="message/rfc822",
            notes={key: value for key, value in notes.items() if value},
        )
        return note_in_child(child, form)

    @property
    def incomplete(self) -> bool:
        """Whether there may be messages that cannot be found."""
        return self._truncated if self._own is None else self._own.incomplete

    def damage(self) -> DocumentError | None:
        """Return the damage of folders and index. Messages of damaged folders are recovered, so none is missing because
        of it if the whole index can be read."""
        damage = self.store.damage or (None if self._own is None else self._own.index_damage)
        if damage is None and not self._truncated:
            return None
        code = ExceptionCode.TRUNCATED if self._truncated else ExceptionCode.CORRUPT
        detail = damage or "the store is shorter than its header states"
        return DocumentError(code, detail, missing=None if self.incomplete else 0)


def _empty(store: Store) -> Iterator[str]:
    empty = [folder.path for folder in store.folders if not folder.messages]
    return (name for path in (*empty, *store.aside) if (name := clean.value("/".join(path))))
