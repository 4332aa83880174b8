"""OLE packages ([MS-OLEDS] 2.3): a file of any kind inside a document, with its name, as the Packager puts it there."""

from __future__ import annotations

import struct

from readers import cfb

PACKAGE_CLASS = bytes.fromhex("0c00030000000000c000000000000046")  # {0003000C-0000-0000-C000-000000000046}
_CLIPBOARD = 0x71B239F4  # UnicodeMarker of a CompObjStream (2.3.8)


def comp_obj(class_id: bytes, what: str, program_id: str) -> bytes:
    """A CompObjStream (2.3.8): which program an object belongs to."""
    head = struct.pack("<III", 0xFFFE0001, 0x0A03, 0xFFFFFFFF) + class_id
    return b"".join(
        (head, _ansi(what), bytes(4), _ansi(program_id), struct.pack("<IIII", _CLIPBOARD, 0, 0, 0)),
    )


def _ansi(text: str) -> bytes:
    """A LengthPrefixedAnsiString (2.1.4)."""
    raw = text.encode("cp1252", "replace") + b"\0"
    return struct.pack("<I", len(raw)) + raw


def native(name: str, data: bytes) -> bytes:
    """The stream `\\1Ole10Native` (2.3.6) with the Packager's structure: label, original and temporary path, the file,
    and the three names in UTF-16."""
    path, temporary = f"C:\\Documents\\{name}", f"C:\\Temp\\{name}"
    ansi = [text.encode("cp1252", "replace") + b"\0" for text in (name, path, temporary)]
    wide = b"".join(struct.pack("<I", len(t)) + t.encode("utf-16-le") for t in (temporary, name, path))
    body = b"".join(
        (b"\2\0", ansi[0], ansi[1], b"\0\0\3\0", struct.pack("<I", len(ansi[2])), ansi[2], struct.pack("<I", len(data)))
    )
    return b"".join((struct.pack("<I", len(body) + len(data) + len(wide)), body, data, wide))


def storage(name: str, data: bytes, storage_name: str = "") -> cfb.Storage:
    """An object's storage: the package, what it is, and how it is shown (as an icon)."""
    return cfb.Storage(
        storage_name,
        PACKAGE_CLASS,
        {
            "\x01Ole": struct.pack("<IIIII", 0x02000001, 0, 0, 0, 0),
            "\x01CompObj": comp_obj(PACKAGE_CLASS, "OLE Package", "Package"),
            "\x03ObjInfo": b"\x40\0\x03\0\x04\0",
            "\x01Ole10Native": native(name, data),
        },
    )


def compound_file(name: str, data: bytes) -> bytes:
    """The same as a file of its own: `oleObject1.bin` of an Office Open XML document."""
    return cfb.write(storage(name, data))
