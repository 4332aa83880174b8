"""System calls that name a file: anywhere, or only below given directories and never through a link.

openat2(2) checks and uses a path in one step, so no process can put a link in its place in between. On a kernel without
it, each component is opened by itself without following a link, which is as safe and slower."""

from __future__ import annotations

import ctypes
import enum
import errno
import functools
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class EntryKind(enum.Enum):
    """The type of a directory entry; links are not followed."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    SPECIAL = "special"  # FIFO, socket or device


class Entry(NamedTuple):
    """One entry of a directory."""

    name: bytes
    kind: EntryKind


class Space(NamedTuple):
    """Room on a file system for an unprivileged user."""

    free_bytes: int
    free_inodes: int
    total_bytes: int


def entry_kind(entry: os.DirEntry[bytes] | os.DirEntry[str]) -> EntryKind:
    """The type of a directory entry from its own type field. Only a file system without one costs an lstat(2).

    An entry whose lstat(2) is refused counts as a file: the caller's own `stat` of it reports why, and the other
    entries of the directory are read."""
    try:
        if entry.is_symlink():
            return EntryKind.LINK
        if entry.is_file(follow_symlinks=False):
            return EntryKind.FILE
        if entry.is_dir(follow_symlinks=False):
            return EntryKind.DIRECTORY
    except PermissionError:
        return EntryKind.FILE
    return EntryKind.SPECIAL


def size_of(info: os.stat_result) -> int:
    """The size for call records: 0 for a directory, whose own size is unrelated to its content."""
    return 0 if stat.S_ISDIR(info.st_mode) else info.st_size


_OPENAT2 = 437  # the same on every architecture that Linux has added calls to at the same time: all but alpha
_NO_SYMLINKS = 0x04
_BENEATH = 0x08
_MOST_TRIES = 100  # of a call that the kernel asks to be made again (EAGAIN: something was renamed meanwhile)


class _How(ctypes.Structure):
    """The C structure `open_how`."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_syscall = ctypes.CDLL(None, use_errno=True).syscall
_syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)
_syscall.restype = ctypes.c_long
_HOW_SIZE = ctypes.sizeof(_How)


@functools.cache
def _how(flags: int, mode: int) -> bytes:
    """The bytes of the structure; a process uses only a few different ones."""
    return bytes(_How(flags, mode, _NO_SYMLINKS | _BENEATH))


def _openat2(directory: int, relative: bytes, flags: int, mode: int) -> int:
    how, number = _how(flags, mode), 0
    for _ in range(_MOST_TRIES):
        descriptor: int = _syscall(_OPENAT2, directory, relative, how, _HOW_SIZE)
        if descriptor >= 0:
            return descriptor
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(number, os.strerror(number), os.fsdecode(relative))


@functools.cache
def kernel_has_openat2() -> bool:
    """Whether this kernel, and any filter of its calls, permits openat2."""
    try:
        os.close(_openat2(-100, b".", os.O_PATH | os.O_CLOEXEC, 0))  # -100: AT_FDCWD
    except OSError:
        return False
    return True


def open_beneath(directory: int, relative: bytes, flags: int, mode: int = 0) -> int:
    """open(2) of a path below a directory's descriptor; `b"."` is the directory itself.

    Raises OSError: ELOOP when any component is a link (of the last one: unless flags have O_PATH and O_NOFOLLOW), EXDEV
    when the path is absolute or has `..`, else as open(2)."""
    if b"\0" in relative:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), os.fsdecode(relative))
    if relative.startswith(b"/") or (b".." in relative and b".." in relative.split(b"/")):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), os.fsdecode(relative))
    if kernel_has_openat2():
        return _openat2(directory, relative, flags, mode)
    return _by_component(directory, relative, flags, mode)


def _by_component(directory: int, relative: bytes, flags: int, mode: int) -> int:
    *above, last = [part for part in relative.split(b"/") if part not in (b"", b".")] or [b"."]
    here = directory
    try:
        for part in above:
            below = _step(here, part, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, 0)
            if here != directory:
                os.close(here)
            here = below
        return _step(here, last, flags, mode)
    finally:
        if here != directory:
            os.close(here)


