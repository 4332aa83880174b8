"""Conversion of a parser's unforeseen errors to document errors with a code; faults of the system pass unchanged."""

from __future__ import annotations

from types import TracebackType

from core.errors import EdbenchError
from readers.errors import DocumentError, ExceptionCode


class Guarded:
    """Context manager around handler code.

    Document errors and faults of the system pass as they are. Everything else is a parser that failed in an unforeseen
    way: it becomes DocumentError(handler_error) with the cause chained, so that one document never stops a job.
    KeyboardInterrupt and SystemExit pass."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None or isinstance(error, EdbenchError | DocumentError) or not isinstance(error, Exception):
            return
        if isinstance(error, MemoryError):
            raise DocumentError(ExceptionCode.MEMORY, "reading it needs more memory than a slot may have") from error
        if isinstance(error, RecursionError):
            raise DocumentError(ExceptionCode.NESTING_LIMIT, "its structure is nested too deeply to read") from error
        raise DocumentError(ExceptionCode.HANDLER_ERROR, f"{type(error).__name__}: {error}"[:500]) from error


guarded = Guarded()
