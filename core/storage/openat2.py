"""openat2(2), which Python does not have: open below a directory, through no link; and the same without it."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import stat

_OPENAT2 = 437  # the same on every architecture that Linux has added calls to at the same time: all but alpha
_NO_SYMLINKS = 0x04
_BENEATH = 0x08
_MOST_TRIES = 100  # of a call that the kernel asks to be made again (EAGAIN: something was renamed meanwhile)


class _How(ctypes.Structure):
    """struct open_how."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_syscall = ctypes.CDLL(None, use_errno=True).syscall
_syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)
_syscall.restype = ctypes.c_long
_HOW_SIZE = ctypes.sizeof(_How)


@functools.cache
def _how(flags: int, mode: int) -> bytes:
    """The structure's bytes; a process uses a handful of them."""
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
    """Whether this kernel, and what filters its calls, let openat2 through."""
    try:
        os.close(_openat2(-100, b".", os.O_PATH | os.O_CLOEXEC, 0))  # -100: AT_FDCWD
    except OSError:
        return False
    return True


def open_beneath(directory: int, relative: bytes, flags: int, mode: int = 0) -> int:
    """open(2) of a path below a directory's descriptor; `b"."` is the directory itself.

    Raises OSError: ELOOP when any component is a link (of the last one: unless flags have O_PATH and O_NOFOLLOW),
    EXDEV when the path is absolute or has `..`, else as open(2).
    """
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