def _step(directory: int, name: bytes, flags: int, mode: int) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW, mode, dir_fd=directory)
    except NotADirectoryError as e:  # what O_DIRECTORY makes of a link
        if stat.S_ISLNK(os.lstat(name, dir_fd=directory).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fsdecode(name)) from e
        raise


_PATH = os.O_PATH | os.O_CLOEXEC
_DIRECTORY = _PATH | os.O_DIRECTORY
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NOT_HELD = -1


class UnsafePath(OSError):
    """The path would lead through a link or out of its root. `own`: the root is one that only we write to."""

    own: bool


class Anywhere:
    """The unrestricted calls, for paths that the user of the process named. All raise OSError."""

    open = staticmethod(os.open)
    lstat = staticmethod(os.lstat)
    mkdir = staticmethod(os.mkdir)
    rename = staticmethod(os.rename)
    unlink = staticmethod(os.unlink)
    rmdir = staticmethod(os.rmdir)

    @staticmethod
    def identify(path: bytes) -> os.stat_result:
        """stat(2) of a root directory."""
        return os.stat(path)

    @staticmethod
    @contextmanager
    def scan(path: bytes) -> Iterator[Iterator[Entry]]:
        """The directory's entries as they come."""
        with os.scandir(path) as entries:
            yield (Entry(e.name, entry_kind(e)) for e in entries)


class Root:
    """A directory that calls are kept below. It may be a link itself, or be reached through one: a user named it."""

    __slots__ = ("_hold", "held", "own", "path")

    def __init__(self, path: bytes, *, own: bool, hold: bool) -> None:
        self.path = path
        self.own = own
        self.held = _NOT_HELD
        self._hold = hold

    def identify(self) -> os.stat_result:
        """Return stat(2) of the directory that the name leads to now. A held root is this directory from now on."""
        descriptor = os.open(self.path, _DIRECTORY)
        try:
            return os.fstat(descriptor)
        finally:
            self.release()
            self._keep_or_close(descriptor)

    def _keep_or_close(self, descriptor: int) -> None:
        if self._hold:
            self.held = descriptor
        else:
            os.close(descriptor)

    def release(self) -> None:
        """Release the directory; the next call looks it up again."""
        if self.held != _NOT_HELD:
            held, self.held = self.held, _NOT_HELD
            os.close(held)

    def open(self, relative: bytes, flags: int, mode: int = 0) -> int:
        """Open something below the directory. Raises OSError, UnsafePath."""
        held = self.held != _NOT_HELD
        descriptor = self.held if held else os.open(self.path, _DIRECTORY)
        try:
            return open_beneath(descriptor, relative, flags, mode)
        except OSError as e:
            if e.errno in (errno.ELOOP, errno.EXDEV):
                self._refuse(descriptor, relative, e)
            raise
        finally:
            if not held:
                self._keep_or_close(descriptor)

    def _refuse(self, descriptor: int, relative: bytes, error: OSError) -> None:
        """Raise UnsafePath, unless the path itself is a link that a caller found in a source: that is an item like any
        other."""
        if error.errno == errno.EXDEV:
            raise _unsafe(errno.EXDEV, "it leads out of its root directory", self.own) from error
        try:
            os.close(open_beneath(descriptor, os.path.dirname(relative) or b".", _DIRECTORY))
        except OSError as e:
            raise _unsafe(
                errno.ELOOP, "a directory above it is a link now, and links are not followed", self.own
            ) from e
        if self.own:
            raise _unsafe(errno.ELOOP, "it is a link, and links are not followed", True) from error


