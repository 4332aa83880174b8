"""Meaning of the system's error numbers for a job: an error of one file, or of the storage."""

from __future__ import annotations

import errno
import os
import stat

from core.errors import SourceFileError, StorageFault
from core.names import display_name
from core.storage.beneath import UnsafePath
from readers.errors import ExceptionCode

# Errors that say nothing about one file: the filer, the network to it or this process is in trouble.
_FAULTS = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EROFS,
        errno.ESTALE,
        errno.ENODEV,
        errno.ENXIO,
        errno.EREMOTEIO,
        errno.ETIMEDOUT,
        errno.ENOTCONN,
        errno.ESHUTDOWN,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.ECONNREFUSED,
        errno.ECONNRESET,
        errno.ECONNABORTED,
        errno.ENOLINK,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ENOBUFS,
    }
)

_ADVICE = {
    errno.ENOSPC: "free space (or inodes) on it",
    errno.EDQUOT: "raise the quota or free space",
    errno.EROFS: "mount it writable",
    errno.ESTALE: "check that the filer is mounted and reachable, and that no part of it is full",  # GlusterFS: for both
    errno.EIO: "check the filer and the kernel log",
    errno.EACCES: "give this user access to it",
    errno.EPERM: "give this user access to it",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "raise fs.file-max",
    errno.ENOMEM: "free memory on this machine",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f, or the file system's own)",
    errno.ENAMETOOLONG: "choose a storage root with a shorter path",
    errno.ENOTEMPTY: "stop the process that writes to it or has a file in it open, then try again",
    errno.EBUSY: "close its open files or unmount what is mounted there, then try again",
    errno.EEXIST: "find the other program that writes there",
    errno.ENOENT: "check that it is mounted, and which other programs use this storage",
    errno.ENOTDIR: "a file has the name of a directory: move it away",
}
_ADVICE_GONE = "check that the filer is mounted and reachable"
_ADVICE_UNSAFE = {
    errno.ELOOP: "find the program that put it there, and restore the directory",
    errno.EXDEV: "find the program that wrote such a path into the database",
}


def storage_fault(doing: str, path: bytes, error: OSError) -> StorageFault:
    """A fault of the storage: one line with the path, the system's message and what to do."""
    number = error.errno or 0
    advice = (_ADVICE_UNSAFE if isinstance(error, UnsafePath) else _ADVICE).get(number, _ADVICE_GONE)
    return StorageFault(f"cannot {doing} {display_name(path)}: {_words(error)}; {advice}", errno=number)


def _words(error: OSError) -> str:
    return str(error.strerror) if isinstance(error, UnsafePath) else os.strerror(error.errno or 0)


def reading_error(doing: str, path: bytes, error: OSError) -> SourceFileError | StorageFault:
    """The error for a failed scan, stat, open or read of `path`.

    `vanished` if it is gone; `unreadable` if it is refused or broken; a fault for any error of the storage. A lone EIO
    is `unreadable`; the caller finds out by the source root whether it was really the file."""
    number = error.errno or 0
    if number in _FAULTS or (isinstance(error, UnsafePath) and error.own):
        return storage_fault(doing, path, error)
    # ENOTDIR: a directory above it was replaced by a file.
    code = ExceptionCode.VANISHED if number in (errno.ENOENT, errno.ENOTDIR) else ExceptionCode.UNREADABLE
    return _source_error(code, doing, path, error)


def opening_error(path: bytes, error: OSError) -> SourceFileError | StorageFault:
    """Like `reading_error`, for an open, which refuses a link, and a socket or device without driver."""
    if error.errno == errno.ELOOP and not isinstance(error, UnsafePath):
        return _source_error(ExceptionCode.SYMLINK, "open", path, error)
    if error.errno == errno.ENXIO:
        return _source_error(ExceptionCode.SPECIAL_FILE, "open", path, error)
    return reading_error("open", path, error)


def listing_error(path: bytes, error: OSError) -> SourceFileError | StorageFault:
    """Like `reading_error`, for a scan, which refuses a directory that has become a link."""
    if error.errno == errno.ELOOP and not isinstance(error, UnsafePath):
        return _source_error(ExceptionCode.SYMLINK, "list", path, error)
    return reading_error("list", path, error)


def _source_error(code: ExceptionCode, doing: str, path: bytes, error: OSError) -> SourceFileError:
    number = error.errno or 0
    return SourceFileError(code, f"cannot {doing} {display_name(path)}: {_words(error)}", errno=number)


def cut_short(path: bytes, read: int, size: int) -> SourceFileError:
    """The error for a file that ended before its size at the open: it was cut meanwhile, or the storage lost bytes."""
    detail = f"{display_name(path)} ended after {read} of {size} bytes"
    return SourceFileError(ExceptionCode.CHANGED_DURING_PROCESSING, detail)


def not_regular(path: bytes, mode: int) -> SourceFileError:
    """The error for an open file of this mode, which is no regular file."""
    if stat.S_ISDIR(mode):
        return SourceFileError(ExceptionCode.UNREADABLE, f"{display_name(path)} is a directory now", errno=errno.EISDIR)
    return SourceFileError(
        ExceptionCode.SPECIAL_FILE, f"{display_name(path)} is a FIFO, socket or device; it is not read"
    )
