"""One source directory full of bad files, each among good siblings, and the exceptions that each has to get."""

import gzip
import io
import os
import random
import socket
import stat
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

from archive_files import zipped
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas
from zip_quine import zip_quine

Expected = dict[tuple[str, ...], list[str]]

NESTED = 20
HOSTILE = (
    b"../../../../../../../../escaped-dots.txt",
    b"..\\..\\escaped-backslashes.txt",
    b"nul\0escaped.txt",
    b"n" * 296 + b".txt",
    b"caf\xe9 \xff\xfe.txt",
)
MBOX = (
    b"From a@example.org Thu Jan  1 00:00:00 2026\nFrom: a@example.org\nSubject: good\n\nsesame good\n\n"
    b"From a@example.org Thu Jan  1 00:00:00 2026\nthis message has no header at all\n"
)
UNSAFE = frozenset(HOSTILE[:4])


def noise(number: int, size: int) -> bytes:
    """Bytes that do not compress."""
    return random.Random(number).randbytes(size)


def _raw_entry(name: bytes, data: bytes, offset: int, flags: int = 0) -> tuple[bytes, bytes]:
    fields = struct.pack("<HHHHIIIHH", flags, 0, 0, 0x5821, zlib.crc32(data), len(data), len(data), len(name), 0)
    local = b"PK\x03\x04" + struct.pack("<H", 20) + fields + name + data
    central = b"PK\x01\x02" + struct.pack("<HH", 20, 20) + fields
    return local, central + struct.pack("<HHHII", 0, 0, 0, 0, offset) + name


def raw_zip(members: list[tuple[bytes, bytes]], flags: int = 0) -> bytes:
    """An archive of stored members whose names are any bytes at all."""
    locals_, centrals = b"", b""
    for name, data in members:
        local, central = _raw_entry(name, data, len(locals_), flags)
        locals_, centrals = locals_ + local, centrals + central
    count = len(members)
    return (
        locals_
        + centrals
        + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, len(centrals), len(locals_), 0)
    )


def overlapping_zip() -> bytes:
    """Two entries of the directory that give the same bytes: bombs without nesting are built so."""
    data = noise(1, 4000)
    local, first = _raw_entry(b"one.bin", data, 0)
    _, second = _raw_entry(b"two.bin", data, 0)
    centrals = first + second
    return local + centrals + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 2, 2, len(centrals), len(local), 0)


def nested_zip(depth: int) -> bytes:
    data = zipped({"core.txt": b"the innermost"})
    for _ in range(depth - 1):
        data = zipped({"deeper.zip": data}, zipfile.ZIP_STORED)
    return data


def docx(text: str) -> bytes:
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    types = "http://schemas.openxmlformats.org/package/2006/content-types"
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{types}"><Override PartName="/word/document.xml" ContentType="{main}"/></Types>'.encode(),
            "_rels/.rels": f'<Relationships xmlns="{relations}"><Relationship Id="r" Type="{relation}" Target="word/document.xml"/></Relationships>'.encode(),
            "word/document.xml": f'<w:document xmlns:w="{word}"><w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body></w:document>'.encode(),
        },
        zipfile.ZIP_STORED,
    )


