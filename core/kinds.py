"""What items and their texts can be: names that commands offer before anything is loaded that works with them."""

from __future__ import annotations

import enum

ANY_EXCEPTION = "any"  # in place of an exception's code


class Kind(enum.StrEnum):
    """How an item came to be (glossary)."""

    LOOSE_FILE = "loose_file"
    MESSAGE = "message"  # inside a mail store
    ATTACHMENT = "attachment"  # child of a message
    EMBEDDED_OBJECT = "embedded_object"  # child that a document carries
    ARCHIVE_MEMBER = "archive_member"  # inside an archive


class TextState(enum.StrEnum):
    """What became of an item's text."""

    OK = "ok"
    GUESSED = "guessed"  # in a charset that was detected, and may well be another
    PARTIAL = "partial"  # known to be incomplete; an exception says why
    EMPTY = "empty"
    NO_TEXT_LAYER = "no_text_layer"
    ENCRYPTED = "encrypted"
    UNSUPPORTED = "unsupported"
    FAILED = "failed"
    TRUNCATED_BY_LIMIT = "truncated_by_limit"
