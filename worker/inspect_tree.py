"""`edbench inspect` over many files, on all cores; a file that kills its parser costs nobody else anything."""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import TimeoutError as PoolTimeout
from pathlib import Path

from pebble import ProcessExpired, ProcessFuture, ProcessPool

from core.errors import DocumentError, ExceptionCode, RunFailed, SourceFileError, UsageError
from core.operations import NullRecorder
from core.records import JobOptions
from core.storage import EntryKind, Storage
from worker.inspect_file import NO_JOB, Loose, inspect_file, line_of
from worker.loose import DIRECTORY_TYPE, UNKNOWN_TYPE, loose_row, special
from worker.plugins import load_plugins
from worker.processes import limit_slot

_AHEAD = 4  # files under way for each process, so that results come in order without holding all of them

Line = dict[str, object]


def find_loose(storage: Storage, argument: str) -> Iterator[Loose]:
    """The loose files of one PATH argument; raises UsageError when it does not exist."""
    path = os.path.abspath(os.fsencode(argument))
    try:
        found = storage.stat(path)
    except SourceFileError as e:
        raise UsageError(f"{argument} cannot be inspected: {e.detail}; give an existing file or directory") from e
    if stat.S_ISDIR(found.st_mode):
        yield from _below(storage, path)
    else:
        yield _loose(path, os.path.basename(path), found.st_mode)


def _loose(path: bytes, relative: bytes, mode: int) -> Loose:
    return Loose(path=path, relative=relative, special=special(mode))


def _below(storage: Storage, root: bytes) -> Iterator[Loose]:
    """Depth first, by name; without recursion, because a path may be two thousand directories deep."""
    todo = [(b"", EntryKind.DIRECTORY)]
    while todo:
        relative, kind = todo.pop()
        path = os.path.join(root, relative) if relative else root
        if kind is EntryKind.FILE:
            yield Loose(path=path, relative=relative)
            continue
        try:
            if kind is EntryKind.DIRECTORY:
                entries = sorted(storage.scan(path), key=lambda e: e.name, reverse=True)
                todo.extend((os.path.join(relative, e.name), e.kind) for e in entries)
            else:
                yield _loose(path, relative, storage.stat(path).st_mode)
        except SourceFileError as e:
            media_type = DIRECTORY_TYPE if kind is EntryKind.DIRECTORY else UNKNOWN_TYPE
            yield Loose(path=path, relative=relative, special=(media_type, e))


def _initialise(memory_mb: int, plugins: tuple[str, ...]) -> None:
    load_plugins(plugins)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the deadline of an item ends the process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_slot(memory_mb)


def inspect_paths(
    arguments: Sequence[str], options: JobOptions, *, processes: int, memory_mb: int, plugins: tuple[str, ...] = ()
) -> Iterator[bytes | Line]:
    """One line for each item: JSON text as it was spooled, or a dictionary for what this process found itself."""
    storage = Storage(NullRecorder())
    for argument in arguments:
        storage_check = find_loose(storage, argument)
        next(storage_check, None)  # says at once that a PATH does not exist, before anything is printed
    files = (loose for argument in arguments for loose in find_loose(storage, argument))
    context = multiprocessing.get_context("forkserver")
    with (
        tempfile.TemporaryDirectory(prefix="edbench-inspect-") as scratch,
        ProcessPool(processes, initializer=_initialise, initargs=[memory_mb, plugins], context=context) as pool,
    ):
        yield from _in_order(pool, files, options, Path(scratch), processes * _AHEAD)


_Pending = tuple[Loose, Path, "ProcessFuture[None] | None"]


def _in_order(
    pool: ProcessPool, files: Iterator[Loose], options: JobOptions, scratch: Path, ahead: int
) -> Iterator[bytes | Line]:
    pending: list[_Pending] = []
    try:
        for number, loose in enumerate(files):
            spool = scratch / str(number) / "lines"
            future = None
            if loose.special is None:
                spool.parent.mkdir()
                future = pool.schedule(inspect_file, args=[loose, options, spool])
            pending.append((loose, spool, future))
            if len(pending) >= ahead:
                yield from _collect(*pending.pop(0))
        while pending:
            yield from _collect(*pending.pop(0))
    except BaseException:
        pool.stop()  # type: ignore[no-untyped-call]
        raise


def _collect(loose: Loose, spool: Path, future: ProcessFuture[None] | None) -> Iterator[bytes | Line]:
    error: DocumentError | None = None
    media_type = UNKNOWN_TYPE
    if loose.special is not None:
        media_type, error = loose.special
    elif future is not None:
        error = _outcome(future)
    if spool.exists():
        with spool.open("rb") as f:
            yield from (line for line in f if line.endswith(b"\n"))
        spool.unlink()
    if error is not None:
        yield line_of(loose_row(NO_JOB, 0, loose.relative, media_type=media_type), "", None, [error.code.value])


def _outcome(future: ProcessFuture[None]) -> DocumentError | None:
    try:
        future.result()
    except ProcessExpired as e:
        if e.exitcode == -signal.SIGALRM:
            return DocumentError(ExceptionCode.TIMEOUT, "still being read at its deadline")
        return DocumentError(ExceptionCode.KILLED_PARSER, f"the process died reading it (exit status {e.exitcode})")
    except PoolTimeout:
        return DocumentError(ExceptionCode.TIMEOUT, "still being read at its deadline")
    except MemoryError:
        return DocumentError(ExceptionCode.MEMORY, "reading it needs more memory than allowed")
    except OSError as e:
        raise RunFailed(f"inspect could not go on: {e}; see that the temporary directory has space") from e
    return None
