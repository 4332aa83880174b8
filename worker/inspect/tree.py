"""`edbench inspect` over many files, on all cores; a file that kills its parser does not affect the others."""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import os
import pickle
import select
import shutil
import signal
import socket
import stat
import sys
import tempfile
import traceback
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct, field

from core.errors import RunFailed, SourceFileError, UsageError
from core.records import JobOptions
from core.storage.layer import EntryKind, Listing, Storage
from readers import charset_guess
from readers.errors import DocumentError, ExceptionCode
from readers.identification import libmagic
from readers.identification.identify import extension_of
from readers.modules import LIKELY
from readers.registry import all_handlers, handler_for
from worker.inspect.file import (
    NO_JOB,
    Loose,
    Trace,
    inspect_files,
    line_of,
    new_trace,
    read_trace,
    spill_directory,
    use_passwords,
)
from worker.items.loose import DIRECTORY_TYPE, UNKNOWN_TYPE, loose_row, special
from worker.parsers import load_plugins, read_by_office
from worker.processes import NEW_OBJECTS, die_with_parent, limit_slot


class Died(Exception):
    """A process ended before it had answered. `status` is an exit status, or minus the number of the signal."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Work(Struct):
    """A call to be made in some process, and its result."""

    pool: InspectPool
    call: tuple[Callable[..., Any], Sequence[Any], Mapping[str, Any]]
    done: bool = False
    value: Any = None
    error: BaseException | None = None

    def result(self) -> Any:
        """Wait for the call and return its result. Raises Died, or what the call raised."""
        while not self.done:
            self.pool.go_on()
        if self.error is not None:
            raise self.error
        return self.value


class _Process(Struct):
    pid: int
    talk: socket.socket
    answers: BinaryIO
    work: Work | None = None

    def give(self, work: Work) -> None:
        self.work = work
        with contextlib.suppress(BrokenPipeError):  # it died idle; reading from it will report that
            self.talk.sendall(pickle.dumps(work.call))

    def take(self) -> None:
        """Receive the answer. Raises EOFError if the process died."""
        try:
            error, value = pickle.load(self.answers)
        except (pickle.UnpicklingError, OSError) as cut:  # in the middle of an answer
            raise EOFError from cut
        self._finish(error, value)

    def bury(self) -> None:
        self.close()
        _, status = os.waitpid(self.pid, 0)
        self._finish(Died(os.waitstatus_to_exitcode(status)))

    def close(self) -> None:
        self.answers.close()
        self.talk.close()

    def _finish(self, error: BaseException | None, value: Any = None) -> None:
        if self.work is not None:
            self.work.done, self.work.error, self.work.value, self.work = True, error, value, None


class InspectPool(Struct):
    """Pool of `most` processes at most, each of which calls `begin` first. Close the pool, or use it as a context.

    `meanwhile`: called once, in this process, while the first processes are busy."""

    most: int
    begin: Callable[[], None]
    meanwhile: Callable[[], None] | None = None
    _processes: list[_Process] = field(default_factory=list)
    _waiting: deque[Work] = field(default_factory=deque)

    def __enter__(self) -> InspectPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def schedule(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Work:
        """Schedule a call in the first idle process; the call and its result are pickled."""
        work = Work(self, (function, args, kwargs))
        self._waiting.append(work)
        self._hand_out()
        return work

    def go_on(self) -> None:
        """Wait until some process has sent something, and distribute the waiting work. Only while there is work."""
        if self.meanwhile is not None:
            self.meanwhile()
            self.meanwhile = None
        poll = select.poll()
        busy = {process.talk.fileno(): process for process in self._processes if process.work is not None}
        for number in busy:
            poll.register(number, select.POLLIN)
        for number, _ in poll.poll():
            process = busy[number]
            try:
                process.take()
            except EOFError:
                self._processes.remove(process)
                process.bury()
        self._hand_out()

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        self._waiting.clear()
        for process in self._processes:
            os.kill(process.pid, signal.SIGKILL)
        while self._processes:
            self._processes.pop().bury()

    def _hand_out(self) -> None:
        while self._waiting:
            idle = next((process for process in self._processes if process.work is None), None)
            if idle is None:
                if len(self._processes) >= self.most:
                    return
                idle = self._fork()
            idle.give(self._waiting.popleft())

    def _fork(self) -> _Process:
        ours, theirs = socket.socketpair()
        parent = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if not pid:
            ours.close()
            for process in self._processes:  # else the end of the others would go unnoticed
                process.close()
            self._serve(theirs, parent)
        theirs.close()
        process = _Process(pid, ours, ours.makefile("rb"))
        self._processes.append(process)
        return process

    def _serve(self, talk: socket.socket, parent: int) -> None:
        """Serve calls in the child until the connection ends. Does not return."""
        status = 1
        try:
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            die_with_parent(parent)
            begun, _ = _outcome(self.begin)
            with talk, talk.makefile("rb") as orders:
                while True:
                    function, args, kwargs = pickle.load(orders)
                    talk.sendall(_pickled(*((begun, None) if begun else _outcome(function, *args, **kwargs))))
        except EOFError:
            status = 0
        except BaseException:  # noqa: BLE001 — nothing comes back from here
            traceback.print_exc()
        finally:
            os._exit(status)


def _outcome(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Exception | None, Any]:
    """Call the function; return the error that it raised, to be raised again in the caller, and its result."""
    try:
        return None, function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 — it is reported
        error.add_note(traceback.format_exc())
        return error, None


def _pickled(error: Exception | None, value: Any) -> bytes:
    """The result as it is sent; an exception that cannot be pickled is sent as its text."""
    try:
        data = pickle.dumps((error, value))
        pickle.loads(data)
    except Exception:  # noqa: BLE001 — whatever its own way of being made again raises
        return pickle.dumps((RuntimeError(f"{type(error).__name__}: {error}"), None))
    return data


_MOST_DEATHS = 20  # a file at which more processes died is given up
TOGETHER = 16  # files that a process is given at a time …
_TOGETHER_BYTES = 1_000_000  # … or that many bytes of them
_SHARES = 4  # a batch is at most that share of the files left, for each batch under way

Line = dict[str, object]


class _Batch(Struct):
    """Loose files for one process, or one that is not opened (`special`)."""

    files: list[Loose]
    spool: Path
    work: Work | None = None
    convicted: dict[uuid.UUID, tuple[ExceptionCode, str]] = field(default_factory=dict)  # in its one file
    died: list[tuple[Path, int]] = field(default_factory=list)  # spools of earlier processes, and where its lines begin

    @property
    def trace(self) -> Path:
        return self.spool.with_suffix(".trace")


class Batches(Struct):
    """Files on their way through the pool."""

    pool: InspectPool
    options: JobOptions
    storage: Storage
    scratch: Path
    ahead: int  # batches under way: so many may be read after one that takes long, and no core is idle
    together: int = TOGETHER  # 1 where a file may take minutes, so that none waits for it while a core is idle
    titles: dict[str, str] = field(default_factory=dict)  # of formats, by the media types of lines that were given
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def lines(self, files: Iterator[Loose]) -> Iterator[bytes | Line]:
        """Yield every line, in the order of the files."""
        pending: deque[_Batch] = deque()
        for batch in self._batches(files):
            pending.append(batch)
            if len(pending) >= self.ahead:
                yield from self._collect(pending.popleft())
        while pending:
            yield from self._collect(pending.popleft())

    def _batches(self, files: Iterator[Loose]) -> Iterator[_Batch]:
        """Start the batches: smaller ones the fewer files are left, so that all processes are busy until the end."""
        size = 0
        held: list[Loose] = []
        for loose, left in _counted(files, self.together * self.ahead // _SHARES):
            if loose.special is None:
                held.append(loose)
                size += _size(self.storage, loose)
                if len(held) <= min(_SHARES * left // self.ahead, self.together - 1) and size <= _TOGETHER_BYTES:
                    continue
            if held:
                yield self._start(held)
                held, size = [], 0
            if loose.special is not None:
                yield _Batch([loose], self._spool())

    def _spool(self) -> Path:
        return self.scratch / f"{next(self._numbers)}.lines"

    def _start(self, files: list[Loose]) -> _Batch:
        batch = _Batch(files, self._spool())
        self._schedule(batch)
        return batch

    def _schedule(self, batch: _Batch) -> None:
        new_trace(batch.trace)
        how = {"trace": batch.trace, "convicted": batch.convicted}
        batch.work = self.pool.schedule(inspect_files, args=[batch.files, self.options, batch.spool], kwargs=how)

    def _collect(self, batch: _Batch) -> Iterator[bytes | Line]:
        """Yield the batch's lines. If its process died: those of the files before, then those of the file at which it
        died, read again without the item to blame, then those of the files after it."""
        if batch.work is None:
            (loose,) = batch.files
            yield _failed(loose)
            return
        error = self._outcome(batch.work)
        if error is None:
            yield from _found(batch)
            self._remove(batch)
            return
        trace = read_trace(batch.trace)
        at, behind = batch.files[trace.position], batch.files[trace.position + 1 :]
        again = self._again(batch, at, trace, error)
        rest = self._start(behind) if behind else None
        if trace.position:
            yield from _lines(batch.spool, 0, trace.spooled)
        if again is not None:
            yield from self._collect(again)
        else:
            yield from _found(batch, trace.spooled)
            yield _failed(at, error)
            self._remove(batch)
        if rest is not None:
            yield from self._collect(rest)

    def _again(self, batch: _Batch, at: Loose, trace: Trace, error: DocumentError) -> _Batch | None:
        """Start again the file at which a process died, with the item that was being read convicted; None if that
        cannot help and the death is charged to the file."""
        if trace.item is None or trace.item in batch.convicted or len(batch.convicted) >= _MOST_DEATHS:
            return None
        again = _Batch([at], self._spool())
        again.convicted = {**batch.convicted, trace.item: (error.code, error.detail)}
        again.died = [*batch.died, (batch.spool, trace.spooled)]
        self._schedule(again)
        return again

    def _outcome(self, work: Work) -> DocumentError | None:
        try:
            self.titles.update(work.result())
        except Died as e:
            if e.status == -signal.SIGALRM:
                return DocumentError(ExceptionCode.TIMEOUT, "still being read at its deadline")
            return DocumentError(
                ExceptionCode.KILLED_PARSER, f"the process died while reading it (exit status {e.status})"
            )
        except MemoryError:
            return DocumentError(ExceptionCode.MEMORY, "reading it needs more memory than allowed")
        except OSError as e:
            raise RunFailed(f"inspect stopped: {e}; check the free space of the temporary directory") from e
        return None

    def _remove(self, batch: _Batch) -> None:
        """Remove the spooled and spilled files of a finished batch, also of its processes that died."""
        for spool in (batch.spool, *(spool for spool, _ in batch.died)):
            spool.unlink(missing_ok=True)
            spool.with_suffix(".trace").unlink(missing_ok=True)
        if batch.died:
            for spool in (batch.spool, *(spool for spool, _ in batch.died)):
                shutil.rmtree(spill_directory(spool), ignore_errors=True)


def _counted(files: Iterator[Loose], most: int) -> Iterator[tuple[Loose, int]]:
    """Yield each file and how many are known to follow it, `most` at most."""
    near = deque(itertools.islice(files, most + 1))
    while near:
        loose = near.popleft()
        yield loose, len(near)
        near.extend(itertools.islice(files, 1))


def _size(storage: Storage, loose: Loose) -> int:
    """Return the bytes, as far as known; an error is reported when the file is read."""
    try:
        return storage.stat(loose.path).st_size
    except SourceFileError:
        return 0


def _failed(loose: Loose, error: DocumentError | None = None) -> Line:
    """Return the line of a file that no process could finish, or that is not to be opened."""
    media_type, why = loose.special or (UNKNOWN_TYPE, None)
    codes = [one.code.value for one in (error or why,) if one is not None]
    return line_of(loose_row(NO_JOB, 0, loose.relative, media_type=media_type), "", None, codes)


def _found(batch: _Batch, start: int = 0) -> Iterator[bytes]:
    """Yield every item once: first those that only a process that died has found (a container may die at its end), then
    those of the last process."""
    known = {_id_of(line) for line in _lines(batch.spool, start)} if batch.died else set()
    for spool, begin in batch.died:
        for line in _lines(spool, begin):
            if (ident := _id_of(line)) not in known:
                known.add(ident)
                yield line
    yield from _lines(batch.spool, start)


def _lines(spool: Path, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """Yield all lines from one position to another, except one that its process died writing."""
    try:
        file = spool.open("rb")
    except FileNotFoundError:  # it died before it had any
        return
    with file:
        file.seek(start)
        for line in file:
            start += len(line)
            if not line.endswith(b"\n") or (stop is not None and start > stop):
                return
            yield line


def _id_of(line: bytes) -> str:
    return str(json.loads(line)["id"])


_END: tuple[bytes, None] = (b"", None)
# From so many loose files on, and with more processes than a few, every reader is loaded before they are forked: a quarter of a second
# for which they wait, and 40 MB that they share. A few have what they need sooner by themselves, side by side.
_MANY, _FEW = 200, 3
_SEVERAL = 4  # loose files of one kind, by their names: each process is likely to have some
_AHEAD = 16  # batches under way for each process; the lines of those that are read wait in files, to come in order


def find_loose(storage: Storage, argument: str) -> Iterator[Loose]:
    """Yield the loose files of one PATH argument. Raises UsageError if it does not exist."""
    path = os.path.abspath(os.fsencode(argument))
    storage.keep_below(os.path.dirname(path))
    try:
        status = storage.stat(path)
    except SourceFileError as e:
        raise UsageError(f"{argument} cannot be inspected: {e.detail}; give an existing file or directory") from e
    if stat.S_ISDIR(status.st_mode):
        yield from _below(storage, path)
    else:
        yield _loose(path, os.path.basename(path), status.st_mode)


def _loose(path: bytes, relative: bytes, mode: int) -> Loose:
    return Loose(path=path, relative=relative, special=special(mode))


def _below(storage: Storage, root: bytes) -> Iterator[Loose]:
    """Yield the files depth first, by name (of a directory that is listed in parts, by name in each); without
    recursion, because a path may be two thousand directories deep."""
    open_now: list[Iterator[tuple[bytes, EntryKind]]] = [
        iter([(b"", EntryKind.DIRECTORY)])
    ]  # one for each directory that is being gone through
    while open_now:
        relative, kind = next(open_now[-1], _END)
        if kind is None:
            open_now.pop()
            continue
        path = os.path.join(root, relative) if relative else root
        if kind is EntryKind.FILE:
            yield Loose(path=path, relative=relative)
            continue
        try:
            if kind is EntryKind.DIRECTORY:
                open_now.append(_inside(storage.listing(path), relative))
            else:
                yield _loose(path, relative, storage.stat(path).st_mode)
        except SourceFileError as e:
            media_type = DIRECTORY_TYPE if kind is EntryKind.DIRECTORY else UNKNOWN_TYPE
            yield Loose(path=path, relative=relative, special=(media_type, e))


def _inside(listing: Listing, relative: bytes) -> Iterator[tuple[bytes, EntryKind]]:
    with listing:
        for entry in chain.from_iterable(listing):
            yield os.path.join(relative, entry.name), entry.kind


def _initialise(memory_mb: int, plugins: tuple[str, ...], passwords: Mapping[str, int], scratch: Path) -> None:
    use_passwords(passwords)
    load_plugins(plugins)
    read_by_office(scratch)
    gc.set_threshold(NEW_OBJECTS)  # whatever the command that forks has set
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the deadline of an item ends the process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_slot(memory_mb)


def _load_readers(plugins: tuple[str, ...]) -> None:
    """Load the readers once, for all processes that are forked afterwards."""
    load_plugins(plugins)
    all_handlers()
    libmagic.preload()
    charset_guess.preload()
    gc.collect()


def _load_likely(files: Sequence[Loose]) -> None:
    """Load the readers of endings that several of the files have: every process would load these. A process loads any
    other reader itself, while the others are busy."""
    endings = Counter(extension_of(os.path.basename(loose.relative)).decode("latin-1") for loose in files)
    for ending, media_type in LIKELY.items():
        if endings[ending] >= _SEVERAL:
            handler_for(media_type)


def inspect_paths(
    arguments: Sequence[str],
    options: JobOptions,
    *,
    processes: int,
    memory_mb: int,
    plugins: tuple[str, ...] = (),
    passwords: Mapping[str, int] | None = None,
    meanwhile: Callable[[], None] | None = None,
    titles: dict[str, str] | None = None,
) -> Iterator[bytes | Line]:
    """Yield one line for each item: JSON text as it was spooled, or a dictionary for what this process found itself.
    `passwords` are tried on encrypted items; each has its line in their file. `meanwhile`: see InspectPool. `titles`
    receives the titles of a line's formats, by media type, before the line."""
    storage = Storage()
    for argument in arguments:
        storage_check = find_loose(storage, argument)
        next(storage_check, None)  # reports at once that a PATH does not exist, before anything is printed
    files = (loose for argument in arguments for loose in find_loose(storage, argument))
    first = list(itertools.islice(files, _MANY))
    if len(first) == _MANY and processes > _FEW:
        _load_readers(plugins)
    else:
        _load_likely(first)
    gc.freeze()  # loaded objects stay: no process's collector has to visit them, and so copy their pages
    with (
        tempfile.TemporaryDirectory(prefix="edbench-inspect-") as scratch,
        InspectPool(
            processes, lambda: _initialise(memory_mb, plugins, passwords or {}, Path(scratch)), meanwhile
        ) as pool,
    ):
        together = 1 if options.ocr.asked or passwords else TOGETHER
        titles = {} if titles is None else titles
        batches = Batches(pool, options, storage, Path(scratch), processes * _AHEAD, together, titles)
        yield from batches.lines(itertools.chain(first, files))
