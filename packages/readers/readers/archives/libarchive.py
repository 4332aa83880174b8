"""libarchive (BSD-2-Clause) through ctypes: the members of an archive, read from a file object by callbacks.

The library comes with the wheel `archi`, whose own Python interface reads archives whole into memory and is not used;
if that wheel cannot be loaded, the system's library (Debian: libarchive13) is used. Every pass allows one format and no
filter, so that a member's name or content never decides what parses it."""

from __future__ import annotations

import ctypes
import errno
import functools
import importlib.util
import locale
import struct
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any, BinaryIO

from isal import isal_zlib

from readers.archives.compressed import skippable
from readers.archives.names import shown
from readers.archives.zip.handler import link_member, streamed_member
from readers.base import Child, ContainerHandler, Declared, Part, Source
from readers.errors import DocumentError, ExceptionCode, corrupt, expansion_limit, truncated, unsupported
from readers.records import Kind, Limits
from readers.rest import rest
from readers.streams import PieceStream

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
# Parts of libarchive's messages and their codes, in the order of search.
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
    raise unsupported("libarchive cannot be loaded; install the package libexpat1 or libarchive13")


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
            raise DocumentError(ExceptionCode.MEMORY, "there is not enough memory to open the archive")
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
        """Return the next member, skipping the rest of the present one; None at the end. Raises DocumentError."""
        pointer = _P()
        if self._checked(self._lib.archive_read_next_header(self._archive, ctypes.byref(pointer))) == _EOF:
            return None
        return ArchiveEntry(self._lib, pointer)

    def pieces(self, limit: int | None) -> Iterator[bytes]:
        """Yield the bytes of the member. Raises DocumentError, `corrupt` also if there are more than `limit`."""
        made = 0
        pointer, count, offset = _P(), ctypes.c_size_t(), _I64()
        where = ctypes.byref(pointer), ctypes.byref(count), ctypes.byref(offset)
        while self._checked(self._lib.archive_read_data_block(self._archive, *where)) != _EOF:
            if count.value == 0:
                continue
            if offset.value != made:
                raise corrupt(f"the member's data has a gap after {made} bytes")
            made += count.value
            if limit is not None and made > limit:
                raise corrupt(f"the member holds more than the announced {limit} bytes")
            yield ctypes.string_at(pointer.value or 0, count.value)

    @property
    def position(self) -> int:
        """Number of bytes of the file that the library has consumed."""
        return int(self._lib.archive_filter_bytes(self._archive, 0))

    def _checked(self, result: int) -> int:
        """Return the result, or raise DocumentError for a failure, or the error that the file raised."""
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


# What libarchive's formats have in common: members as children, and a bound on what is decoded only to get past it.


class Members:
    """Members that a reader reaches. `solid`: what the caller does not read of a member has to be decoded to reach the
    next; this may be as much as the archive may expand to, then the rest is `expansion_limit`."""

    def __init__(self, reader: ArchiveReader, size: int, limits: Limits, *, solid: bool) -> None:
        self._reader = reader
        self._solid = solid
        self._skippable = skippable(size, limits)
        self._names = 4 * size + 1_000_000  # bytes
        self._pieces: Iterator[bytes] = iter(())

    def next(self) -> ArchiveEntry | None:
        """The next member; None at the end. Raises DocumentError."""
        if self._solid:
            for piece in self._pieces:
                self._skippable -= len(piece)
                if self._skippable < 0:
                    raise expansion_limit("the rest follows more data than the archive may expand to")
        self._pieces = iter(())
        entry = self._reader.next()
        self._names -= len(entry.name) if entry is not None else 0
        if self._names < 0:  # a table of names may give each member all of it
            raise expansion_limit("the names of the members are longer than the archive")
        return entry

    def child(self, entry: ArchiveEntry, position: int, name: bytes | None = None, crc: int | None = None) -> Child:
        """Return the member as a child, failed if its data cannot be read or has another CRC-32 than `crc`."""
        name = entry.name if name is None else name
        if entry.link:
            return link_member(name, position)
        if entry.special:
            error = DocumentError(ExceptionCode.SPECIAL_FILE, "a FIFO or device in the archive")
            kind = Kind.ARCHIVE_MEMBER
            return Child(name=name, kind=kind, ordinal=position, error=error, media_type="inode/fifo")
        self._pieces = self._whole(entry, crc)
        return streamed_member(name, position, PieceStream(lambda: next(self._pieces, b"")), entry.size)

    def _whole(self, entry: ArchiveEntry, crc: int | None) -> Iterator[bytes]:
        made = computed = 0
        for piece in self._reader.pieces(entry.size):
            made += len(piece)
            if crc is not None:  # libarchive does not check the CRC of stored members
                computed = isal_zlib.crc32(piece, computed)
            yield piece
        if entry.size is not None and made < entry.size:
            raise truncated(f"the member ends after {made} of {entry.size} bytes")
        if crc is not None and computed != crc:
            raise corrupt("the member's CRC does not match")


