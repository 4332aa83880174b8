"""Errors, by who has to act on them.

A *document* error is recorded against one item and the job continues; a *fault* means that the system under the job is
broken, so the job is suspended and nothing done is lost; a *usage* error goes straight back to the person who typed the
command."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from readers.errors import DocumentError, ExceptionCode


class EdbenchError(Exception):
    """Base of all errors raised on purpose; the text is one line saying what is wrong and what to do."""


class UsageError(EdbenchError):
    """The request cannot be carried out as given (exit status 2); `field`: the field of the order that is wrong, if
    known."""

    def __init__(self, message: object = "", *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class RunFailed(EdbenchError):
    """The command ran and its answer is bad, or it could not finish (exit status 1)."""


class BoundsBroken(RunFailed):
    """The command ran, and a figure is beyond a bound that the user gave with --fail-if (exit status 3)."""


class SystemFault(EdbenchError):
    """Something under the job is broken; the job is suspended and can be resumed."""


class PackageMissing(SystemFault):
    """A job needs an optional package that is not installed here."""


class StorageFault(SystemFault):
    """The filer or scratch failed (gone, full, read-only, I/O error); `errno` is 0 where the system gave none."""

    def __init__(self, message: str, *, errno: int = 0) -> None:
        super().__init__(message)
        self.errno = errno


class DatabaseFault(SystemFault):
    """The database cannot be reached or refused to store.

    `transient`: the same request may succeed in a moment (connection lost, server starting up, deadlock). False if a
    person has to act first (disk full, read-only, wrong password)."""

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


class BrokerFault(SystemFault):
    """The broker cannot be reached."""


class TaskLost(EdbenchError):
    """The task no longer belongs to this claim; the work done under it is dropped."""


class SourceFileError(EdbenchError, DocumentError):
    """A loose file could not be listed, opened or read; only meaningful while the source root is there. A worker
    records it as a document error; a command or the web server that reads the file itself reports it in one line, as
    any error of ours.

    `errno` is the system's reason, 0 where there is none. EIO is ambiguous (this file or the whole filer):
    the caller looks at the source root before it blames the item."""

    def __init__(self, code: ExceptionCode, detail: str, *, missing: int | None = None, errno: int = 0) -> None:
        super().__init__(code, detail, missing=missing)
        self.errno = errno


class Interrupted(EdbenchError):
    """Ctrl-C or SIGTERM, after things were left in good order (exit status 130)."""


@contextlib.contextmanager
def system_errors(kind: type[EdbenchError], what: object) -> Iterator[None]:
    """Report an error of the system in the block as one of this kind: `what`, the reason, and the path where it is
    another."""
    try:
        yield
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) and error.filename not in str(what) else ""
        reported = kind(f"{what}: {error.strerror or error}{where and f' ({where})'}")
        if isinstance(reported, StorageFault):
            reported.errno = error.errno or 0
        raise reported from error


@contextlib.contextmanager
def reading_errors(what: object, advice: str = "") -> Iterator[None]:
    """Report that `what` could not be opened, read or parsed in the block as UsageError, with what else to do."""
    try:
        yield
    except (OSError, EOFError, ValueError, RecursionError) as error:
        raise UsageError(f"{read_problem(what, error)}{advice}") from error


def read_problem(what: object, error: Exception) -> str:
    """One sentence for a failed open, read or parse of `what`: the cause, and what to do about it."""
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return f"{what} does not exist"
        case IsADirectoryError():
            return f"{what} is a directory, not a file"
        case PermissionError():
            return f"{what}: permission denied; give this user read access"
        case OSError() if error.errno is not None:
            return f"{what} cannot be read from its storage: {os.strerror(error.errno)}; check the file system"
        case UnicodeDecodeError():
            return (
                f"{what} is not {error.encoding} text (byte {error.start + 1}); it is damaged or another kind of file"
            )
        case ValueError():
            return f"{what} has a syntax error: {' '.join(str(error).split())}"
    return f"{what} is damaged: {' '.join(str(error).split()) or type(error).__name__}"
