"""Links messages into threads: J. Zawinski, "message threading" (jwz.org/doc/threading.html, 1997-2002), over numbers.

A node is a Message-ID, of a message or only referred to; copies of a message are one node. The most certain links come
first: each message is placed below the last id of its own References, or its In-Reply-To; ids within References below
those before them; a message with neither where its conversation index puts it ([MS-OXOMSG] 2.2.1.3), and, if requested,
below the first message that is no answer and has its subject. A link that would close a cycle is omitted, so
circular References do no harm. Only topmost nodes are linked below others, so a node's top is found in nearly constant
time (union-find), however long a chain is. The result follows from the messages, not from their order. About 1 kB of
memory for each message."""

from __future__ import annotations

import enum
import hashlib
import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

NO_ID = "\0"  # begins keys that are no Message-ID; metadata contains no NUL
_NONE = -1
_UNDATED = "~"  # after every date
_HEADER, _ANSWER = 44, 10  # hexadecimal digits of a conversation index: of its header, and of each answer
_PREFIX = re.compile(
    r"\s*(?:(?:re|fw|fwd|aw|wg|sv|vs|antw|rv|tr)\s*(?:\[\d{1,4}\]\s*)?:\s*|\[[^\]\[]{1,80}\]\s*)+", re.IGNORECASE
)
_REPLY = re.compile(r"\s*(?:\[[^\]\[]{1,80}\]\s*)*(?:re|aw|sv|vs|antw)\s*(?:\[\d{1,4}\]\s*)?:", re.IGNORECASE)


class By(enum.StrEnum):
    """The field that placed a message below another, or at the top of its thread."""

    REFERENCES = "references"
    IN_REPLY_TO = "in_reply_to"
    CONVERSATION = "conversation"
    SUBJECT = "subject"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Mail:
    """The headers of a message that place it in a thread. `key`: its Message-ID, else a value that its copies share."""

    key: str
    references: tuple[str, ...] = ()
    in_reply_to: str = ""
    conversation: str = ""  # conversation index in hexadecimal
    subject: str = ""
    sent: str = ""  # ISO 8601 in UTC


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a message: `parent` is the node of the nearest message above it, whatever is missing in between, and
    `depth` the number of messages above it."""

    node: int
    thread: uuid.UUID
    parent: int | None
    depth: int
    by: By


class Threads:
    """The nodes of all messages and ids."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._keys: list[str] = []
        self._parent: list[int] = []
        self._top: list[int] = []  # union-find: a node on the way to the top of its tree
        self._by: list[By] = []
        self._real = bytearray()

    def link(self, messages: Iterable[Mail], *, subjects: bool) -> list[Place]:
        """Return the place of each message, in the given order."""
        given = list(messages)
        nodes = [self._node(mail.key, real=True) for mail in given]
        order = sorted(range(len(given)), key=lambda n: _rank(given[n]))
        for number in order:
            self._own(nodes[number], given[number])
        for number in order:
            self._between(given[number].references)
        self._conversations([(nodes[number], given[number]) for number in order])
        if subjects:
            self._subjects([(nodes[number], given[number]) for number in order])
        return self._places(nodes)

    def _node(self, key: str, *, real: bool = False) -> int:
        number = self._numbers.setdefault(key, len(self._keys))
        if number == len(self._keys):
            self._keys.append(key)
            self._parent.append(_NONE)
            self._top.append(number)
            self._by.append(By.NOTHING)
            self._real.append(False)
        self._real[number] |= real
        return number

    def _find(self, node: int) -> int:
        top = self._top
        while top[node] != node:
            top[node] = top[top[node]]  # halves the path for later calls
            node = top[node]
        return node

    def _link(self, child: int, parent: int, by: By) -> None:
        """Link the child below the parent, unless it is linked already or this would close a cycle."""
        if self._parent[child] == _NONE and self._find(parent) != child:
            self._parent[child], self._top[child], self._by[child] = parent, parent, by

    def _own(self, node: int, mail: Mail) -> None:
        """Link by a message's own fields, which take precedence over those of other messages."""
        for ids, by in ((mail.references, By.REFERENCES), ((mail.in_reply_to,), By.IN_REPLY_TO)):
            for last in reversed([each for each in ids if each and each != mail.key]):
                self._link(node, self._node(last), by)
                if self._parent[node] != _NONE:
                    return

    def _between(self, references: Sequence[str]) -> None:
        for above, below in pairwise(references):
            if above != below:
                self._link(self._node(below), self._node(above), By.REFERENCES)

    def _conversations(self, messages: Sequence[tuple[int, Mail]]) -> None:
        at: dict[str, int] = {}
        for node, mail in messages:
            if mail.conversation:
                at.setdefault(mail.conversation, node)
        for node, mail in messages:
            if not mail.conversation or self._by[node] is not By.NOTHING:
                continue
            index = mail.conversation[:-_ANSWER]
            while len(index) >= _HEADER and index not in at:
                index = index[:-_ANSWER]
            if len(index) >= _HEADER:
                self._link(node, at[index], By.CONVERSATION)
            elif len(mail.conversation) > _HEADER:
                head = f"{NO_ID}{mail.conversation[:_HEADER]}"
                self._link(node, self._node(head), By.CONVERSATION)

    def _subjects(self, messages: Sequence[tuple[int, Mail]]) -> None:
        """Link answers that refer to nothing below the first message of their subject that is no answer, unless that
        is later than they are."""
        first: dict[str, tuple[int, str]] = {}
        for node, mail in messages:
            subject = base_subject(mail.subject)
            if subject and not _REPLY.match(mail.subject):
                first.setdefault(subject, (node, mail.sent))
        for node, mail in messages:
            if self._by[node] is By.NOTHING and not mail.references and _REPLY.match(mail.subject):
                above = first.get(base_subject(mail.subject))
                if above is not None and above[1] <= (mail.sent or _UNDATED):
                    self._link(node, above[0], By.SUBJECT)

    def _places(self, nodes: Sequence[int]) -> list[Place]:
        nearest: dict[int, tuple[int, int]] = {}  # node → nearest message above (or _NONE), messages above
        threads: dict[int, uuid.UUID] = {}
        out = []
        for node in nodes:
            above, depth = self._above(node, nearest)
            top = self._find(node)
            if top not in threads:
                key = self._keys[top].encode("utf-8", "surrogatepass")
                threads[top] = uuid.UUID(bytes=hashlib.sha256(key).digest()[:16])
            out.append(Place(node, threads[top], None if above == _NONE else above, depth, self._by[node]))
        return out

    def _above(self, node: int, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
        way = []
        while node not in known and self._parent[node] != _NONE:
            way.append(node)
            node = self._parent[node]
        known.setdefault(node, (_NONE, 0))
        for below in reversed(way):
            above, depth = known[node]
            known[below] = (node, depth + 1) if self._real[node] else (above, depth)
            node = below
        return known[node]


def base_subject(subject: str) -> str:
    """Return the subject without the prefixes that programs add to an answer, folded (RFC 5256, 2.1, and such prefixes
    in other languages)."""
    prefix = _PREFIX.match(subject)
    return " ".join(subject[prefix.end() if prefix else 0 :].lower().split())


def _rank(mail: Mail) -> tuple[str, str, tuple[str, ...], str, str, str]:
    """Return the sort key of a message. Messages that are equal in all of it have the same effect, so the order is the
    same whatever order was given."""
    return (mail.sent or _UNDATED, mail.key, mail.references, mail.in_reply_to, mail.conversation, mail.subject)
