"""The records of a presentation ([MS-PPT] 2.3, [MS-ODRAW] 2.2) that every one needs, as bytes."""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence

from dataset_gen.formats.office.doc import atom, blip, container, store_entry

TITLE, BODY, OTHER = 0, 1, 4  # kinds of text ([MS-PPT] 2.13.33)
_BOX, _PICTURE_FRAME, _HOST = 202, 75, 201  # shapes; an object is shown by a host control's frame
_COLOURS = "ffffff000000000080808000000000bbe0e300333399000099990099cc0000"


def string(text: str, instance: int) -> bytes:
    """A CString."""
    return atom(0x0FBA, text.encode("utf-16-le"), instance)


def text(lines: str, kind: int) -> bytes:
    """A header with the kind of text, then the characters: without their high bytes where these are all zero."""
    head = atom(0x0F9F, struct.pack("<I", kind))
    try:
        return head + atom(0x0FA8, lines.encode("latin-1"))
    except UnicodeEncodeError:
        return head + atom(0x0FA0, lines.encode("utf-16-le"))


def slide_atom(master: int) -> bytes:
    """SlideAtom (2.5.10): a title and a body; everything from the master."""
    return atom(0x03EF, struct.pack("<I8sIIHH", 1, b"\x0d\x0e\0\0\0\0\0\0", master, 0, 7, 0), version=2)


def persist_atom(number: int, identifier: int, texts: int) -> bytes:
    """SlidePersistAtom (2.4.14.5): which object a slide is."""
    return atom(0x03F3, struct.pack("<IIIII", number, 4, texts, identifier, 0))


@functools.cache
def colour_scheme() -> bytes:
    """SlideSchemeColorSchemeAtom (2.4.17)."""
    return atom(0x07F0, bytes.fromhex(_COLOURS)[:32].ljust(32, b"\0"), 1)


@functools.cache
def environment() -> bytes:
    """DocumentTextInfoContainer (2.4.1): one font, no other defaults than the program's."""
    font = "Arial".encode("utf-16-le").ljust(64, b"\0") + b"\0\0\4\x22"
    return container(
        0x03F2,
        container(0x0FC8, atom(0x0FD2, bytes(4), 3), instance=2),
        container(0x07D5, atom(0x0FB7, font)),
        atom(0x0FA4, bytes(4)),
        atom(0x0FA5, bytes(6)),
        atom(0x0FAB, bytes(4)),
        atom(0x0FA9, bytes(4)),
        atom(0x0FA3, bytes(2), OTHER),
    )


def drawing(number: int, shapes: Sequence[bytes]) -> bytes:
    """DrawingContainer (2.5.13): the shapes of one slide."""
    base = number << 10
    group = container(
        0xF004,
        atom(0xF009, bytes(16), 0, 1),
        atom(0xF00A, struct.pack("<II", base, 5), 0, 2),
    )
    count = atom(0xF008, struct.pack("<II", len(shapes) + 1, base + len(shapes)), number)
    return container(0x040C, container(0xF002, count, container(0xF003, group, *shapes)))


def box(spid: int, top: int, content: bytes) -> bytes:
    """A text box; `content` is its text, or its place in the outline."""
    return container(0xF004, _shape(_BOX, spid), _anchor(top, 900), container(0xF00D, content))


def outline(index: int) -> bytes:
    """OutlineTextRefAtom (2.9.78): the text is in the slide list."""
    return atom(0x0F9E, struct.pack("<I", index))


def picture(spid: int, blip: int) -> bytes:
    """A frame around picture number `blip` (from 1) of the document's store."""
    options = atom(0xF00B, struct.pack("<HI", 0x4104, blip), 1, 3)
    return container(0xF004, _shape(_PICTURE_FRAME, spid), options, _anchor(2200, 1800))


def object_frame(spid: int, number: int) -> bytes:
    """A frame around embedded object `number`."""
    return container(
        0xF004,
        _shape(_HOST, spid, 0x0A10),
        _anchor(3600, 500),
        container(0xF011, atom(0x0BC1, struct.pack("<I", number))),
    )


def _shape(kind: int, spid: int, flags: int = 0x0A00) -> bytes:
    return atom(0xF00A, struct.pack("<II", spid, flags), kind, 2)


def _anchor(top: int, height: int) -> bytes:
    return atom(0xF010, struct.pack("<hhhh", top, 400, 5200, top + height))


def picture_store(pictures: Sequence[tuple[int, bytes]], drawings: int) -> tuple[bytes, bytes]:
    """The document's drawing group (2.4.3), and the stream Pictures; `pictures` are (type, bytes)."""
    entries, stored, at = [], [], 0
    for kind, data in pictures:
        one = blip(kind, data)
        entries.append(store_entry(kind, data, len(one), at=at))
        stored.append(one)
        at += len(one)
    clusters = b"".join(struct.pack("<II", number, 8) for number in range(1, drawings + 1))
    counts = struct.pack("<IIII", (drawings + 1) << 10, drawings + 1, 8 * drawings, drawings)
    store = container(0xF001, *entries, instance=len(entries)) if entries else b""
    return container(0x040B, container(0xF000, atom(0xF006, counts + clusters), store)), b"".join(stored)


def embedded(number: int, persist: int) -> bytes:
    """ExOleEmbedContainer (2.10.27) of a package."""
    return container(
        0x0FCC,
        atom(0x0FCD, struct.pack("<II", 0, 0)),
        atom(0x0FC3, struct.pack("<IIIIII", 4, 0, number, 0, persist, 0), 0, 1),
        string("Package", 1),
        string("Package", 2),
        string("Package", 3),
    )
