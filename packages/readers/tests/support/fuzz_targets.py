"""Each of our own parsers, with bytes to begin with: for `make fuzz`, and for the damage that the test suite does to
them.

`FORMATS` are read as the pipeline reads an item of their media type. `PARSERS` are parts of readers by themselves: each is made by a
function here, which imports what it needs, so that libFuzzer can instrument it. Both may raise DocumentError and nothing else."""

import bz2
import contextlib
import datetime
import io
import lzma
import plistlib
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from access_file import LONG, MEMO, TEXT, Column, Given, Maker, inline, maker
from archive_files import RAR_OF_WINRAR, cabinet, cpio, disc, rar, zipped
from djvu_file import djvu
from hwp_file import hwp
from metafiles import emf, emr, emr_font, emr_text, plus, plus_string, small, wide, wmf, wmr, wmr_ext_text, wmr_font
from mutants.originals import Original, originals
from one_file import ASCII, TITLE, packaged, section
from one_file import TEXT as ONE_TEXT

from core.records import Limits
from readers.base import MemorySource
from readers.errors import DocumentError

LIMITS = Limits(parse_bytes=1_000_000, text_characters=1_000_000, expansion_floor=1_000_000)
_CHILD_BYTES = 4_000_000
_PART = 1_000


class Target(NamedTuple):
    """What is fuzzed: a function, and bytes to begin with."""

    read: Callable[[bytes], object]
    seeds: Sequence[bytes]


def handler(media_type: str, name: bytes = b"fuzzed") -> Callable[[bytes], None]:
    """Everything that the pipeline asks of the handler of this media type."""
    from readers.registry import handler_for

    reader = handler_for(media_type)

    def read(data: bytes) -> None:
        source = MemorySource(name, data)
        parts: list[object] = [None]
        with contextlib.suppress(DocumentError):
            reader.announced(source)
        with contextlib.suppress(DocumentError):
            parts += reader.parts(source, _PART)[:3]
        for part in parts:
            with contextlib.suppress(DocumentError):
                left = _CHILD_BYTES
                for child in reader.children(source, LIMITS, part):  # type: ignore[arg-type]
                    with contextlib.suppress(DocumentError):
                        while child.stream is not None and left > 0 and (piece := child.stream.read(1 << 16)):
                            left -= len(piece)
                    left -= len(child.data or b"") + 1_000
                    if left <= 0:
                        break
        with contextlib.suppress(DocumentError):
            reader.text(source, LIMITS).text.encode("utf-8")
        reader.message_hashes(source, LIMITS)

    return read


@cache
def _all() -> list[Original]:
    return originals()


def files(*suffixes: str) -> list[bytes]:
    """The real files that end so, and the generator's where there are none; the smallest first."""
    return sorted((o.data for o in _all() if o.group in suffixes), key=len)[:40]


def _database(old: bool) -> bytes:
    make, columns = Maker(old), (Column("number", LONG), Column("name", TEXT), Column("notes", MEMO))
    rows = [(struct.pack("<i", i), make.text(f"name{i}"), inline(make.text("memo" * i))) for i in range(9)]
    return maker(Given("People", columns, rows), old=old).whole()


