"""Identification of items: by their magic bytes first, libmagic for the rest, the extension only to break ties."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Mapping
from typing import BinaryIO, NamedTuple

from readers.archives import split_part
from readers.archives.tar.header import is_tar_header
from readers.base import Source
from readers.charset import by_structure
from readers.charset_guess import readable, wide
from readers.identification import libmagic
from readers.identification.text import as_text, mail_type, page_type, text_type
from readers.identification.zip import BY_EXTENSION, zip_type
from readers.mail.smime.content_type import content_type
from readers.records import Limits
from readers.rest import known_by
from readers.tables.dbase.table import is_table

# Distinguishing OLE compound files ([MS-CFB]) by the names in their directory, reading a few sectors only.

OLE = "application/x-ole-storage"
_MAX_SECTORS = 64  # directory sectors looked at
_FIRST_SECTOR, _WORD_97 = (
    512,
    b"\xec\xa5",
)  # of a file without its directory: Word stores the document in its first sector
_END_OF_CHAIN = 0xFFFFFFFA  # this number and larger ones are no sectors

_BY_NAME = (  # in order: a message may carry a Word document, never the other way round at the top level
    ("EncryptedPackage", "encrypted"),
    ("__properties_version1.0", "application/vnd.ms-outlook"),
    ("__nameid_version1.0", "application/vnd.ms-outlook"),
    ("WordDocument", "application/msword"),
    ("Workbook", "application/vnd.ms-excel"),
    ("Book", "application/vnd.ms-excel"),
    ("PowerPoint Document", "application/vnd.ms-powerpoint"),
    ("VisioDocument", "application/vnd.visio"),
    ("Quill", "application/x-mspublisher"),
    ("MatOST", "application/vnd.ms-works"),
    ("MN0", "application/vnd.ms-works"),
    ("DocInfo", "application/x-hwp"),  # Hancom, "HWP Document File Formats 5.0", 3
)
_BY_CLASS = {  # of the root
    bytes.fromhex("84100c0000000000c000000000000046"): "application/x-msi",
    bytes.fromhex("b25aa40e0a9ed111a40700c04fb932ba"): "application/vnd.ms-works",  # of 2000 and later
}


class _Entry(NamedTuple):
    """Fields of a directory entry ([MS-CFB] 2.6.1)."""

    name: str  # upper case: names compare without case (2.6.4); "" where the entry is unused
    left: int
    right: int
    child: int
    class_id: bytes


def ole_type(source: Source, extension: bytes) -> str:
    """Return the media type of a compound file. With EncryptedPackage it is the OOXML type of its extension."""
    try:
        with source.open() as file:
            entries = _entries(file)
    except (struct.error, ValueError):
        entries = []
    names = _at_the_root(entries) or {entry.name for entry in entries}
    for name, media_type in _BY_NAME:
        if name.upper() in names:
            if media_type == "encrypted":
                return BY_EXTENSION.get(extension, OLE)
            return media_type
    if source.head.startswith(_WORD_97, _FIRST_SECTOR):
        return "application/msword"
    return _BY_CLASS.get(entries[0].class_id, OLE) if entries else OLE


def _at_the_root(entries: list[_Entry]) -> set[str]:
    """Return the names of the entries in the root, because a workbook may contain a document and a document a workbook;
    empty if the tree is damaged and no entry can be reached."""
    names: set[str] = set()
    met = {0}  # the root itself
    todo = [entries[0].child] if entries else []
    while todo:
        at = todo.pop()
        if at in met or at >= len(entries):
            continue
        met.add(at)
        entry = entries[at]
        names.add(entry.name)
        todo += (entry.left, entry.right)
    return names - {""}


def _entries(file: BinaryIO) -> list[_Entry]:
    """Return the directory's entries in order, as many as can be reached."""
    header = file.read(512)
    shift = struct.unpack_from("<H", header, 30)[0]
    if shift not in (9, 12):
        raise ValueError("sector size")
    size = 1 << shift
    fat_sectors = struct.unpack_from("<109L", header, 76)
    sector = struct.unpack_from("<L", header, 48)[0]
    entries: list[_Entry] = []
    for _ in range(_MAX_SECTORS):
        if sector >= _END_OF_CHAIN:
            break
        file.seek((sector + 1) * size)
        raw = file.read(size)
        for at in range(0, len(raw) - 127, 128):
            length, kind = struct.unpack_from("<HB", raw, at + 64)
            used = 2 <= length <= 64 and kind
            name = raw[at : at + length - 2].decode("utf-16-le", "replace").upper() if used else ""
            entries.append(_Entry(name, *struct.unpack_from("<3L16s", raw, at + 68)))
        which, index = divmod(sector, size // 4)
        if which >= len(fat_sectors) or fat_sectors[which] >= _END_OF_CHAIN:
            break
        file.seek((fat_sectors[which] + 1) * size + index * 4)
        sector = struct.unpack("<L", file.read(4))[0]
    return entries


EMPTY = "inode/x-empty"
UNKNOWN = "application/octet-stream"
_TNEF = "application/vnd.ms-tnef"
_PROGRAM = "application/x-dosexec"
# Types that libmagic reports for one or two bytes, which random data has by chance (about 1 %, with old .COM programs).
_GUESSES = frozenset(
    (
        *("application/zlib", "application/x-arc", "application/x-compress-ttcomp", "application/x-dosdriver"),
        *("font/x-amiga-font", "image/g3fax", "image/svg+xml", "image/x-tga"),
    )
)
# libmagic's types of current documents; outside of compound files they are of versions before Word 6 and Excel 5.
_OLDER = {"application/msword": "application/msword2", "application/vnd.ms-excel": "application/vnd.ms-excel.sheet.4"}
# Content of a PDF without its first line, or with text before it; its extension has to be that of a PDF then.
_PDF_BODY = re.compile(rb"%PDF-\d|^\d{1,10} \d{1,5} obj\b", re.MULTILINE)

# First bytes, by length; the longest are checked first.
_MAGIC: tuple[tuple[int, dict[bytes, str]], ...] = (
    (
        19,
        {
            b"\0\1\0\0Standard Jet DB": "application/x-msaccess",
            b"\0\1\0\0Standard ACE DB": "application/x-msaccess",
        },
    ),
    (17, {b"HWP Document File": "application/x-hwp"}),  # of versions before 5; later ones are compound files
    (
        16,
        {
            b"SQLite format 3\0": "application/vnd.sqlite3",
            bytes.fromhex("e4525c7b8cd8a74daeb15378d02996d3"): "application/onenote",  # [MS-ONESTORE] 2.3.1: .one
            bytes.fromhex("a12fff43d9ef764c9ee210ea5722765f"): "application/onenote",  # .onetoc2
        },
    ),
    (
        8,
        {
            b"\x89PNG\r\n\x1a\n": "image/png",
            b"!<arch>\n": "application/x-archive",
            b"bplist00": "application/x-bplist",
            b"=ybegin ": "text/x-yenc",
            b"WordPro\0": "application/vnd.lotus-wordpro",
        },
    ),
    (
        6,
        {
            b"7z\xbc\xaf\x27\x1c": "application/x-7z-compressed",
            b"\xfd7zXZ\0": "application/x-xz",
            b"Rar!\x1a\x07": "application/vnd.rar",
            b"GIF87a": "image/gif",
            b"GIF89a": "image/gif",
            b"\x01\0\x09\0\0\x03": "image/wmf",  # [MS-WMF] 2.3.2.2: in memory, a header of nine words, version 3
        },
    ),
    (5, {b"%PDF-": "application/pdf", b"{\\rtf": "application/rtf"}),
    (
        4,
        {
            b"!BDN": "application/vnd.ms-outlook-pst",
            b"\x78\x9f\x3e\x22": _TNEF,
            b"II*\0": "image/tiff",
            b"MM\0*": "image/tiff",
            b"II+\0": "image/tiff",
            b"MM\0+": "image/tiff",
            b"OggS": "audio/ogg",
            b"fLaC": "audio/flac",
            b"\x1aE\xdf\xa3": "video/x-matroska",
            b"\x28\xb5\x2f\xfd": "application/zstd",
            b"\x04\x22\x4d\x18": "application/x-lz4",
            b"8BPS": "image/vnd.adobe.photoshop",
            b"\x7fELF": "application/x-elf",
            b"MSCF": "application/vnd.ms-cab-compressed",
            b"\xd7\xcd\xc6\x9a": "image/wmf",
            b"AT&T": "image/vnd.djvu",
            b"\xffWPC": "application/vnd.wordperfect",
            b"\x31\xbe\0\0": "application/x-mswrite",
            b"\x32\xbe\0\0": "application/x-mswrite",
            b"\x09\x00\x04\x00": "application/vnd.ms-excel.sheet.2",  # the first record of a workbook, and its length
            b"\x09\x02\x06\x00": "application/vnd.ms-excel.sheet.3",
            b"\x09\x04\x06\x00": "application/vnd.ms-excel.sheet.4",
            b"\x09\x08\x08\x00": "application/vnd.ms-excel.sheet.5",
            b"\x09\x08\x10\x00": "application/vnd.ms-excel.sheet.5",
            b"\x00\x05\x16\x07": "application/applefile",  # RFC 1740: what AppleDouble keeps alongside a file
        },
    ),
    (
        3,
        {
            b"\xff\xd8\xff": "image/jpeg",
            b"ID3": "audio/mpeg",
            b"BZh": "application/x-bzip2",
            b"\x1f\x8b\x08": "application/gzip",
        },
    ),
)
# The header is digits from end to end: hexadecimal in newc (SVR4), octal in odc (POSIX.1-2001, pax).
_CPIO = re.compile(rb"07070[12][0-9A-Fa-f]{104}|070707[0-7]{70}")
# A dictionary whose keys are sorted, the first one of a torrent's, and what may follow it.
_TORRENT = re.compile(
    rb"d(?:8:announce|13:announce-list|18:azureus_properties|11:collections|7:comment|13:comment\.utf-8|10:created by|13:creation date"
    rb"|8:encoding|9:httpseeds|4:info)[0-9dil]"
)
_PART = re.compile(rb"\.(?:(?:7z|zip)\.\d{3}|z\d\d)\Z", re.IGNORECASE)
_ZIP_TAIL = 22 + 0xFFFF  # the end record and the longest comment (APPNOTE 4.3.16)
_DISC_AT = 16 * 2048
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08", b"PK00PK\x03\x04")
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/x-wav", b"AVI ": "video/x-msvideo"}
_FTYP = {
    b"qt  ": "video/quicktime",
    b"M4A ": "audio/mp4",
    b"M4B ": "audio/mp4",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"heim": "image/heic",
    b"heis": "image/heic",
    b"hevc": "image/heic",
    b"mif1": "image/heif",
    b"msf1": "image/heif",
    b"avif": "image/avif",
    b"M4P ": "audio/mp4",
    b"3gp4": "video/3gpp",
    b"3gp5": "video/3gpp",
}


# First two bytes of files that are identified by their first bytes, and the first byte of those with any second one.
_FIRST = frozenset(
    prefix[:2] for prefix in (*(prefix for _, table in _MAGIC for prefix in table), *_ZIP, _OLE, b"RIFF", b"BM", b"MZ")
)
_FIRST_BYTE = (b"0", b"d")
_DOT = b"."[0]


def extension_of(name: bytes) -> bytes:
    """Return the lower-case extension of a name, without its dot; b"" if it has none."""
    return os.path.splitext(name)[1][1:].lower() if _DOT in name else b""


_REGISTERED: dict[bytes, str] = {}  # first bytes → media type, from plugins
_ASKED: list[Callable[[bytes], str | None]] = []  # of plugins


def register_magic(magic: Mapping[bytes, str]) -> None:
    """Register first bytes that mark a type of a plugin; they are checked before our own."""
    _REGISTERED.update(magic)


def register_identify(asked: Callable[[bytes], str | None]) -> None:
    """Register a function that recognises a plugin's type from the first bytes (`Source.head`) in another way. It is
    called if no first bytes are known, before tar archives and disc images are checked."""
    if asked not in _ASKED:
        _ASKED.append(asked)


Elsewhere = Callable[[Source, str | None, Limits | None], str]
_ELSEWHERE: list[Elsewhere] = []


def identify_by(elsewhere: Elsewhere) -> None:
    """Replace `identify` by this function for the rest of this process (worker.sandbox)."""
    _ELSEWHERE[:] = [elsewhere]


def identify(source: Source, declared: str | None = None, limits: Limits | None = None) -> str:
    """Return the media type of these bytes. `declared` is what a parent declares (a MIME part's Content-Type); it and
    the extension decide only if the bytes could be several things. `limits`: of the caller, who takes hashes and
    children next. Raises only the errors of reading."""
    if source.size == 0:
        return EMPTY
    if _ELSEWHERE:
        return _ELSEWHERE[0](source, declared, limits)
    head = source.head
    extension = extension_of(source.name)
    return (
        _by_magic(source, head, extension)
        or _by_its_place(source, head, extension)
        or _by_content(head, extension, declared)
    )


def _by_magic(source: Source, head: bytes, extension: bytes) -> str | None:
    for prefix, media_type in _REGISTERED.items():
        if head.startswith(prefix):
            return media_type
    if head[:2] in _FIRST or head.startswith(_FIRST_BYTE):
        kind = _by_first_bytes(source, head, extension)
        if kind is not None:
            return kind
    if head[4:8] == b"ftyp":
        return _FTYP.get(head[8:12], "video/mp4")
    if is_table(head):  # no first bytes of its own: the fields of the header have to be consistent
        return "application/x-dbf"
    for asked in _ASKED:
        if (answer := asked(head)) is not None:
            return answer
    if len(head) >= 512 and is_tar_header(head[:512]):
        return "application/x-tar"
    if _is_disc(source, head, extension):
        return "application/x-iso9660-image"
    return None


def _by_first_bytes(source: Source, head: bytes, extension: bytes) -> str | None:
    """Return the type of bytes that begin with a byte of `_FIRST`."""
    for length, table in _MAGIC:
        kind = table.get(head[:length])
        if kind is not None:
            return kind
    if head.startswith(_ZIP):
        return zip_type(source, head, extension)
    if head.startswith(_OLE):
        return ole_type(source, extension)
    if head.startswith(b"RIFF"):
        return _RIFF.get(head[8:12])
    if head[:1] == b"0" and content_type(head) is not None:
        return "application/pkcs7-signature" if extension == b"p7s" else "application/pkcs7-mime"
    if head.startswith(b"BM") and _is_bitmap(head):
        return "image/bmp"
    if (
        head.startswith(b"MZ")
        and (
            extension == b"exe"  # programs for DOS have no second header
            or (head[60:64] and head.startswith(b"PE\0\0", int.from_bytes(head[60:64], "little")))
        )
    ):
        return _PROGRAM
    if head[:1] == b"d" and _TORRENT.match(head):
        return "application/x-bittorrent"
    return "application/x-cpio" if _CPIO.match(head) else None


def _by_its_place(source: Source, head: bytes, extension: bytes) -> str | None:
    """Recognise one of the pieces of a split archive after the first: they begin anywhere, so the name has to show it,
    and the end too for the last piece of a zip archive."""
    part = _PART.search(source.name)
    if part is None and extension not in (b"zip", b"zipx"):
        return None
    if as_text(head) is not None:
        return None
    if part is None:
        with source.open() as file:
            file.seek(max(0, source.size - _ZIP_TAIL))
            return "application/zip" if _ZIP[1] in file.read() else None
    return split_part.MEDIA_TYPE


def _is_disc(source: Source, head: bytes, extension: bytes) -> bool:
    """Return whether there is a volume descriptor in sector 16 (ISO 9660, 6.2.1). It is checked if the sectors before
    it are empty, or contain a boot program and the extension is that of a disc image."""
    if source.size < _DISC_AT + 2048 or (extension != b"iso" and head.strip(b"\0")):
        return False
    with source.open() as file:
        file.seek(_DISC_AT)
        return file.read(6)[1:] == b"CD001"


def _is_bitmap(head: bytes) -> bool:
    """Check BITMAPFILEHEADER and the size of the header after it, which has few values."""
    reserved, header_size = head[6:10], int.from_bytes(head[14:18], "little")
    return reserved == b"\0\0\0\0" and header_size in (12, 16, 40, 52, 56, 64, 108, 124)


def _by_content(head: bytes, extension: bytes, declared: str | None) -> str:
    if extension == b"pdf" and _PDF_BODY.search(head):
        return "application/pdf"
    text = as_text(head)
    if text is not None:
        return text_type(text, extension, declared)
    if (known := mail_type(head, extension, declared) or page_type(head, extension)) is not None:
        return known
    if head[40:44] == b" EMF":  # [MS-EMF] 2.3.4.2; a PDF in one is its child
        return "image/emf"
    if head.find(b"%PDF-", 0, 1024) >= 0:  # PDF 32000-1, annex H: junk in front is tolerated
        return "application/pdf"
    kind = libmagic.media_type(head)
    if kind is None or kind in _GUESSES or (kind == _PROGRAM and not head.startswith(b"MZ")):
        codec = by_structure(head) or wide(
            head
        )  # for texts that `as_text` does not recognise: without ASCII, or with escape sequences
        if codec and readable(head, codec):
            return text_type(head.decode(codec, "replace").encode("utf-8", "replace"), extension, declared)
        return UNKNOWN
    if kind in ("application/vnd.ms-tnef", "application/ms-tnef"):
        return _TNEF
    if kind.startswith("text/"):
        return text_type(head, extension, declared)
    if kind in _OLDER:
        return _OLDER[kind]
    return kind


known_by(lambda source: identify(source) != UNKNOWN)