def encrypted_docx() -> bytes:
    """A compound file ([MS-CFB]) with the streams that [MS-OFFCRYPTO] gives an encrypted package."""
    header = bytearray(512)
    header[:8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    struct.pack_into("<H", header, 30, 9)
    struct.pack_into("<L", header, 48, 1)
    struct.pack_into("<109L", header, 76, 0, *[0xFFFFFFFF] * 108)
    fat = struct.pack("<128L", 0xFFFFFFFD, 0xFFFFFFFE, *[0xFFFFFFFF] * 126)
    entries = b""
    for name in ("Root Entry", "EncryptionInfo", "EncryptedPackage"):
        raw = name.encode("utf-16-le")
        entries += raw.ljust(64, b"\0") + struct.pack("<HB", len(raw) + 2, 2) + bytes(61)
    return bytes(header) + fat + entries.ljust(512, b"\0") + noise(2, 1024)


def pdf(encrypted: bool = False) -> bytes:
    out = io.BytesIO()
    lock = StandardEncryption("secret", ownerPassword="secret", strength=128) if encrypted else None
    canvas = Canvas(out, invariant=1, encrypt=lock)
    for page in range(3):
        canvas.drawString(72, 720, f"sesame page {page}")
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def eml() -> bytes:
    """A message with a text and two attachments."""
    parts = [b"Content-Type: text/plain\r\n\r\nsesame body\r\n"]
    for number in (1, 2):
        parts.append(
            b"Content-Type: application/octet-stream\r\nContent-Disposition: attachment;"
            b' filename="../../escaped-%d.bin"\r\nContent-Transfer-Encoding: base64\r\n\r\n%s\r\n'
            % (number, b"QUJD" * 18)
        )
    head = b'From: a@example.org\r\nTo: b@example.org\r\nSubject: bad\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="XX"\r\n\r\n'
    return head + b"".join(b"--XX\r\n" + part for part in parts) + b"--XX--\r\n"


def hostile_tar(absolute: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in (b"../../../../escaped-tar.txt", absolute):
            info = tarfile.TarInfo(os.fsdecode(name))
            info.size = 6
            archive.addfile(info, io.BytesIO(b"sesame"))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        archive.addfile(link)
        beyond = tarfile.TarInfo("link/escaped-by-link.txt")
        beyond.size = 6
        archive.addfile(beyond, io.BytesIO(b"sesame"))
        fifo = tarfile.TarInfo("fifo")
        fifo.type = tarfile.FIFOTYPE
        archive.addfile(fifo)
    return out.getvalue()


def damaged(data: bytes, at: int, length: int = 64) -> bytes:
    return data[:at] + noise(at, length) + data[at + length :]


def write_documents(place: Path, absolute: bytes) -> Expected:
    """Files that are bad by what is in them; `absolute` is a path that a member claims for itself."""
    three = {"one.txt": b"sesame one", "two.bin": noise(3, 20_000), "three.txt": b"sesame three"}
    good_zip, good_docx = zipped(three), docx("sesame " * 500)
    inner = good_zip.index(b"two.bin") + 2000
    bomb = zipped({"readme.txt": b"sesame", "zeros.bin": bytes(64_000_000), "after.txt": b"sesame after"})
    stuffed = zipped({f"{n}.zip": zipped({"zeros.bin": bytes(10_000_000)}) for n in range(8)})
    long_text = gzip.compress(noise(4, 30_000), mtime=0)
    hostile = [(name, b"sesame %d" % n) for n, name in enumerate((*HOSTILE, absolute))]
    files: dict[str, tuple[bytes, list[str]]] = {
        "zero.docx": (b"", ["zero_bytes"]),
        "truncated.zip": (good_zip[: inner + 8000], ["truncated"]),
        "corrupt.zip": (damaged(good_zip, inner), ["corrupt"]),
        "only a signature.zip": (b"PK\x03\x04", ["truncated"]),
        "overlapping.zip": (overlapping_zip(), ["corrupt"]),
        "encrypted.zip": (raw_zip([(b"a.txt", noise(5, 30)), (b"b.txt", noise(6, 30))], flags=1), ["encrypted"]),
        "bomb.zip": (bomb, ["expansion_limit"]),
        "bomb in parts.zip": (stuffed, []),
        "itself.zip": (zip_quine(), []),
        "nested.zip": (nested_zip(NESTED), []),
        "hostile.zip": (raw_zip(hostile), []),
        "hostile.tar": (hostile_tar(absolute), []),
        "truncated.gz": (long_text[:20_000], []),
        "corrupt.gz": (long_text[:-8] + bytes(4) + long_text[-4:], []),
        "only a header.gz": (long_text[:10], ["truncated"]),
        "truncated.docx": (good_docx[:-300], ["truncated"]),
        "corrupt.docx": (damaged(good_docx, good_docx.index(b"sesame ") + 700), ["corrupt"]),
        "encrypted.docx": (encrypted_docx(), ["encrypted"]),
        "truncated.pdf": (pdf()[:-12], ["truncated"]),
        "corrupt.pdf": (b"%PDF-1.7\n" + noise(7, 3000) + b"\n%%EOF\n", ["corrupt"]),
        "encrypted.pdf": (pdf(encrypted=True), ["encrypted"]),
        "truncated.eml": (eml()[:-60], ["truncated"]),
        "corrupt.eml": (eml()[:230] + noise(8, 500), ["truncated"]),
        "headerless message.mbox": (MBOX, []),
    }
    for name, (data, _) in files.items():
        (place / name).write_bytes(data)
    return {(f"{place.name}/{name}",): codes for name, (_, codes) in files.items()}


def write_specials(place: Path) -> Expected:
    """Entries that are not regular files; the device only where we may make one."""
    out: Expected = {}
    links = {
        "loop": "loop",
        "ping": "pong",
        "pong": "ping",
        "up": "..",
        "dangling": "nowhere",
        "linked.txt": "sibling 00.txt",
    }
    for name, target in links.items():
        (place / name).symlink_to(target)
        out[(f"{place.name}/{name}",)] = ["symlink"]
    os.mkfifo(place / "fifo")
    with socket.socket(socket.AF_UNIX) as made:
        here = os.open(place, os.O_RDONLY)
        try:
            made.bind(f"/proc/self/fd/{here}/socket")  # the path itself may be too long for one
        finally:
            os.close(here)
    specials = ["fifo", "socket"]
    if os.geteuid() == 0:
        os.mknod(place / "char device", stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero: reading never ends
        os.mknod(place / "block device", stat.S_IFBLK | 0o666, os.makedev(7, 250))
        specials += ["char device", "block device"]
    return out | {(f"{place.name}/{name}",): ["special_file"] for name in specials}


_CLOSED = {  # mode of each, deepest first
    "closed.txt": 0,
    "closed": 0,
    "listed only/deeper": 0o755,
    "listed only": 0o444,
    "searched only": 0o111,
    "open/closed": 0,
    "open/closed.txt": 0o200,
}


def write_closed(place: Path) -> Expected:
    """What an ordinary user may not read; call it last, and `reopen` before removing it."""
    for name in _CLOSED:
        path = place / name
        path.parent.mkdir(exist_ok=True)
        if path.suffix:
            path.write_text("sesame")
        else:
            path.mkdir(parents=True, exist_ok=True)
            (path / "in it.txt").write_text("sesame")
    for name, mode in _CLOSED.items():
        (place / name).chmod(mode)
    closed = [name for name, mode in _CLOSED.items() if not mode & 0o444]
    closed += ["listed only/in it.txt", "listed only/deeper"]
    return {(f"{place.name}/{path}",): ["unreadable"] for path in closed}


def reopen(place: Path) -> None:
    """So that an ordinary user can remove what `write_closed` made."""
    for name in reversed(_CLOSED):
        (place / name).chmod(0o700)