_AR = (
    b"!<arch>\n//                                              12        `\nlong-name/\n\n"
    b"/0              0           0     0     100644  5         `\nhello\n"
    b"#1/4            0           0     0     100644  6         `\nnameab"
)
_CABINET = cabinet([("a.txt", b"some content")])
_LINK = b'(maparea "https://example.org" "seen" (rect 0 0 5 5) (xor))'
_DBF = (
    struct.pack("<4BIHH17xBxx", 3, 120, 2, 3, 1, 65, 4, 0) + struct.pack("<11sc4xH14x", b"A", b"C", 3) + b"\r one\x1a"
)
_MEMO = b"\0\0\0\x10\0\0\0\x40".ljust(512, b"\0") + b"\0\0\0\x01\0\0\0\x04memo"
_EMF = (
    emf(wide("text"), emr_font(1, 204), emr(37, b"\1\0\0\0"), emr_text(b"\xcf\xf0", 2, kind=83), small(b"a", 0x200)),
    emf(plus(plus_string("text"))),
)
_WMF = wmf(wmr_font(204), wmr(0x12D, b"\0\0"), wmr_ext_text(b"text", options=2, far=(1, 2, 3, 4)))
_ENCODED = (
    b"text\nbegin 644 a.txt\n#0V%T\n`\nend\n",
    b"> begin-base64 644 a.txt\n> Q2F0\n> ====\n",
    b"=ybegin line=128 size=3 name=a.bin\n=}}\x8e\n=yend size=3\n",
    b"(This file must be converted with BinHex 4.0)\n:#P*PF'pbG#jdH(3!9%9B9(4dH(3!:\n",
)
_PAGE = {"WebResourceData": b"page", "WebResourceURL": "http://e/x", "WebResourceMIMEType": "text/html"}
_LISTS = (
    {"key": ["value", 1, 2.5, datetime.datetime(2020, 1, 2), {"x": "ü"}], "long": "y" * 90},
    {"WebMainResource": _PAGE},
)
_NOTES = (1, {TITLE: b"t\0", ONE_TEXT: "words".encode("utf-16-le")}), (2, {ASCII: b"x"})
# By target: the media type, how the names of files end that it begins with, and further bytes to begin with.
FORMATS: dict[str, tuple[str, tuple[str, ...], *tuple[bytes, ...]]] = {
    "access": ("application/x-msaccess", (), _database(False), _database(True)),
    "ar": ("application/x-archive", (), _AR),
    "cab": ("application/vnd.ms-cab-compressed", (), _CABINET),
    "cpio": ("application/x-cpio", (), cpio([("a.txt", b"content")])),
    "csv": ("text/csv", (".csv",)),
    "dbase": ("application/x-dbf", (".dbf",), _DBF),
    "djvu": ("image/vnd.djvu", (".djvu",), djvu("one \x1ftwo", _LINK), djvu()),
    "doc": ("application/msword", (".doc",)),
    "emf": ("image/emf", (), *_EMF),
    "eml": ("message/rfc822", (".eml",)),
    "emlx": ("message/x-emlx", (".emlx",)),
    "encoded": ("text/x-uuencode", (), *_ENCODED),
    "gzip": ("application/gzip", (".tgz", ".gz")),
    "html": ("text/html", (".html", ".htm")),
    "hwp": ("application/x-hwp", (".hwp",), hwp("one", "two", flags=0, BIN0001_png=b"\x89PNG"), hwp("packed")),
    "ics": ("text/calendar", (".ics", ".ical")),
    "mbox": ("application/mbox", (".mbox",)),
    "memos": ("application/x-fpt", (), _MEMO),
    "mhtml": ("multipart/related", (".mht", ".eml")),
    "msg": ("application/vnd.ms-outlook", (".msg",)),
    "ole_storage": ("application/x-ole-storage", (".doc", ".msg", ".xls")),
    "onenote": ("application/onenote", (), section(*_NOTES, files={"a": b"b"}), packaged([*_NOTES], files={"a": b"b"})),
    "plist": ("application/x-bplist", (), *(plistlib.dumps(one, fmt=plistlib.FMT_BINARY) for one in _LISTS)),
    "ppt": ("application/vnd.ms-powerpoint", (".ppt",)),
    "program": ("application/x-dosexec", (), b"MZ".ljust(64, b"\0") + _CABINET),
    "pst": ("application/vnd.ms-outlook-pst", (".pst",)),
    "rar": ("application/vnd.rar", (".rar",), rar([("a.txt", b"content")]), RAR_OF_WINRAR),
    "rtf": ("application/rtf", (".rtf",)),
    "sevenz": ("application/x-7z-compressed", (".7z",)),
    "tar": ("application/x-tar", (".tar",)),
    "tnef": ("application/vnd.ms-tnef", (".tnef", ".dat")),
    "vcf": ("text/vcard", (".vcf",)),
    "wmf": ("image/wmf", (), _WMF),
    "xls": ("application/vnd.ms-excel", (".xls",)),
    "xls_old": (
        "application/vnd.ms-excel.sheet.4",
        (),
        bytes.fromhex("0904060000001000000004020b0000000000000003006162630a000000"),
    ),
    "xml": ("text/xml", (".xml", ".svg", ".xhtml")),
    "zip_archive": ("application/zip", (".zip",)),
}
PARSERS: dict[str, Callable[[], Target]] = {}


