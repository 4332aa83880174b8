"""Archives from names and bytes; cabinets, cpio and RAR archives, which no library here writes, by hand."""

import base64
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import py7zr
import pycdlib

Files = Sequence[tuple[str, bytes]]
_LAST = b"TRAILER!!!"
# test_read_format_rar5_multiple_files_solid.rar of libarchive's test suite (BSD-2-Clause), made with WinRAR 5.
RAR_OF_WINRAR = base64.b64decode(
    "UmFyIRoHAQAJ78hvCwEFBwQGAQGAgIAAGYyU/ycCAwv5AgSAIKSDAsayE36AHQEJdGVzdDEuYmluCgMTZ1+sWxpanhDJ53UBGGVUZSb0gFf18+fP"
    "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkv885nDWtl1e+1F08qTnVyzt8e57rfRrMzrw8/HdNt72b6d/xjNZ5"
    "5rDOrM6c/B3AAIAIAbDDfz8e/u7ezr6uno5+bl5OPi4eDf3t3c29rZ2NfW1dTT0tHQz87NzMvKycjHxsXEw8LBwL++vby7urm4t7a1tLOysbCvrq"
    "2sq6qpqKempaSjoqGgn56dnJuamZiXlpWUk5KRkI+OjYyLiomIh4aFhIOCgYB/fn18e3p5eP//v7/P372Y9gpnCmWvV8oojX8kIW1wFtxYDE0aLZ"
    "QlkTKA5tgxgxNmyIiWkIW1wF+YsBiaNFsoSyJlAc/IMYMTbyRES0hC2uAvxFgMTRotlCWRMoDn4BjBibeCIiWkIW1wF94sBiaNFsoSyJlAaYdeFf"
    "mOuV99xavpt6r5i+pz15Tl7inI2visX+ADtz4pEnAgMLmQAEgCCkgwLLr2bxwB0BCXRlc3QyLmJpbgoDE3pfrFstVHMXQQ0WcAAgAgBqX8f3ueDF"
    "6n8w68O/j+X+AJaUzIcnAgMLqgAEgCCkgwLZI7GfwB0BCXRlc3QzLmJpbgoDE35frFvQPQADQD0ncAAgAgBt1/H98w/vTQ8rKB9IY7gh9IY7gh9I"
    "Y7gh7mHXh38fy/wAjXhTbCcCAwuZAASAIKSDAtQ+xBDAHQEJdGVzdDQuYmluCgMTgV+sW6EmHRJCDhZwACACAG2X8f3s8GL2P5h14d/H8v8AHXdW"
    "UQMFBAA="
)


def zipped(files: Files | Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive, in the order of its members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items() if isinstance(files, Mapping) else files:
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def zip_member(name: bytes, data: bytes, flags: int = 0, method: int = 0, crc: int = 0, size: int = 0) -> bytes:
    """A member: its header and its packed data."""
    head = struct.pack("<4s5H3L2H", b"PK\3\4", 20, flags, method, 0, 0, crc, len(data), size, len(name), 0)
    return head + name + data


def zip_entry(name: bytes, offset: int, packed: int, size: int, method: int = 0, crc: int = 0) -> bytes:
    """An entry of the directory."""
    fields = (20, 20, 0, method, 0, 0, crc, packed, size, len(name), 0, 0, 0, 0, 0, offset)
    return struct.pack("<4s6H3L5H2L", b"PK\1\2", *fields) + name


def zip_whole(members: bytes, directory: bytes, count: int) -> bytes:
    """Members, the directory of so many entries, and the end."""
    few = min(count, 0xFFFF)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, few, few, len(directory), len(members), 0)
    return members + directory + end


def tarred(files: Files | Mapping[str, bytes], fmt: int = tarfile.GNU_FORMAT, charset: str = "utf-8") -> bytes:
    """A tar archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=fmt, encoding=charset) as archive:
        for name, data in files.items() if isinstance(files, Mapping) else files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def sevenzipped(files: Files, filters: Sequence[dict[str, int]] | None = None, **how: Any) -> bytes:
    """A solid 7z archive."""
    out = io.BytesIO()
    with py7zr.SevenZipFile(out, "w", filters=filters, **how) as archive:
        for name, data in files:
            archive.writef(io.BytesIO(data), name)
    return out.getvalue()


def rar(files: Files) -> bytes:
    """Version 4, stored (technote.txt)."""

    def block(kind: int, flags: int, body: bytes) -> bytes:
        head = struct.pack("<BHH", kind, flags, 7 + len(body)) + body
        return struct.pack("<H", zlib.crc32(head) & 0xFFFF) + head

    out = b"Rar!\x1a\x07\0" + block(0x73, 0, bytes(6))
    for name, data in files:
        body = struct.pack("<LLBLLBBHL", len(data), len(data), 3, zlib.crc32(data), 0, 20, 0x30, len(name), 0o100644)
        out += block(0x74, 0x8000, body + name.encode()) + data
    return out + block(0x7B, 0x4000, b"")


def rar5_number(value: int) -> bytes:
    """Seven bits a byte."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def rar5_block(kind: int, body: bytes, data: bytes = b"", extra: bytes = b"", flags: int = 0) -> bytes:
    """One block of version 5."""
    number = rar5_number
    fields = number(kind) + number(flags | bool(extra) | 2 * bool(data))
    fields += (number(len(extra)) if extra else b"") + (number(len(data)) if data else b"") + body + extra
    head = number(len(fields)) + fields
    return struct.pack("<L", zlib.crc32(head)) + head + data


