"""Reasons why a document cannot be read, as codes that are recorded with it."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Protocol


class ExceptionCode(enum.StrEnum):
    """Every code an exception row may carry; `edbench job show` counts by these."""

    CORRUPT = "corrupt"  # the bytes do not follow the format
    TRUNCATED = "truncated"  # the bytes end before the format allows it
    ENCRYPTED = "encrypted"  # a password is needed
    UNSUPPORTED = "unsupported"  # recognised, but a feature it uses cannot be read
    # Must be parsed whole and is over the parse limit, or has more of something than its reader takes.
    TOO_LARGE = "too_large"
    NESTING_LIMIT = "nesting_limit"  # containers inside containers deeper than the limit
    EXPANSION_LIMIT = "expansion_limit"  # expands beyond the allowed ratio or bytes (a bomb)
    CHILDREN_LIMIT = "children_limit"  # more children under one loose file than allowed
    TIME_LIMIT = "time_limit"  # one loose file took more seconds in all than allowed
    DEATHS_LIMIT = "deaths_limit"  # it cost more slots their lives than allowed
    TIMEOUT = "timeout"  # still being read at the item's deadline, twice
    KILLED_PARSER = "killed_parser"  # the slot died twice while reading it
    MEMORY = "memory"  # reading it needed more memory than a slot may have
    HANDLER_ERROR = "handler_error"  # the parser failed in an unforeseen way; the detail has the reason
    UNSAFE_NAME = "unsafe_name"  # absolute, with "..", NUL or over-long; kept in the row, never on disk
    ZERO_BYTES = "zero_bytes"  # the item has no bytes at all
    UNREADABLE = "unreadable"  # permission denied or an I/O error on this one source file
    VANISHED = "vanished"  # was listed by the walk and is gone now
    SYMLINK = "symlink"  # a link in the source; recorded, never followed
    SPECIAL_FILE = "special_file"  # FIFO, socket or device; recorded, never opened
    HASH_DIFFERS = "hash_differs"  # read again, its bytes are not those that were hashed, or that a load file names
    # A source file was hashed, then changed: its text or its children are not those of the hashed bytes.
    CHANGED_DURING_PROCESSING = "changed_during_processing"
    WITHHELD = "withheld"  # in a production: no native is written, because it contains what is not produced
    # In a load file: it names neither native nor text of this record, or one that does not exist.
    NO_NATIVE = "no_native"
    REMAINDER_UNKNOWN = "remainder_unknown"  # a container was cut short: children are missing


class DocumentError(Exception):
    """An error by which one document cannot be read (fully); recorded for its item.

    `missing` is the number of announced children that are lost, if the format gives it."""

    def __init__(self, code: ExceptionCode, detail: str, *, missing: int | None = None) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.missing = missing

    def __reduce__(self) -> tuple[object, ...]:
        """Support pickling across process boundaries (`inspect`), for which the text alone is not enough."""
        return _remade, (type(self), self.code, self.detail, dict(self.__dict__))


# Most errors, by their detail.
corrupt = partial(DocumentError, ExceptionCode.CORRUPT)
truncated = partial(DocumentError, ExceptionCode.TRUNCATED)
encrypted = partial(DocumentError, ExceptionCode.ENCRYPTED)
unsupported = partial(DocumentError, ExceptionCode.UNSUPPORTED)
too_large = partial(DocumentError, ExceptionCode.TOO_LARGE)
expansion_limit = partial(DocumentError, ExceptionCode.EXPANSION_LIMIT)


class PagesWithoutText(DocumentError):
    """Some pages show pictures and have no text, while others have text; not a failure if OCR reads them."""


class FieldUnread(DocumentError):
    """The value of a metadata field cannot be determined, so the field is absent; no text is missing."""


class _Failing(Protocol):
    error: DocumentError | None


@contextmanager
def keep_error(owner: _Failing) -> Iterator[None]:
    """Keep a document error of the block in `owner`, if that has none yet."""
    try:
        yield
    except DocumentError as error:
        owner.error = owner.error or error


def _remade(kind: type[DocumentError], code: ExceptionCode, detail: str, state: dict[str, object]) -> DocumentError:
    """Restore a pickled document error."""
    error = kind(code, detail)
    error.__dict__.update(state)
    return error
