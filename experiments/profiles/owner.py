"""Whose a directory under test is: an empty one is taken with a marker, and what was written there is removed again.

Everything is written below one directory of a random name beside the marker, and nothing else is ever removed: whatever a
person put there meanwhile stays, and the path is refused from then on. After kill -9 the marker stays; the next command
finds that nobody lives behind it (boot id, process id, the process's start) and removes what it names.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from core.errors import StorageFault, UsageError
from core.plain import unambiguous

MARKER = ".edbench-profile.json"
_PREFIX = "edbench-profile-"
_THEIRS = frozenset({"lost+found"})  # of file systems whose root is the path
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The process that took a directory."""

    id: str  # of what it writes
    host: str
    boot_id: str
    pid: int
    started: float  # of the process, seconds since the epoch

    @property
    def directory(self) -> str:
        """Where it writes, beside the marker."""
        return f"{_PREFIX}{self.id}"

    def alive(self) -> bool:
        """Whether it still runs on this host; raises UsageError where that cannot be told from here."""
        if self.host != socket.gethostname():
            raise UsageError(
                f"it belongs to a command of host {self.host}; it goes when a command runs there, or remove it"
            )
        try:
            return self.boot_id == _boot_id() and psutil.Process(self.pid).create_time() == self.started
        except psutil.Error:
            return False


def this_process() -> Owner:
    """With an id of its own for each time."""
    pid = os.getpid()
    return Owner(id=uuid.uuid4().hex, host=socket.gethostname(), boot_id=_boot_id(), pid=pid,
                 started=psutil.Process(pid).create_time())  # fmt: skip


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[Path]:
    """An empty directory below `path`, removed at the end with everything in it.

    What a dead command left there is removed first. Raises UsageError where `path` is no directory, is not empty, or
    another command works there; StorageFault.
    """
    if not path.is_dir():
        raise UsageError(f"{path} is no directory; make it, or mount what is to be tested there")
    with _told(path):
        forget_dead(path)
        _refuse_others(path)
        owner = this_process()
        _mark(path, owner)
    try:
        own = path / owner.directory
        with _told(path):
            own.mkdir(mode=0o700)
        yield own
    finally:
        with _told(path):
            _remove(path, owner)


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """Errors of the system as StorageFault."""
    try:
        yield
    except OSError as error:
        raise StorageFault(f"{path}: {error.strerror or error}", errno=error.errno or 0) from error


def forget_dead(path: Path) -> bool:
    """Remove what a dead command left; whether there was any. Raises UsageError for one that lives, and for a marker
    that is not ours."""
    marker = path / MARKER
    try:
        text = marker.read_text(encoding="utf-8") if marker.is_file() and not marker.is_symlink() else None
    except (OSError, ValueError) as error:
        raise UsageError(f"{marker} cannot be read: {error}; remove it if nobody needs it") from error
    if text is None:
        return False
    if not text:  # killed before it wrote anything
        marker.unlink()
        return True
    owner = _read(marker, text)
    try:
        alive = owner.alive()
    except UsageError as error:
        raise UsageError(f"{marker}: {error}") from error
    if alive:
        raise UsageError(f"{path}: process {owner.pid} runs a profile there")
    _remove(path, owner)
    return True


def _read(marker: Path, text: str) -> Owner:
    try:
        owner = Owner(**unambiguous(text))
        if not _ID.fullmatch(owner.id):
            raise ValueError("no id")
    except (TypeError, ValueError) as error:
        raise UsageError(f"{marker} is not what edbench writes ({error}); nothing is touched there") from error
    return owner


def _mark(path: Path, owner: Owner) -> None:
    try:
        descriptor = os.open(path / MARKER, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise UsageError(f"{path}: another command began there just now") from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(json.dumps(asdict(owner)) + "\n")


def _remove(path: Path, owner: Owner) -> None:
    """First what was written, then the marker: killed in between, the next one goes on."""
    own = path / owner.directory
    if own.is_symlink():
        raise UsageError(f"{own} is a link: it is not what edbench made, and nothing is removed")
    if own.exists():
        shutil.rmtree(own)
    (path / MARKER).unlink(missing_ok=True)


def _refuse_others(path: Path) -> None:
    others = sorted(set(os.listdir(path)) - _THEIRS)
    if others:
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        raise UsageError(f"{path} is not empty ({others[0]}{more}): a profile takes an empty directory of its own")


def _boot_id() -> str:
    return _BOOT.read_text().strip()


@contextlib.contextmanager
def place_of_own(below: Path, prefix: str) -> Iterator[Path]:
    """A directory below one that others use too, such as scratch or memory; those that dead commands left under the same
    prefix are removed first. Raises StorageFault."""
    with _told(below):
        below.mkdir(parents=True, exist_ok=True)
        for left in below.glob(f"{prefix}-*"):
            with contextlib.suppress(UsageError, OSError):  # somebody's, alive or not ours to judge
                if forget_dead(left):
                    left.rmdir()
        own = below / f"{prefix}-{uuid.uuid4().hex}"
        own.mkdir(mode=0o700)
    try:
        with claimed(own) as directory:
            yield directory
    finally:
        with contextlib.suppress(OSError):  # what a person put there stays
            own.rmdir()