class Beneath:
    """The same calls for paths below some roots: no component below the root may be a link or `..`, and a path below no
    root is refused. All raise OSError, UnsafePath among them."""

    def __init__(self) -> None:
        self._added: set[bytes] = set()
        self._roots: list[Root] = []  # longest path first: one may be inside another

    def add(self, path: bytes, *, own: bool, hold: bool) -> None:
        """Permit calls below this directory from now on."""
        if path in self._added:  # by every file of a directory
            return
        self._added.add(path)
        for spelled in (path, os.path.abspath(path)):
            if all(root.path != spelled for root in self._roots):
                self._roots.append(Root(spelled, own=own, hold=hold))
        self._roots.sort(key=lambda root: len(root.path), reverse=True)

    def identify(self, path: bytes) -> os.stat_result:
        """stat(2) of a root directory."""
        root = next((root for root in self._roots if root.path == path), None)
        return os.stat(path) if root is None else root.identify()

    def close(self) -> None:
        """Release the held directories of all roots, which stay permitted."""
        for root in self._roots:
            root.release()

    def _find(self, path: bytes, *, itself: bool = True) -> tuple[Root, bytes]:
        """The root that contains the path (or is the path: `itself`), and the path relative to it. Raises
        UnsafePath."""
        for root in self._roots:
            top = root.path
            if path.startswith(top):
                if len(path) == len(top):
                    if itself:
                        return root, b"."
                    continue
                if top.endswith(b"/"):
                    return root, path[len(top) :]
                if path[len(top)] == 0x2F:
                    return root, path[len(top) + 1 :]
        raise _unsafe(errno.EXDEV, "it is outside the job's source and storage", False)

    def _above(self, path: bytes) -> bool:
        """Whether a path is a root or above one: a user named it, and it may be created and synced."""
        return any(root.path == path or root.path.startswith(path.rstrip(b"/") + b"/") for root in self._roots)

    def open(self, path: bytes, flags: int, mode: int = 0) -> int:
        """open(2)."""
        try:
            root, relative = self._find(path)
        except UnsafePath:
            if self._above(path):
                return os.open(path, flags | os.O_DIRECTORY)
            raise
        return root.open(relative, flags, mode)

    def lstat(self, path: bytes) -> os.stat_result:
        """lstat(2); for a root, or a directory above one, stat(2), because a user named those."""
        try:
            root, relative = self._find(path)
        except UnsafePath:
            if self._above(path):
                return os.stat(path)
            raise
        descriptor = root.open(relative, _PATH | os.O_NOFOLLOW)
        try:
            return os.fstat(descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def scan(self, path: bytes) -> Iterator[Iterator[Entry]]:
        """The directory's entries as they come."""
        root, relative = self._find(path)
        descriptor = root.open(relative, _LIST)
        try:
            with os.scandir(descriptor) as entries:  # by descriptor names are text
                yield (Entry(os.fsencode(e.name), entry_kind(e)) for e in entries)
        finally:
            os.close(descriptor)

    def _parent(self, path: bytes) -> tuple[int, bytes]:
        """Return a descriptor of the directory that holds `path`, which the caller closes, and the name in it."""
        root, relative = self._find(path, itself=False)
        above, _, name = relative.rpartition(b"/")
        if name in (b"", b".", b".."):
            raise _unsafe(errno.EXDEV, "it is not the name of a directory entry", root.own)
        return root.open(above or b".", _DIRECTORY), name

    def mkdir(self, path: bytes, mode: int) -> None:
        """mkdir(2)."""
        if self._above(path):
            os.mkdir(path, mode)
            return
        descriptor, name = self._parent(path)
        try:
            os.mkdir(name, mode, dir_fd=descriptor)
        finally:
            os.close(descriptor)

    def rename(self, old: bytes, new: bytes) -> None:
        """rename(2)."""
        source, name = self._parent(old)
        target = source
        try:
            new_directory, _, new_name = new.rpartition(b"/")
            if new_directory != old.rpartition(b"/")[0] or new_name in (b"", b".", b".."):
                target, new_name = self._parent(new)
            os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)
        finally:
            os.close(source)
            if target != source:
                os.close(target)

    def unlink(self, path: bytes) -> None:
        """unlink(2)."""
        descriptor, name = self._parent(path)
        try:
            os.unlink(name, dir_fd=descriptor)
        finally:
            os.close(descriptor)

    def rmdir(self, path: bytes) -> None:
        """rmdir(2)."""
        descriptor, name = self._parent(path)
        try:
            os.rmdir(name, dir_fd=descriptor)
        finally:
            os.close(descriptor)


def _unsafe(number: int, why: str, own: bool) -> UnsafePath:
    error = UnsafePath(number, why)
    error.own = own
    return error
