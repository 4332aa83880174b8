"""Summary of what `inspect` found: counts by format, with text states and exceptions."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping
from typing import Any, TypedDict

import msgspec
from msgspec import Struct, field

from readers.listing import listed
from readers.registry import handler_for


class _Counted(TypedDict):
    media_type: str
    bytes: int
    text_state: str
    exceptions: list[str]
    parent: str | None
    children: dict[str, Any] | None


_COUNTED: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_Counted)


def counted(line: bytes) -> dict[str, Any]:
    """Decode the fields of a spooled line that are counted, not its text and metadata, which are most of it."""
    found: dict[str, Any] = _COUNTED.decode(line)
    return found


class FormatCount(Struct):
    """Items of one format."""

    items: int = 0
    bytes: int = 0
    states: Counter[str] = field(default_factory=Counter)  # by text state
    exceptions: Counter[str] = field(default_factory=Counter)  # by code; an item with two codes counts in both


class Summary(Struct):
    """Grows by a line of `inspect` at a time; of constant size."""

    titles: Mapping[str, str] = field(default_factory=dict)  # by media type; others are looked up
    formats: dict[str, FormatCount] = field(default_factory=dict)  # by title, or media type where no handler reads it
    loose_files: int = 0
    with_exceptions: int = 0  # items
    expected: int = 0  # children of everything that has some
    emitted: int = 0
    failed: int = 0
    remainders: int = 0  # items with an unknown number of children missing

    def take(self, line: Mapping[str, Any]) -> None:
        """Count one item."""
        media_type = line["media_type"]
        of = self.formats.setdefault(self.titles.get(media_type) or title_of(media_type), FormatCount())
        of.items += 1
        of.bytes += line["bytes"]
        of.states[line["text_state"]] += 1
        of.exceptions.update(line["exceptions"])
        self.loose_files += line["parent"] is None
        self.with_exceptions += bool(line["exceptions"])
        if children := line["children"]:
            self.emitted += children["emitted"]
            self.failed += children["failed"]
            self.remainders += children["remainder_unknown"]
            found = children["emitted"] + children["failed"]
            self.expected += found if children["announced"] is None else children["announced"]

    @property
    def items(self) -> int:
        return sum(of.items for of in self.formats.values())

    def total(self) -> FormatCount:
        """Return the counts of all formats together."""
        out = FormatCount()
        for of in self.formats.values():
            out.items += of.items
            out.bytes += of.bytes
            out.states.update(of.states)
            out.exceptions.update(of.exceptions)
        return out

    def by_items(self) -> list[tuple[str, FormatCount]]:
        """The formats, most items first."""
        return sorted(self.formats.items(), key=lambda entry: (-entry[1].items, entry[0]))


@functools.cache
def title_of(media_type: str) -> str:
    """Return the title of a format, or the media type itself if no handler declares it. Loads the handler."""
    listing = listed((handler_for(media_type),))
    return next((one.declared.title for one in listing if media_type in one.media_types), media_type)