def all_members(
    reader: ArchiveReader, size: int, limits: Limits, *, solid: bool, file: BinaryIO, what: str, end: int | None = None
) -> Iterator[Child]:
    """Yield every member but directories, with its position among all as ordinal. Raises DocumentError if the archive
    is cut or damaged: the rest is lost. The bytes of `file` after the archive's end, or after the last member, are
    accounted for (see `rest`)."""
    members = Members(reader, size, limits, solid=solid)
    position = 0
    try:
        while (entry := members.next()) is not None:
            if not entry.directory or entry.size:
                yield members.child(entry, position)
            position += 1
    except DocumentError as error:
        left = max(0, size - reader.position)
        raise DocumentError(error.code, f"{error.detail}; {left:,} bytes of the {what} were not read") from error
    yield from rest(file, reader.position if end is None else end, size, position, what)


# Cabinets ([MS-CAB]): stored, MSZIP and LZX, read with libarchive.

_HEADER = struct.Struct("<28xHH")  # CFHEADER up to cFiles and flags
_SIGNATURE = struct.Struct("<8xL18xH4xH6xLL")  # cbCabinet, flags, cbCFHeader, then what Authenticode has there
_RESERVED, _SIGNED = 4, 20
_IN_A_SET = 3  # flags: there is a cabinet before or behind this one


class CabHandler(ContainerHandler):
    """A cabinet; its files are its children, with their position as ordinal."""

    name = "cab"
    media_types: tuple[str, ...] = ("application/vnd.ms-cab-compressed",)
    declared = Declared(
        title="Cabinets",
        extensions=("cab",),
        children="files in the order of the directory",
        announces="the number of files in the header",
        leaves_out=(
            "times, owners and permissions of members",
            "Quantum compression",
            "files that continue in another cabinet of a set",
            "files after damaged data",
        ),
    ).alone()

    def announced(self, source: Source) -> int | None:
        """Return the number of files in the header; None if it is cut."""
        return _header(source)[0] if len(source.head) >= _HEADER.size else None

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield the files in order. A file that cannot be read is a Child with an error that is not emitted. Raises
        `unsupported` after the last file of one cabinet of a set, `corrupt` or `truncated` if it is damaged."""
        in_a_set = len(source.head) >= _HEADER.size and bool(_header(source)[1] & _IN_A_SET)
        with source.open() as file, closing(ArchiveReader(file, source.size, "cab")) as reader:
            end = _end(source.head)
            yield from shown(all_members(reader, source.size, limits, solid=True, file=file, what="cabinet", end=end))
        if in_a_set:
            raise unsupported("one cabinet of a set; the others are read separately", missing=0)


def _end(head: bytes) -> int | None:
    """Return the cabinet's end, including a signature that the header's reserved bytes locate."""
    if len(head) < _SIGNATURE.size:
        return None
    length, flags, reserved, at, size = _SIGNATURE.unpack_from(head)
    return max(int(length), int(at + size)) if flags & _RESERVED and reserved == _SIGNED else int(length)


def _header(source: Source) -> tuple[int, int]:
    """Return the number of files and the flags."""
    files, flags = _HEADER.unpack_from(source.head)
    return int(files), int(flags)


# Unix archives (`ar`, Debian packages), with the long names of System V, GNU and BSD, read with libarchive.

_TABLES = (b"/", b"/SYM64/")  # lists of the symbols of object files
_BSD_TABLE = b"__.SYMDEF"


class ArHandler(ContainerHandler):
    """A Unix archive; its members are its children, with their position as ordinal; symbol tables are counted."""

    name = "ar"
    media_types: tuple[str, ...] = ("application/x-archive",)
    declared = Declared(
        title="Unix archives (ar) and Debian packages",
        extensions=("a", "ar", "deb"),
        children="members in order, not the symbol table",
        leaves_out=(
            "times, owners and permissions of members",
            "members after a damaged one",
            "thin archives, whose members are stored elsewhere",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """The members in order; DocumentError where the archive is damaged."""
        with source.open() as file, closing(ArchiveReader(file, source.size, "ar")) as reader:
            for child in shown(all_members(reader, source.size, limits, solid=False, file=file, what="ar archive")):
                if child.name not in _TABLES and not child.name.startswith(_BSD_TABLE):
                    yield child


# cpio archives (binary of both byte orders, odc, newc, newc with checksums), read with libarchive.


class CpioHandler(ContainerHandler):
    """A cpio archive; its members are its children, with their position as ordinal. Directories are counted and are not
    items."""

    name = "cpio"
    media_types: tuple[str, ...] = ("application/x-cpio",)
    declared = Declared(
        title="cpio archives",
        extensions=("cpio",),
        children="members in order; links and special files as items without bytes",
        leaves_out=(
            "times, owners and permissions of members",
            "members after damaged data",
            "directory entries, which are not items",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """The members in order; DocumentError where the archive is damaged."""
        with source.open() as file, closing(ArchiveReader(file, source.size, "cpio")) as reader:
            yield from shown(all_members(reader, source.size, limits, solid=False, file=file, what="cpio archive"))
