"""Result of a builder: the bytes, and the ground truth about them, by the columns of a manifest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from dataset_gen.mix import Profile
from dataset_gen.rng import Dice
from readers.errors import ExceptionCode
from readers.records import Kind


# Not frozen, though nothing changes them: a corpus has millions, and a frozen one takes three times as long to make.
@dataclass(slots=True, kw_only=True)
class Truth:
    """Ground truth about one item, wherever it is stored."""

    media_type: str
    size: int  # bytes
    sha256: bytes
    content: bytes  # hash over its content, whatever compressor packed it
    container: bool = False
    children: tuple[Placed, ...] = ()
    pages: int | None = None  # if the format knows
    characters: int | None = None  # of its text, about; None where it has none
    terms: tuple[str, ...] = ()
    fault: str | None = None
    exceptions: tuple[str, ...] = ()  # those that do not follow from its place or its name
    announced: int | None = None  # containers that announce their children
    failed: int | None = None  # containers: children expected less children that have a row
    states: tuple[str, ...] = ()  # allowed states of its text; (): any


@dataclass(slots=True, kw_only=True)
class Placed:
    """A child in its place."""

    name: bytes
    ordinal: int
    kind: Kind
    truth: Truth


@dataclass(slots=True)
class Made:
    """Bytes and truth; the bytes are dropped once they are packed into the parent."""

    data: bytes
    truth: Truth

    def spoiled(self, fault: str, *exceptions: ExceptionCode, **known: Any) -> Made:
        """Return the result with a fault and its consequences. `known`: other fields of `Truth`."""
        codes = tuple(code.value for code in exceptions)
        return Made(self.data, replace(self.truth, fault=fault, exceptions=codes, **known))


def content_of(own: Iterable[bytes], children: Iterable[Placed]) -> bytes:
    """Hash over an item's own uncompressed pieces and its children's names and contents."""
    state = hashlib.sha256()
    for piece in own:
        state.update(b"%d:" % len(piece))
        state.update(piece)
    for child in children:
        state.update(b"%d:%b%b" % (len(child.name), child.name, child.truth.content))
    return state.digest()


def placed(kind: Kind, named: Iterable[tuple[str, Made]], first: int = 0) -> tuple[Placed, ...]:
    """Return children in this order, numbered from `first`."""
    return tuple(
        Placed(name=name.encode(), ordinal=position, kind=kind, truth=made.truth)
        for position, (name, made) in enumerate(named, first)
    )


def leaf(data: bytes, media_type: str, **known: Any) -> Made:
    """Build an item whose bytes are its content: no compression, no children. `known`: other fields of `Truth`."""
    digest = hashlib.sha256(data).digest()
    return Made(data, Truth(media_type=media_type, size=len(data), sha256=digest, content=digest, **known))


def branch(
    data: bytes, media_type: str, *, own: Iterable[bytes] = (), children: tuple[Placed, ...] = (), **known: Any
) -> Made:
    """Build an item that is compressed or holds others; `own` are its uncompressed pieces, children left out. `known`:
    other fields of `Truth`."""
    truth = Truth(
        media_type=media_type,
        size=len(data),
        sha256=hashlib.sha256(data).digest(),
        content=content_of(own, children),
        children=children,
        failed=0 if known.get("container") else None,
        **known,
    )
    return Made(data, truth)


class Maker(Protocol):
    """The workshop as builders use it, for the documents inside theirs."""

    profile: Profile

    def order(self, fmt: str, key: str, size: int, level: int) -> Order:
        """Return the order for a document."""

    def document(self, fmt: str, key: str, size: int, level: int) -> Made:
        """Build a document."""

    def member(self, dice: Dice, key: str, level: int, largest: int) -> tuple[str, str, int]:
        """Return format, key and size of an archive's next member."""


@dataclass(slots=True, kw_only=True)  # not frozen: it is made as often as documents are
class Order:
    """One document to build; everything in it follows from these fields."""

    maker: Maker
    dice: Dice
    key: str  # children derive theirs from it
    size: int  # bytes wanted, about
    terms: tuple[str, ...]  # to be planted in its text
    level: int = 0  # archives around it

    def child(self, fmt: str, index: int, size: int) -> Made:
        """Build a document inside this one."""
        return self.maker.document(fmt, f"{self.key}/{index}", size, self.level + 1)

    def part(self, index: int, size: int) -> Order:
        """Return the order for a message inside this mail store."""
        return self.maker.order("eml", f"{self.key}/{index}", size, self.level + 1)