def names() -> list[str]:
    """Of all targets."""
    return sorted((*FORMATS, *PARSERS))


def load(name: str) -> Target:
    """A target by its name."""
    if name in PARSERS:
        return PARSERS[name]()
    media_type, endings, *written = FORMATS[name]
    return Target(handler(media_type), [*files(*endings), *written])


def _parser(make: Callable[[], Target]) -> Callable[[], Target]:
    PARSERS[make.__name__] = make
    return make


@_parser
def compound() -> Target:
    """Compound files: the directory and every stream of it, and property sets."""
    from readers.office.ole import property_set
    from readers.office.ole.compound import CompoundFile, DirectoryEntry

    def read(data: bytes) -> None:
        compound = CompoundFile(data)
        todo: list[DirectoryEntry] = [compound.root]
        while todo:
            entry = todo.pop()
            todo += entry.children
            compound.read(entry)
        property_set.metadata(compound)

    return Target(read, files(".doc", ".xls", ".ppt", ".msg"))


@_parser
def exif() -> Target:
    """EXIF of a JPEG: the input is the block itself."""
    from readers.images import exif

    def read(data: bytes) -> None:
        block = b"Exif\0\0" + data[:65_000]
        whole = b"\xff\xd8\xff\xe1" + (len(block) + 2).to_bytes(2, "big") + block + b"\xff\xd9"
        exif.read(io.BytesIO(whole), len(whole), "JPEG")

    tags = b"II*\0\x08\0\0\0\x02\0\x10\x01\x02\0\x05\0\0\0\x26\0\0\0\x69\x87\x04\0\x01\0\0\0\x08\0\0\0\0\0\0\0abcd\0"
    return Target(read, [tags])


@_parser
def identification() -> Target:
    """What an item is, from its bytes and its name."""
    from readers.identification.identify import identify

    found = files(".doc", ".zip", ".eml", ".mbox", ".html", ".xml", ".tar", ".p7m", ".pst", ".docx")

    def read(data: bytes) -> None:
        identify(MemorySource(b"a.dat", data), "text/plain" if data[:1] > b"\x80" else None)

    return Target(read, [data[:8_192] for data in found])


@_parser
def inflate() -> Target:
    """The decompressors behind their one interface; the first byte says which."""
    from readers.inflate import BZIP2, DECODE_ERRORS, DEFLATED, DEFLATED64, LZMA, XZ, ZSTD, Inflater
    from traces.blocks import zstd

    methods, at_once = (DEFLATED, BZIP2, DEFLATED64, ZSTD, XZ, LZMA), 4_096
    text = b"".join(data[:3_000] for data in files(".txt", ".html")[:5])
    raw = {"id": lzma.FILTER_LZMA1, "lc": 3, "lp": 0, "pb": 2, "dict_size": 1 << 16}
    deflated = zlib.compress(text, 9)[2:-4]
    head = b"\x09\x14\x05\0\x5d\0\0\x01\0"
    packed = (
        *(deflated, bz2.compress(text), deflated, zstd.compress(text), lzma.compress(text)),
        head + lzma.compress(text, lzma.FORMAT_RAW, filters=[raw]),
    )

    def read(data: bytes) -> None:
        if not data:
            return
        inflater, out, at = Inflater(methods[data[0] % len(methods)]), 0, 1
        with contextlib.suppress(*DECODE_ERRORS):
            while out < LIMITS.parse_bytes and not inflater.ended and (at < len(data) or not inflater.wants_more):
                piece = inflater.feed(data[at : at + at_once], at_once)
                at += at_once
                out += len(piece)

    return Target(read, [bytes([number]) + data for number, data in enumerate(packed)])


