"""Errors by who has to act on them.

A *document* error is recorded against one item and the job goes on; a *fault* means that the
system under the job is broken, so the job is suspended and nothing done is lost; a *usage* error
goes straight back to the person who typed the command.
"""

from __future__ import annotations

import enum


class ExceptionCode(enum.StrEnum):
    """Every code an exception row may carry; `edbench job show` counts by these."""

    CORRUPT = "corrupt"  # the bytes do not follow the format
    TRUNCATED = "truncated"  # the bytes end before the format says they may
    ENCRYPTED = "encrypted"  # a password is needed
    UNSUPPORTED = "unsupported"  # recognised, but a feature it uses cannot be read
    TOO_LARGE = (
        "too_large"  # must be parsed whole and is over the parse limit, or has more of something than its reader takes
    )
    NESTING_LIMIT = "nesting_limit"  # containers inside containers deeper than the limit
    EXPANSION_LIMIT = "expansion_limit"  # expands beyond the allowed ratio or bytes (a bomb)
    CHILDREN_LIMIT = "children_limit"  # more children under one loose file than allowed
    TIME_LIMIT = "time_limit"  # one loose file took more seconds in all than allowed
    DEATHS_LIMIT = "deaths_limit"  # it cost more slots their lives than allowed
    TIMEOUT = "timeout"  # still being read at the item's deadline, twice
    KILLED_PARSER = "killed_parser"  # the slot died twice while reading it
    MEMORY = "memory"  # reading it needed more memory than a slot may have
    HANDLER_ERROR = "handler_error"  # the parser failed in an unforeseen way; the detail says how
    UNSAFE_NAME = "unsafe_name"  # absolute, with "..", NUL or over-long; kept in the row, never on disk
    ZERO_BYTES = "zero_bytes"  # the item has no bytes at all
    UNREADABLE = "unreadable"  # permission denied or an I/O error on this one source file
    VANISHED = "vanished"  # was listed by the walk and is gone now
    SYMLINK = "symlink"  # a link in the source; recorded, never followed
    SPECIAL_FILE = "special_file"  # FIFO, socket or device; recorded, never opened
    HASH_DIFFERS = "hash_differs"  # read again, its bytes are not those that were discovered, or that a load file names
    # A source file was hashed, then changed: its text or its children are not those of the hashed bytes.
    CHANGED_DURING_PROCESSING = "changed_during_processing"
    WITHHELD = "withheld"  # of a production: no native is written, it holds what is not produced
    NO_NATIVE = "no_native"  # of a load file: it names neither native nor text of this record, or one that is not there
    REMAINDER_UNKNOWN = "remainder_unknown"  # a container was cut short: children are missing


class EdbenchError(Exception):
    """Base of all errors raised on purpose; the text is one line saying what is wrong and what to do."""


class UsageError(EdbenchError):
    """The request cannot be carried out as given (exit status 2); `field` is what of it, in an order's words, if known."""

    def __init__(self, message: object = "", *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class RunFailed(EdbenchError):
    """The command did its work and the answer is bad, or it could not finish (exit status 1)."""


class SystemFault(EdbenchError):
    """Something under the job is broken; the job is suspended and can be resumed."""


class StorageFault(SystemFault):
    """The filer or scratch failed (gone, full, read-only, I/O error); `errno` is 0 where the system gave none."""

    def __init__(self, message: str, *, errno: int = 0) -> None:
        super().__init__(message)
        self.errno = errno


class DatabaseFault(SystemFault):
    """The database cannot be reached or refused to store.

    `transient`: the same request may well succeed in a moment (connection lost, server starting up, deadlock);
    False where somebody has to act first (disk full, read-only, wrong password).
    """

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


class BrokerFault(SystemFault):
    """The broker cannot be reached."""


class TaskLost(EdbenchError):
    """The task is not this claim's (any more); whatever was done under it is dropped."""


class DocumentError(EdbenchError):
    """One document cannot be read (fully); recorded against its item.

    `missing` is how many announced children are lost by it, where the format tells.
    """

    def __init__(self, code: ExceptionCode, detail: str, *, missing: int | None = None) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.missing = missing

    def __reduce__(self) -> tuple[object, ...]:
        """Errors cross process boundaries (`inspect`); the text alone would not make one again."""
        return _remade, (type(self), self.code, self.detail, dict(self.__dict__))


class PagesWithoutText(DocumentError):
    """Some pages of a document show pictures and have no text, where others have text; no failure where OCR reads them."""


class FieldUnread(DocumentError):
    """The value of a metadata field cannot be read for sure, so the field is absent; nothing of the text is missing."""


class SourceFileError(DocumentError):
    """A loose file could not be listed, opened or read; only meaningful while the source root stands.

    `errno` is the system's reason, 0 where there is none. EIO is ambiguous (this file or the whole filer):
    the caller looks at the source root before it blames the item.
    """

    def __init__(self, code: ExceptionCode, detail: str, *, missing: int | None = None, errno: int = 0) -> None:
        super().__init__(code, detail, missing=missing)
        self.errno = errno


class Interrupted(EdbenchError):
    """Ctrl-C or SIGTERM, after things were left in good order (exit status 130)."""


def _remade(kind: type[DocumentError], code: ExceptionCode, detail: str, state: dict[str, object]) -> DocumentError:
    """A document error as it was before it was pickled."""
    error = kind(code, detail)
    error.__dict__.update(state)
    return error
