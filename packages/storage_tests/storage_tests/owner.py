"""Owners of directories under test: an empty one is taken with a marker, and what was written there is removed again.

Everything is written below one directory of a random name next to the marker, and nothing else is ever removed:
whatever a person put there meanwhile stays, and the path is refused from then on. After kill -9 the marker stays; the
next command finds that its process has ended (boot id, process id, the process's start) and removes what it names."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from core.errors import StorageFault, UsageError, reading_errors, system_errors
from core.plain import unambiguous

MARKER = ".edbench-profile.json"
_PREFIX = "edbench-profile-"
_THEIRS = frozenset({"lost+found"})  # in file systems whose root is the path
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PROC = Path("/proc")
_STARTED = 19  # field 22 of /proc/PID/stat, counted from the state on
_GONE = ("Z", "X", "x")  # states of ended processes
_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The process that took a directory."""

    id: str  # of what it writes
    host: str
    boot_id: str
    pid: int
    started: int  # of the process, in ticks since the host started: setting a clock does not change it

    @property
    def directory(self) -> str:
        """Directory to which it writes, next to the marker."""
        return f"{_PREFIX}{self.id}"

    def alive(self) -> bool:
        """Return whether the process still runs on this host. Raises UsageError if that cannot be determined from
        here."""
        if self.host != socket.gethostname():
            raise UsageError(
                f"it belongs to a command of host {self.host}; run a command there to remove it, or remove it by hand"
            )
        try:
            return self.boot_id == _boot_id() and self.started == started_of(self.pid)
        except PermissionError as error:
            raise UsageError(f"process {self.pid} cannot be examined from here: {error.strerror}") from error


def this_process() -> Owner:
    """Return this process as an owner with a new id."""
    pid = os.getpid()
    started = started_of(pid)
    if started is None:
        raise StorageFault(f"{_PROC} has no start time of process {pid}: it is not a Linux /proc")
    return Owner(id=uuid.uuid4().hex, host=socket.gethostname(), boot_id=_boot_id(), pid=pid, started=started)


def started_of(pid: int) -> int | None:
    """Return when the process began, in ticks since the host did; None if there is no such process, or only a
    zombie."""
    try:
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].decode().split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if not fields or fields[0] in _GONE else int(fields[_STARTED])


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[Path]:
    """Yield an empty directory below `path`, removed at the end with everything in it.

    Raises UsageError if `path` is no directory, is not empty, or another command uses it; StorageFault."""
    if not path.is_dir():
        raise UsageError(f"{path} is not a directory; create it, or mount the storage under test there")
    with storage_errors(path):
        forget_dead(path)
        _refuse_others(path)
        owner = this_process()
        _mark(path, owner)
    try:
        own = path / owner.directory
        with storage_errors(path):
            own.mkdir(mode=0o700)
        yield own
    finally:
        with storage_errors(path):
            _remove(path, owner)


storage_errors = partial(system_errors, StorageFault)


@contextlib.contextmanager
def own_directories(paths: Sequence[Path], name: str) -> Iterator[tuple[Path, ...]]:
    """Yield a directory on each path for one run, removed at its end: the next run finds the storage as this one did.
    Raises StorageFault, also for an error of the system in the block."""
    own = tuple(path / name.replace("/", "-") for path in paths)
    try:
        for path in own:
            path.mkdir()
        yield own
        for path in own:
            shutil.rmtree(path)
    except OSError as error:
        raise StorageFault(f"{error.filename}: {error.strerror or error}", errno=error.errno or 0) from error


def forget_dead(path: Path) -> bool:
    """Remove what a dead command left; return whether there was any. Raises UsageError for a running command, and for a
    marker that is not ours."""
    marker = path / MARKER
    with reading_errors(marker, "; remove it if no storage test runs there"):
        text = marker.read_text(encoding="utf-8") if marker.is_file() and not marker.is_symlink() else None
    if text is None:
        return False
    owner = _read(marker, text)
    try:
        alive = owner.alive()
    except UsageError as error:
        raise UsageError(f"{marker}: {error}") from error
    if alive:
        raise UsageError(f"{path}: process {owner.pid} runs a storage test there")
    _remove(path, owner)
    return True


def _read(marker: Path, text: str) -> Owner:
    try:
        owner = Owner(**unambiguous(text))
        if not _ID.fullmatch(owner.id):
            raise ValueError("no id")
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{marker} was not written by edbench, or not completely ({error}); remove it if no storage test runs there"
        ) from error
    return owner


def _mark(path: Path, owner: Owner) -> None:
    try:
        descriptor = os.open(path / MARKER, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise UsageError(f"{path}: another command has just started there") from error
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(json.dumps(asdict(owner)) + "\n")
    except BaseException:
        (path / MARKER).unlink()
        raise


def _remove(path: Path, owner: Owner) -> None:
    """Remove first what was written, then the marker: if this is killed in between, the next command continues."""
    own = path / owner.directory
    if own.is_symlink():
        raise UsageError(f"{own} is a link that edbench did not create; nothing was removed")
    if own.exists():
        shutil.rmtree(own)
    (path / MARKER).unlink(missing_ok=True)


def _refuse_others(path: Path) -> None:
    others = sorted(set(os.listdir(path)) - _THEIRS)
    if others:
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        raise UsageError(f"{path} is not empty ({others[0]}{more}): a storage test needs an empty directory")


def _boot_id() -> str:
    return _BOOT.read_text().strip()


@contextlib.contextmanager
def place_of_own(below: Path, prefix: str) -> Iterator[Path]:
    """Yield a directory below one that others use too, such as scratch or memory; first remove those that dead commands
    left under the same prefix. Raises StorageFault."""
    with storage_errors(below):
        below.mkdir(parents=True, exist_ok=True)
        for left in below.glob(f"{prefix}-*"):
            with contextlib.suppress(UsageError, OSError):  # its owner is alive or cannot be judged
                if forget_dead(left):
                    left.rmdir()
        own = below / f"{prefix}-{uuid.uuid4().hex}"
        own.mkdir(mode=0o700)
    try:
        with claimed(own) as directory:
            yield directory
    finally:
        with contextlib.suppress(OSError):  # files that a person put there stay
            own.rmdir()
