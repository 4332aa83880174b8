"""`edbench inspect` over many files, on all cores; a file that kills its parser costs nobody else anything."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import stat
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError as PoolTimeout
from dataclasses import dataclass, field
from pathlib import Path

from pebble import ProcessExpired, ProcessFuture, ProcessPool

from core.errors import DocumentError, ExceptionCode, RunFailed, SourceFileError, UsageError
from core.operations import NullRecorder
from core.records import JobOptions
from core.storage import EntryKind, Storage
from worker.inspect_file import NO_JOB, TRACE_BYTES, Loose, inspect_file, line_of, use_passwords
from worker.loose import DIRECTORY_TYPE, UNKNOWN_TYPE, loose_row, special
from worker.plugins import load_plugins
from worker.processes import limit_slot

_MOST_DEATHS = 20  # a file at which more processes died is given up
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


def _initialise(memory_mb: int, plugins: tuple[str, ...], passwords: Mapping[str, int]) -> None:
    use_passwords(passwords)
    load_plugins(plugins)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the deadline of an item ends the process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_slot(memory_mb)


def inspect_paths(
    arguments: Sequence[str],
    options: JobOptions,
    *,
    processes: int,
    memory_mb: int,
    plugins: tuple[str, ...] = (),
    passwords: Mapping[str, int] | None = None,
) -> Iterator[bytes | Line]:
    """One line for each item: JSON text as it was spooled, or a dictionary for what this process found itself.
    `passwords` are tried on encrypted items; each has its line in their file."""
    storage = Storage(NullRecorder())
    for argument in arguments:
        storage_check = find_loose(storage, argument)
        next(storage_check, None)  # says at once that a PATH does not exist, before anything is printed
    files = (loose for argument in arguments for loose in find_loose(storage, argument))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])  # a process that died is replaced in milliseconds
    initial = [memory_mb, plugins, dict(passwords or {})]
    with (
        tempfile.TemporaryDirectory(prefix="edbench-inspect-") as scratch,
        ProcessPool(processes, initializer=_initialise, initargs=initial, context=context) as pool,
    ):
        yield from _in_order(pool, files, options, Path(scratch), processes * _AHEAD)


@dataclass(slots=True)
class _Pending:
    """A loose file on its way: where its lines go, and who is to blame for the deaths so far."""

    loose: Loose
    spool: Path
    future: ProcessFuture[None] | None = None
    convicted: dict[uuid.UUID, tuple[ExceptionCode, str]] = field(default_factory=dict)

    @property
    def trace(self) -> Path:
        return self.spool.with_name("trace")

    def start(self, pool: ProcessPool, options: JobOptions) -> None:
        """Have a process inspect it; what an earlier one found stays beside."""
        self.trace.write_bytes(bytes(TRACE_BYTES))
        if self.spool.exists():
            self.spool.rename(self.spool.with_name(f"before{len(self.convicted)}"))
        how = {"trace": self.trace, "convicted": dict(self.convicted)}
        self.future = pool.schedule(inspect_file, args=[self.loose, options, self.spool], kwargs=how)

    def convict(self, error: DocumentError) -> bool:
        """Blame the item that was being read; False when that leads nowhere and the death is the file's own."""
        item = uuid.UUID(bytes=self.trace.read_bytes())
        if not item.int or item in self.convicted or len(self.convicted) >= _MOST_DEATHS:
            return False
        self.convicted[item] = (error.code, error.detail)
        return True


def _in_order(
    pool: ProcessPool, files: Iterator[Loose], options: JobOptions, scratch: Path, ahead: int
) -> Iterator[bytes | Line]:
    pending: list[_Pending] = []
    try:
        for number, loose in enumerate(files):
            one = _Pending(loose, scratch / str(number) / "lines")
            if loose.special is None:
                one.spool.parent.mkdir()
                one.start(pool, options)
            pending.append(one)
            if len(pending) >= ahead:
                yield from _collect(pool, options, pending.pop(0))
        while pending:
            yield from _collect(pool, options, pending.pop(0))
    except BaseException:
        pool.stop()  # type: ignore[no-untyped-call]
        raise


def _collect(pool: ProcessPool, options: JobOptions, one: _Pending) -> Iterator[bytes | Line]:
    error: DocumentError | None = None
    media_type = UNKNOWN_TYPE
    if one.loose.special is not None:
        media_type, error = one.loose.special
    while one.future is not None:
        future, one.future = one.future, None
        error = _outcome(future)
        if error is not None and one.convict(error):
            one.start(pool, options)
    yield from _found(one.spool.parent)
    if error is not None:
        yield line_of(loose_row(NO_JOB, 0, one.loose.relative, media_type=media_type), "", None, [error.code.value])


def _found(place: Path) -> Iterator[bytes]:
    """Every item once: what only a process that died has found (a container may die at its end), then what the last
    one says."""
    deaths = sorted(place.glob("before*"), key=lambda spool: int(spool.name.removeprefix("before")))
    spools = [*deaths, *place.glob("lines")]
    known = {_id_of(line) for line in _lines(spools[-1])} if len(spools) > 1 else set()
    for spool in spools[:-1]:
        for line in _lines(spool):
            if _id_of(line) not in known:
                known.add(_id_of(line))
                yield line
    if spools:
        yield from _lines(spools[-1])
    shutil.rmtree(place, ignore_errors=True)


def _lines(spool: Path) -> Iterator[bytes]:
    """All but one that its process died writing."""
    with spool.open("rb") as f:
        yield from (line for line in f if line.endswith(b"\n"))


def _id_of(line: bytes) -> str:
    return str(json.loads(line)["id"])


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
