"""Archives from names and bytes; cabinets and cpio archives, which no library here writes, by hand."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence

Files = Sequence[tuple[str, bytes]]
_LAST = b"TRAILER!!!"


def zipped(files: Files | Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive, in the order of its members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items() if isinstance(files, Mapping) else files:
            archive.writestr(name, data)
    return out.getvalue()


def cabinet(files: Files) -> bytes:
    """One folder, stored ([MS-CAB])."""
    data = b"".join(body for _, body in files)
    entries, at = b"", 0
    for name, body in files:
        entries += struct.pack("<LLHHHH", len(body), at, 0, 0x5566, 0x1234, 0x20) + name.encode() + b"\0"
        at += len(body)
    block = struct.pack("<LHH", 0, len(data), len(data)) + data
    begin = 44 + len(entries)
    head = struct.pack("<LLLLLBBHHHHH", 0, begin + len(block), 0, 44, 0, 3, 1, 1, len(files), 0, 1, 0)
    return b"MSCF" + head + struct.pack("<LHH", begin, 1, 0) + entries + block


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
