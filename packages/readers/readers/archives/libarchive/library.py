"""libarchive (BSD-2-Clause) through ctypes: the members of an archive, read from a file object by callbacks.

The library comes with the wheel `archi`, whose own Python interface reads archives whole into memory and is not used;
where that wheel cannot be loaded, the system's library (Debian: libarchive13) serves. Every pass allows one format and
no filter, so that a member's name or content never decides what parses it.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import importlib.util
import locale
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO

from readers.errors import DocumentError, ExceptionCode

_EOF, _WARN = 1, -20
_BLOCK = 1 << 16  # bytes read at a time
_LINK, _TYPE, _DIRECTORY, _REGULAR = 0o120000, 0o170000, 0o040000, 0o100000
_READ = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
_SKIP = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_SEEK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int)
_P, _INT, _I64 = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
_PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "archive_read_new": (_P, ()),
    "archive_read_free": (_INT, (_P,)),
    "archive_read_support_format_7zip": (_INT, (_P,)),
    "archive_read_support_format_rar": (_INT, (_P,)),
    "archive_read_support_format_rar5": (_INT, (_P,)),
    "archive_read_support_format_cab": (_INT, (_P,)),
    "archive_read_support_format_ar": (_INT, (_P,)),
    "archive_read_support_format_cpio": (_INT, (_P,)),
    "archive_read_set_read_callback": (_INT, (_P, _READ)),
    "archive_read_set_skip_callback": (_INT, (_P, _SKIP)),
    "archive_read_set_seek_callback": (_INT, (_P, _SEEK)),
    "archive_read_set_callback_data": (_INT, (_P, _P)),
    "archive_read_open1": (_INT, (_P,)),
    "archive_read_next_header": (_INT, (_P, ctypes.POINTER(_P))),
    "archive_read_data_block": (
        _INT,
        (_P, ctypes.POINTER(_P), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(_I64)),
    ),
    "archive_filter_bytes": (_I64, (_P, _INT)),
    "archive_errno": (_INT, (_P,)),
    "archive_error_string": (ctypes.c_char_p, (_P,)),
    "archive_entry_pathname": (ctypes.c_char_p, (_P,)),
    "archive_entry_pathname_utf8": (ctypes.c_char_p, (_P,)),
    "archive_entry_hardlink": (ctypes.c_char_p, (_P,)),
    "archive_entry_mode": (ctypes.c_uint, (_P,)),
    "archive_entry_size": (_I64, (_P,)),
    "archive_entry_size_is_set": (_INT, (_P,)),
}
# What its messages say, in the order in which they are looked for.
_CODES = (
    ("ncrypt", ExceptionCode.ENCRYPTED),
    ("runcated", ExceptionCode.TRUNCATED),
    ("nsupported", ExceptionCode.UNSUPPORTED),
    ("not supported", ExceptionCode.UNSUPPORTED),
    ("ultivolume", ExceptionCode.UNSUPPORTED),
    ("codec ID", ExceptionCode.UNSUPPORTED),
)


@functools.cache
def library() -> Any:
    """The library with its prototypes; DocumentError `unsupported` where this machine has none."""
    with suppress(locale.Error):  # names are in the locale's encoding: under LC_ALL=C those of cabinets were lost
        locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    candidates = ["libarchive.so.13"]
    bundled = importlib.util.find_spec("archi")
    if bundled is not None and bundled.origin is not None:
        candidates.insert(0, bundled.origin)  # an extension module: what it is linked with is found through it
    for path in candidates:
        try:
            loaded = ctypes.CDLL(path)
            for name, (result, arguments) in _PROTOTYPES.items():
                function = getattr(loaded, name)
                function.restype, function.argtypes = result, arguments
        except (OSError, AttributeError):
            continue  # not there, or linked with something that is not
        return loaded
    raise DocumentError(
        ExceptionCode.UNSUPPORTED, "no libarchive can be loaded; install the package libexpat1, or libarchive13"
    )


class ArchiveEntry:
    """The current member of an archive; valid until the next one is requested."""

    def __init__(self, lib: Any, pointer: Any) -> None:
        mode = lib.archive_entry_mode(pointer) & _TYPE
        self.name: bytes = lib.archive_entry_pathname(pointer) or lib.archive_entry_pathname_utf8(pointer) or b""
        self.directory = mode == _DIRECTORY
        self.link = mode == _LINK or lib.archive_entry_hardlink(pointer) is not None
        self.special = not self.link and mode not in (0, _REGULAR, _DIRECTORY)
        known = lib.archive_entry_size_is_set(pointer)
        self.size: int | None = max(0, lib.archive_entry_size(pointer)) if known else None


class ArchiveReader:
    """One pass over an archive of one format. Close it."""

    def __init__(self, file: BinaryIO, size: int, *formats: str) -> None:
        """`file` is read from 0 to `size`; `formats` are names of libarchive's. Raises DocumentError."""
        self._lib = library()
        self._file, self._size = file, size
        self._chunk = b""
        self._fault: BaseException | None = None
        # The library keeps these pointers; so must we.
        self._callbacks = (_READ(self._read), _SKIP(self._skip), _SEEK(self._seek))
        file.seek(0)
        self._archive = self._lib.archive_read_new()
        if not self._archive:
            raise DocumentError(ExceptionCode.MEMORY, "there is no memory to open the archive")
        try:
            for name in formats:
                getattr(self._lib, f"archive_read_support_format_{name}")(self._archive)
            self._lib.archive_read_set_read_callback(self._archive, self._callbacks[0])
            self._lib.archive_read_set_skip_callback(self._archive, self._callbacks[1])
            self._lib.archive_read_set_seek_callback(self._archive, self._callbacks[2])
            self._lib.archive_read_set_callback_data(self._archive, None)  # without it there is no place to read from
            self._checked(self._lib.archive_read_open1(self._archive))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Free what the library holds."""
        if self._archive:
            self._lib.archive_read_free(self._archive)
            self._archive = None

    def next(self) -> ArchiveEntry | None:
        """The next member, behind what is left of the present one; None at the end. Raises DocumentError."""
        pointer = _P()
        if self._checked(self._lib.archive_read_next_header(self._archive, ctypes.byref(pointer))) == _EOF:
            return None
        return ArchiveEntry(self._lib, pointer)

    def pieces(self, limit: int | None) -> Iterator[bytes]:
        """The bytes of the member. Raises DocumentError, `corrupt` also where there are more than `limit`."""
        made = 0
        pointer, count, offset = _P(), ctypes.c_size_t(), _I64()
        where = ctypes.byref(pointer), ctypes.byref(count), ctypes.byref(offset)
        while self._checked(self._lib.archive_read_data_block(self._archive, *where)) != _EOF:
            if count.value == 0:
                continue
            if offset.value != made:
                raise DocumentError(ExceptionCode.CORRUPT, f"the member's data has a gap behind {made} bytes")
            made += count.value
            if limit is not None and made > limit:
                raise DocumentError(ExceptionCode.CORRUPT, f"the member holds more than the announced {limit} bytes")
            yield ctypes.string_at(pointer.value or 0, count.value)

    @property
    def position(self) -> int:
        """How many bytes of the file the library has used up."""
        return int(self._lib.archive_filter_bytes(self._archive, 0))

    def _checked(self, result: int) -> int:
        """The result, where it is no failure. What the file raised comes out of here as it was."""
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault
        if result >= _WARN:  # a warning is about a name or an attribute; the data is sound
            return result
        message = (self._lib.archive_error_string(self._archive) or b"the archive is damaged").decode(
            "utf-8", "replace"
        )
        if self._lib.archive_errno(self._archive) == errno.ENOMEM:
            raise DocumentError(ExceptionCode.MEMORY, message)
        code = next((code for word, code in _CODES if word in message), ExceptionCode.CORRUPT)
        raise DocumentError(code, message)

    def _read(self, _archive: int, _data: int, where: Any) -> int:
        try:
            self._chunk = self._file.read(min(_BLOCK, max(0, self._size - self._file.tell())))
        except BaseException as error:  # noqa: BLE001  # must not pass through C; `_checked` raises it
            self._fault = error
            return -1
        where[0] = ctypes.cast(ctypes.c_char_p(self._chunk), _P).value
        return len(self._chunk)

    def _skip(self, _archive: int, _data: int, count: int) -> int:
        try:
            here = self._file.tell()
            return self._file.seek(min(self._size, here + count)) - here
        except BaseException as error:  # noqa: BLE001  # as above
            self._fault = error
            return 0

    def _seek(self, _archive: int, _data: int, offset: int, whence: int) -> int:
        try:
            base = {0: 0, 1: self._file.tell(), 2: self._size}[whence]
            return self._file.seek(min(self._size, max(0, base + offset)))
        except BaseException as error:  # noqa: BLE001  # as above
            self._fault = error
            return -1