def disc(files: Files, *, joliet: bool = False, rock_ridge: bool = False, link: bool = False) -> bytes:
    """A disc image; its plain names are F0, F1 … in the directory DIR where there is one. `link`: to the first file."""
    image, folders = pycdlib.PyCdlib(), set[str]()
    image.new(joliet=3 if joliet else None, rock_ridge="1.09" if rock_ridge else None)

    def names(path: str) -> dict[str, str]:
        own = {"rr_name": path.rpartition("/")[2]} if rock_ridge else {}
        return own | ({"joliet_path": f"/{path}"} if joliet else {})

    for number, (path, data) in enumerate(files):
        folder = path.rpartition("/")[0]
        if folder and not folders:
            folders.add(folder)
            image.add_directory("/DIR", **names(folder))
        image.add_fp(io.BytesIO(data), len(data), f"{'/DIR' if folder else ''}/F{number}.;1", **names(path))
    if link:
        image.add_symlink("/L.;1", "link", rr_path="F0")
    return written(image)


def written(image: pycdlib.PyCdlib) -> bytes:
    """The bytes of a disc image, which is closed."""
    out = io.BytesIO()
    image.write_fp(out)
    image.close()
    return out.getvalue()


def _checksum(data: bytes, seed: int) -> int:
    """[MS-CAB] 3.1: the words, and the last bytes in reverse."""
    rest = len(data) % 4
    for (word,) in struct.iter_unpack("<L", data[: len(data) - rest]):
        seed ^= word
    return seed ^ int.from_bytes(data[len(data) - rest :], "big")


def cabinet(files: Files | Mapping[str, bytes], *, packed: bool = False, flags: int = 0, folder: int = 0) -> bytes:
    """One folder, stored or under MSZIP, each block of which continues the dictionary of the one before ([MS-CAB] 2)."""
    members = list(files.items()) if isinstance(files, Mapping) else files
    whole, blocks, before, entries, at = b"".join(body for _, body in members), [], b"", b"", 0
    for start in range(0, len(whole), 32768):
        data = piece = whole[start : start + 32768]
        if packed:
            packer = zlib.compressobj(9, zlib.DEFLATED, -15, zdict=before) if before else zlib.compressobj(9, wbits=-15)
            data, before = b"CK" + packer.compress(piece) + packer.flush(), piece
        sizes = struct.pack("<HH", len(data), len(piece))
        blocks.append(struct.pack("<L", _checksum(sizes, _checksum(data, 0))) + sizes + data)
    for name, body in members:
        entries += struct.pack("<LLHHHH", len(body), at, folder, 0x5566, 0x1234, 0xA0) + name.encode() + b"\0"
        at += len(body)
    chained = b"x\0y\0" if flags else b""
    begin = 44 + len(chained) + len(entries)
    numbers = (0, begin + sum(map(len, blocks)), 0, begin - len(entries), 0, 3, 1, 1, len(members), flags, 7, 0)
    head = b"MSCF" + struct.pack("<LLLLLBBHHHHH", *numbers) + chained
    return head + struct.pack("<LHH", begin, len(blocks), packed) + entries + b"".join(blocks)


def sevenz_with(header: bytes, packed: bytes = b"") -> bytes:
    """A 7z archive with this header, and what it describes."""
    rest = struct.pack("<QQL", len(packed), len(header), zlib.crc32(header))
    return b"7z\xbc\xaf\x27\x1c\0\4" + struct.pack("<L", zlib.crc32(rest)) + rest + packed + header


def cpio(files: Files, charset: str = "utf-8") -> bytes:
    """newc; names are in this charset."""
    out = b""
    for name, data in (*((name.encode(charset), data) for name, data in files), (_LAST, b"")):
        fields = (1, 0 if name == _LAST else 0o100644, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        out += b"070701" + b"".join(b"%08X" % field for field in fields) + name + b"\0"
        for piece in (b"", data):
            out += piece
            out += bytes(-len(out) % 4)
    return out + bytes(-len(out) % 512)
