"""What a builder hands back: the bytes, and the ground truth about them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from readers.records import Kind


# Not frozen, though nothing changes them: a corpus has millions, and a frozen one takes three times as long to make.
@dataclass(slots=True, kw_only=True)
class Truth:
    """What has to be found out about one item, wherever it lies."""

    media_type: str
    size: int  # bytes
    sha256: bytes
    content: bytes  # hash over what it says, whatever compressor packed it
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


def leaf(
    data: bytes,
    media_type: str,
    *,
    pages: int | None = None,
    characters: int | None = None,
    terms: tuple[str, ...] = (),
) -> Made:
    """An item whose bytes are what it says: no compression, no children."""
    digest = hashlib.sha256(data).digest()
    truth = Truth(
        media_type=media_type,
        size=len(data),
        sha256=digest,
        content=digest,
        pages=pages,
        characters=characters,
        terms=terms,
    )
    return Made(data, truth)


def branch(
    data: bytes,
    media_type: str,
    *,
    own: Iterable[bytes] = (),
    children: tuple[Placed, ...] = (),
    pages: int | None = None,
    characters: int | None = None,
    terms: tuple[str, ...] = (),
    container: bool = False,
    announced: int | None = None,
) -> Made:
    """An item that is compressed or holds others; `own` are its uncompressed pieces, children left out."""
    truth = Truth(
        media_type=media_type,
        size=len(data),
        sha256=hashlib.sha256(data).digest(),
        content=content_of(own, children),
        container=container,
        children=children,
        pages=pages,
        characters=characters,
        terms=terms,
        announced=announced,
        failed=0 if container else None,
    )
    return Made(data, truth)
