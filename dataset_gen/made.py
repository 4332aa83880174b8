"""What a builder hands back: the bytes, and the ground truth about them, by the columns of a manifest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from dataset_gen.mix import Profile
from dataset_gen.rng import Dice
from readers.records import Kind


# Not frozen, though nothing changes them: a corpus has millions, and a frozen one takes three times as long to make.
@dataclass(slots=True, kw_only=True)
class Truth:
    """What has to be found out about one item, wherever it is stored."""

    media_type: str
    size: int  # bytes
    sha256: bytes
    content: bytes  # hash over its content, whatever compressor packed it
    container: bool = False
    children: tuple[Placed, ...] = ()
    pages: int | None = None  # where the format knows
    characters: int | None = None  # of its text, about; None where it has none
    terms: tuple[str, ...] = ()
    fault: str | None = None
    exceptions: tuple[str, ...] = ()  # those that do not follow from its place or its name
    announced: int | None = None  # containers that announce their children
    failed: int | None = None  # containers: children expected less children that have a row
    states: tuple[str, ...] = ()  # that its text may be in; (): whatever it comes to


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

    def spoiled(self, fault: str, *exceptions: str) -> Made:
        """The same with a fault noted."""
        return Made(self.data, replace(self.truth, fault=fault, exceptions=exceptions))


def content_of(own: Iterable[bytes], children: Iterable[Placed]) -> bytes:
    """Hash over an item's own uncompressed pieces and its children's names and contents."""
    state = hashlib.sha256()
    for piece in own:
        state.update(b"%d:" % len(piece))
        state.update(piece)
    for child in children:
        state.update(b"%d:%b%b" % (len(child.name), child.name, child.truth.content))
    return state.digest()


def placed(kind: Kind, named: Iterable[tuple[str, Made]]) -> tuple[Placed, ...]:
    """Children in this order, each known by its position."""
    return tuple(
        Placed(name=name.encode(), ordinal=position, kind=kind, truth=made.truth)
        for position, (name, made) in enumerate(named)
    )


def leaf(data: bytes, media_type: str, **known: Any) -> Made:
    """An item whose bytes are its content: no compression, no children. `known`: other fields of `Truth`."""
    digest = hashlib.sha256(data).digest()
    return Made(data, Truth(media_type=media_type, size=len(data), sha256=digest, content=digest, **known))


def branch(
    data: bytes, media_type: str, *, own: Iterable[bytes] = (), children: tuple[Placed, ...] = (), **known: Any
) -> Made:
    """An item that is compressed or holds others; `own` are its uncompressed pieces, children left out. `known`: other fields
    of `Truth`."""
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
    """Makes the documents that others hold."""

    profile: Profile

    def order(self, fmt: str, key: str, size: int, level: int = 0) -> Order:
        """The order for a document of that format, seed key and about that many bytes, `level` items deep."""

    def document(self, fmt: str, key: str, size: int, level: int = 0) -> Made:
        """That document."""

    def member(self, dice: Dice, key: str, level: int, largest: int) -> tuple[str, str, int]:
        """Format, key and size of an archive's next member; a shared document has a key of its own."""

    def size_of(self, dice: Dice, fmt: str, largest: int) -> int:
        """A size for a document of that format."""


@dataclass(slots=True, kw_only=True)  # not frozen: it is made as often as documents are
class Order:
    """One document to be made; everything in it follows from these."""

    maker: Maker
    dice: Dice
    key: str  # children derive theirs from it
    size: int  # bytes wanted, about
    terms: tuple[str, ...]  # to be planted in its text
    level: int = 0  # archives around it

    def child(self, fmt: str, index: int, size: int) -> Made:
        """A document inside this one."""
        return self.maker.document(fmt, f"{self.key}/{index}", size, self.level + 1)

    def part(self, index: int, size: int) -> Order:
        """The order for a message inside this mail store."""
        return self.maker.order("eml", f"{self.key}/{index}", size, self.level + 1)


Row = dict[str, Any]

CUSTODIAN = "custodian"
CONTAINER_PATH = "container_path"  # display names; the first is the loose file's path relative to DIR/data
NAME = "name"  # bytes
ORDINAL = "ordinal"  # bytes, as core.places
KIND = "kind"
CONTAINER = "container"
MEDIA_TYPE = "media_type"
BYTES = "bytes"
SHA256 = "sha256"
PARENT = "parent"  # row number; -1 for loose files
FAMILY = "family"  # row number of the topmost non-container item; -1 for containers outside any family
DEPTH = "depth"  # 0 for loose files
PAGES = "pages"  # null where the format does not know
CHARACTERS = "characters"  # of its text, about; null where it has none
TEXT_STATES = (
    "text_states"  # that its text may be in; null: whatever it comes to. In others than `ok` terms may be missing
)
SYSTEM = "system"  # on the list of known software files
DUPLICATE_GROUP = "duplicate_group"  # row number of the first item with the same bytes; null when there is one only
TERMS = "terms"  # planted tokens and phrases that a search has to find in it
FAULT = "fault"  # kind of fault; null for sound items
EXCEPTIONS = "exceptions"  # codes
ANNOUNCED = "announced"  # containers: children announced; null where the format does not
FAILED = "failed"  # containers: children expected less children that have a row; null for others and unopened ones
CONTENT = "content"  # hash over its content, whatever compressor packed it
TEXT_OF = "text_of"  # loose documents: key of the one whose text it has, with a changed sentence here and there if near; else null
LANGUAGE = "language"  # of real text (profile languages), as ISO 639 or zh_Hans, zh_Hant; else null