@_parser
def iso() -> Target:
    """The directory of a disc image."""
    system_area = 16 * 2_048  # bytes in front, of no meaning
    reader = handler("application/x-iso9660-image")
    image = disc([("a.txt", b"content"), ("dir/b.txt", b"content")], joliet=True, rock_ridge=True)
    return Target(lambda data: reader(bytes(system_area) + data), [image[system_area:]])


@_parser
def mail_inline() -> Target:
    """uuencoded and yEnc files in the text of a message."""
    from readers.mail.inline import decode_yenc, inline_files

    def read(data: bytes) -> None:
        inline_files(data, 0, len(data))
        decode_yenc(data)

    return Target(read, [_ENCODED[0], _ENCODED[2]])


def _one_of(kinds: Sequence[Callable[[bytes], object]]) -> Callable[[bytes], None]:
    """A reader of what follows the first byte, which says by which of these."""

    def read(data: bytes) -> None:
        if data:
            kinds[data[0] % len(kinds)](data[1:])

    return read


@_parser
def office_xml() -> Target:
    """The XML inside docx, xlsx, pptx, odt and ods: one part of a package is the input; the first byte says which."""
    office, opendocument = "application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument."
    word, excel = office + "wordprocessingml.document", office + "spreadsheetml.sheet"
    parts = (
        (".docx", word, "word/document.xml"),
        (".docx", word, "[Content_Types].xml"),
        (".xlsx", excel, "xl/worksheets/sheet1.xml"),
        (".xlsx", excel, "xl/workbook.xml"),
        (".xlsx", excel, "xl/sharedStrings.xml"),
        (".xlsx", excel, "xl/styles.xml"),
        (".pptx", office + "presentationml.presentation", "ppt/slides/slide1.xml"),
        (".odt", opendocument + "text", "content.xml"),
        (".ods", opendocument + "spreadsheet", "content.xml"),
        (".odt", opendocument + "text", "META-INF/manifest.xml"),
    )

    def members(suffix: str) -> dict[str, bytes]:
        for data in files(suffix):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                if not any(member.flag_bits & 1 for member in archive.infolist()):
                    return {name: archive.read(name) for name in archive.namelist()}
        return {}

    def reader(media_type: str, package: dict[str, bytes], part: str) -> Callable[[bytes], None]:
        small = {name: data for name, data in package.items() if not name.endswith("/") and len(data) < 100_000}
        read = handler(media_type)
        return lambda data: read(zipped(small | {part: data}, zipfile.ZIP_STORED))

    packages = [members(suffix) for suffix, _, _ in parts]
    each = list(zip(packages, parts, strict=True))
    readers = [reader(media_type, package, part) for package, (_, media_type, part) in each]
    seeds = [bytes([n]) + package[part] for n, (package, (_, _, part)) in enumerate(each) if part in package]
    return Target(_one_of(readers), seeds)


@_parser
def ole_native() -> Target:
    """What OLE packages carry, and OLE 1.0 objects of RTF."""
    from readers.office.ole.objects import embedded, packaged

    def read(data: bytes) -> None:
        embedded(data)
        packaged(data)

    whole = bytes.fromhex(
        "0105000002000000080000005061636b61676500000000000000000010000000020061000000030000000000010000ff"
    )
    return Target(read, [whole, whole[28:]])


@_parser
def pictures() -> Target:
    """Sizes, frames and EXIF of pictures; the first byte says which kind."""
    kinds = ("jpeg", "png", "gif", "tiff", "webp", "bmp", "svg+xml")
    suffixes = (".jpg", ".png", ".gif", ".tif", ".webp", ".bmp", ".svg")
    seeds = [bytes([number]) + data for number, suffix in enumerate(suffixes) for data in files(suffix)]
    return Target(_one_of([handler(f"image/{kind}") for kind in kinds]), seeds)


