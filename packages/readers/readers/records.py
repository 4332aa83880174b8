"""Words and limits that readers and their callers share."""

from __future__ import annotations

import enum
from dataclasses import dataclass, fields
from typing import Protocol

# Content hash of a message without any field (readers.mail.eml), which identifies nothing: sha256 of seven fields, each
# after its length in eight bytes.
NO_FIELDS = bytes.fromhex("d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb")


class Kind(enum.StrEnum):
    """Origin of an item (glossary)."""

    LOOSE_FILE = "loose_file"
    MESSAGE = "message"  # inside a mail store
    ATTACHMENT = "attachment"  # child of a message
    EMBEDDED_OBJECT = "embedded_object"  # child that a document carries
    ARCHIVE_MEMBER = "archive_member"  # inside an archive


class TextState(enum.StrEnum):
    """State of an item's text."""

    OK = "ok"
    GUESSED = "guessed"  # its charset was detected, and may be another one
    PARTIAL = "partial"  # known to be incomplete; an exception has the reason
    EMPTY = "empty"
    NO_TEXT_LAYER = "no_text_layer"
    ENCRYPTED = "encrypted"
    UNSUPPORTED = "unsupported"
    FAILED = "failed"
    TRUNCATED_BY_LIMIT = "truncated_by_limit"


class Limits(Protocol):
    """Limits of reading one document."""

    @property
    def parse_bytes(self) -> int:
        """Bytes of a single message or document that must be parsed whole."""

    @property
    def text_characters(self) -> int:
        """Characters of text taken from one item."""

    @property
    def expansion_ratio(self) -> float:
        """Highest ratio of extracted to stored bytes, above `expansion_floor`."""

    @property
    def expansion_floor(self) -> int:
        """Extracted bytes that are always allowed."""

    @property
    def item_seconds(self) -> float:
        """Seconds for one item …"""

    @property
    def item_seconds_per_mb(self) -> float:
        """… and for each 10⁶ bytes of it; trying passwords and converting take a part of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedLimits:
    """Limits as plain values."""

    parse_bytes: int = 64_000_000
    text_characters: int = 50_000_000
    expansion_ratio: float = 100.0
    expansion_floor: int = 32_000_000
    item_seconds: float = 60.0
    item_seconds_per_mb: float = 2.0

    @classmethod
    def of(cls, limits: Limits) -> FixedLimits:
        """Return the values of these limits."""
        return cls(**{one.name: getattr(limits, one.name) for one in fields(cls)})


_MOST_NAMES = 200_000


class Siblings:
    """Counter of siblings with the same name: a child is identified by its position among them. Names after the first
    200,000 children are not compared, so that memory stays bounded."""

    __slots__ = ("_count", "_seen")

    def __init__(self) -> None:
        self._count = 0
        self._seen: dict[bytes, int] = {}

    def occurrence(self, name: bytes) -> int:
        """Return 1 for the first child of this name, 2 for the next one …; children are passed in order."""
        self._count += 1
        if self._count > _MOST_NAMES:
            return 1
        occurrence = self._seen.get(name, 0) + 1
        self._seen[name] = occurrence
        return occurrence