@_parser
def properties() -> Target:
    """Property sets ([MS-OLEPS]) by themselves."""
    from readers.office.ole.compound import CompoundFile
    from readers.office.ole.property_set import properties

    seeds = []
    for data in files(".doc", ".xls", ".ppt"):
        with contextlib.suppress(DocumentError):
            compound = CompoundFile(data)
            seeds.append(compound.read(compound.root.stream("\x05SummaryInformation")))
    return Target(properties, seeds)


@_parser
def rtf_compressed() -> Target:
    """Compressed RTF ([MS-OXRTFCP])."""
    from readers.documents.rtf.compressed import decompress

    seeds = (
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0",
        "1a0000001c0000004c5a4675e2d44b51410004205758595a0d6e7d010eb0",
    )
    return Target(lambda data: decompress(data, 1_000_000), [bytes.fromhex(seed) for seed in seeds])


@_parser
def sevenz_header() -> Target:
    """The header of a 7z archive, with the checksums that it has to have."""
    packed = 32  # bytes in place of the packed streams
    reader = handler("application/x-7z-compressed")
    seeds = []
    for data in files(".7z"):
        offset, size = struct.unpack_from("<QQ", data, 12)
        seeds.append(data[32 + offset : 32 + offset + size])

    def read(data: bytes) -> None:
        start = struct.pack("<QQL", packed, len(data), zlib.crc32(data))
        magic = b"7z\xbc\xaf\x27\x1c\0\4"
        reader(magic + struct.pack("<L", zlib.crc32(start)) + start + bytes(packed) + data)

    return Target(read, seeds)


@_parser
def smime() -> Target:
    """Signed objects, in both encodings of their lengths."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import pkcs7
    from cryptography.x509.oid import NameOID

    key = ec.derive_private_key(7, ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "fuzz")])
    begin = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    certificate = x509.CertificateBuilder(name, name, key.public_key(), 1, begin, begin.replace(year=2034)).sign(
        key, hashes.SHA256()
    )
    builder = pkcs7.PKCS7SignatureBuilder().set_data(b"Subject: inside\r\n\r\ntext\r\n")
    builder = builder.add_signer(certificate, key, hashes.SHA256())
    options: tuple[list[pkcs7.PKCS7Options], ...] = ([], [pkcs7.PKCS7Options.NoAttributes])
    streamed = bytes.fromhex(
        "3080 06092a864886f70d010702 a080 3080 020101 3100 3080 06092a864886f70d010701 a080 2480 0403616263 0000 0000 0000 0000 0000 0000"
    )
    seeds = [builder.sign(serialization.Encoding.DER, chosen) for chosen in options]
    return Target(handler("application/pkcs7-mime", b"smime.p7m"), [*seeds, streamed])


@_parser
def vba() -> Target:
    """Source of macros, compressed, and what lists the modules ([MS-OVBA])."""
    from readers.office.vba import _project, _written, decompressed

    def read(data: bytes) -> None:
        _project(data)
        source = decompressed(data, 1_000_000)
        _project(source)
        _written(source)

    seeds = (
        "012fb00023616161626364658266007061676869",
        "0119b000030002000000e3040019000100000061311a00010000",
    )
    return Target(read, [bytes.fromhex(seed) for seed in seeds])


@_parser
def xlsb() -> Target:
    """The records of a sheet."""
    from readers.office.ooxml import xlsb
    from readers.office.ooxml.package import Package

    def read(data: bytes) -> None:
        names = ("xl/workbook.bin", "xl/styles.bin", "xl/sharedStrings.bin", "xl/worksheets/sheet1.bin")
        made = zipped(dict.fromkeys(names, data), zipfile.ZIP_STORED)
        package = Package(io.BytesIO(made), len(made), Limits())
        book = xlsb.BinaryWorkbook(package)
        with contextlib.suppress(DocumentError):
            book.load()
        with contextlib.suppress(DocumentError):
            list(xlsb.lines(package, "xl/worksheets/sheet1.bin", "", book))

    seeds = [b"\x9c\x01\x10" + bytes(16), b"\x00\x11" + bytes(17) + b"\x06\x0e" + bytes(8) + b"\x01\0\0\0a\0"]
    return Target(read, seeds)
