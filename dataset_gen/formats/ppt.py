"""Presentations of PowerPoint 97 to 2003 ([MS-PPT]): slides with title, text and picture, now and then a package."""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from dataset_gen.formats import ole_package
from dataset_gen.formats.doc import TYPES, atom, blip, container, store_entry
from dataset_gen.made import Made, Order, branch, placed
from dataset_gen.material.text import prose
from dataset_gen.packing import zlib_stream
from readers import cfb
from readers.records import Kind

TITLE, BODY, OTHER = 0, 1, 4  # kinds of text ([MS-PPT] 2.13.33)
_BOX, _PICTURE_FRAME, _HOST = 202, 75, 201  # shapes; an object is shown by a host control's frame
_COLOURS = "ffffff000000000080808000000000bbe0e300333399000099990099cc0000"


def string(text: str, instance: int) -> bytes:
    """Return a CString."""
    return atom(0x0FBA, text.encode("utf-16-le"), instance)


def text(lines: str, kind: int) -> bytes:
    """Return a header with the kind of text, then the characters: without their high bytes where these are all zero."""
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


def drawing_record(number: int, shapes: Sequence[bytes]) -> bytes:
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
    """Return a text box; `content` is its text, or its place in the outline."""
    return container(0xF004, _shape(_BOX, spid), _anchor(top, 900), container(0xF00D, content))


def outline(index: int) -> bytes:
    """OutlineTextRefAtom (2.9.78): the text is in the slide list."""
    return atom(0x0F9E, struct.pack("<I", index))


def picture_record(spid: int, blip: int) -> bytes:
    """Return a frame around picture number `blip` (from 1) of the document's store."""
    options = atom(0xF00B, struct.pack("<HI", 0x4104, blip), 1, 3)
    return container(0xF004, _shape(_PICTURE_FRAME, spid), options, _anchor(2200, 1800))


def object_frame(spid: int, number: int) -> bytes:
    """Return a frame around embedded object `number`."""
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
    """Return the document's drawing group (2.4.3), and the stream Pictures; `pictures` are (type, bytes)."""
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


MEDIA_TYPE = "application/vnd.ms-powerpoint"
CLASS = bytes.fromhex("108d81649b4fcf1186ea00aa00b929e8")  # {64818D10-4F9B-11CF-86EA-00AA00B929E8}
_MASTER_ID = 0x80000000
_FIRST_SLIDE_ID = 256
_MASTER, _FIRST_SLIDE = 2, 3  # persist numbers; the document's is 1
_FIXED = 7_000  # bytes of a presentation of one line
_SLIDE_BYTES = 900  # with its text
_PACKAGE_SHARE = 0.12
_PACKED = ("xlsx", "pdf", "txt", "docx")


@dataclass(slots=True)
class _Parts:
    """Records of the slides, and the children built for them."""

    slides: list[bytes] = field(default_factory=list)
    listed: list[bytes] = field(default_factory=list)  # of the slide list: reference and outline of each
    pictures: list[tuple[int, bytes]] = field(default_factory=list)
    objects: list[bytes] = field(default_factory=list)  # compound files
    inside: list[tuple[str, Made]] = field(default_factory=list)  # the pictures as children
    packed: list[tuple[str, Made]] = field(default_factory=list)


def build(order: Order) -> Made:
    """Build a slide for each 60 kB or so, most with a picture, now and then an embedded file."""
    dice = order.dice
    count = max(2, min(60, order.size // dice.between(30_000, 90_000)))
    room = max(0, order.size - _FIXED - count * _SLIDE_BYTES)
    parts = _Parts()
    if room > 30_000 and dice.chance(_PACKAGE_SHARE):
        fmt = dice.pick(_PACKED)
        made = order.child(fmt, 900, 12_000)
        parts.packed.append((f"{prose().title(dice, 3)}.{fmt}", made))
        parts.objects.append(ole_package.compound_file(parts.packed[0][0], made.data))
        room -= 12_000
    title = prose().title(dice)
    pictured = [n for n in range(count) if dice.chance(0.6)] or [0]
    for number in range(count):
        picture = room // len(pictured) if number in pictured and room > 3_000 else 0
        _slide(order, parts, number, title if number == 0 else prose().title(dice), picture)
    return _finished(order, parts, title)


def _slide(order: Order, parts: _Parts, number: int, title: str, picture: int) -> None:
    """Title and body, which the outline holds, a picture of about so many bytes, now and then a box of text."""
    dice = order.dice
    lines = [f"{term}." for term in order.terms] if number == 0 else []
    lines += prose().paragraphs(dice, 500, accented=True, any_script=True)
    drawing, spid = number + 2, (number + 2) << 10
    shapes = [
        box(spid + 1, 300, outline(0)),
        box(spid + 2, 1200, outline(1)),
    ]
    if picture:
        fmt = "png" if dice.chance(0.2) else "jpg"
        made = order.child(fmt, number, picture)
        parts.pictures.append((TYPES[fmt], made.data))
        parts.inside.append((f"picture{len(parts.pictures)}.{fmt}", made))
        shapes.append(picture_record(spid + 3, len(parts.pictures)))
    if number == 0 and parts.objects:
        shapes.append(object_frame(spid + 4, 1))
    if dice.chance(0.15):
        shapes.append(box(spid + 5, 3900, text(prose().title(dice, 8), OTHER)))
    parts.slides.append(container(0x03EE, slide_atom(_MASTER_ID), drawing_record(drawing, shapes), colour_scheme()))
    reference = persist_atom(_FIRST_SLIDE + number, _FIRST_SLIDE_ID + number, 2)
    parts.listed.append(reference + text(title, TITLE) + text("\r".join(lines), BODY))


def _finished(order: Order, parts: _Parts, title: str) -> Made:
    stream, pictures = _streams(parts)
    own = {"PowerPoint Document": stream[0], "Current User": _current_user(stream[1])}
    own |= ole_package.summary(order.dice, title, "Microsoft Office PowerPoint")
    whole = own | ({"Pictures": pictures} if pictures else {})
    return branch(
        cfb.write(cfb.Storage(clsid=CLASS, streams=whole)),
        MEDIA_TYPE,
        own=(title.encode(), *parts.slides),
        children=placed(Kind.EMBEDDED_OBJECT, parts.packed + parts.inside),
        pages=len(parts.slides),
        terms=order.terms,
    )


def _streams(parts: _Parts) -> tuple[tuple[bytes, int], bytes]:
    """(PowerPoint Document, offset of the last edit in it), Pictures."""
    first_object = _FIRST_SLIDE + len(parts.slides)
    group, pictures = picture_store(parts.pictures, len(parts.slides) + 1)
    objects = []
    if parts.objects:
        listed = [embedded(n + 1, first_object + n) for n in range(len(parts.objects))]
        objects.append(container(0x0409, atom(0x040A, struct.pack("<I", len(listed) + 1)), *listed))
    document = container(
        0x03E8,
        atom(0x03E9, struct.pack("<IIIIIIIIHHBBBB", 5760, 4320, 4320, 5760, 1, 2, 0, 0, 1, 0, 0, 0, 0, 1), 0, 1),
        *objects,
        environment(),
        group,
        container(0x0FF0, persist_atom(_MASTER, _MASTER_ID, 0), instance=1),
        container(0x0FF0, *parts.listed),
        atom(0x03EA, b""),
    )
    master = container(0x03F8, slide_atom(0), drawing_record(1, ()), colour_scheme())
    stored = [atom(0x1011, struct.pack("<I", len(o)) + zlib_stream(o), 1) for o in parts.objects]
    return _edited([document, master, *parts.slides, *stored]), pictures


def _edited(objects: list[bytes]) -> tuple[bytes, int]:
    """All persistent objects, the location of each (2.3.4), and the edit that wrote them (2.3.3)."""
    offsets, at = [], 0
    for one in objects:
        offsets.append(at)
        at += len(one)
    directory = atom(0x1772, struct.pack(f"<I{len(offsets)}I", len(offsets) << 20 | 1, *offsets))
    edit_at = at + len(directory)
    edit = struct.pack("<IHBBIIIIHH", _FIRST_SLIDE_ID, 0, 0, 3, 0, at, 1, len(offsets) + 1, 1, 0)
    return b"".join((*objects, directory, atom(0x0FF5, edit))), edit_at


def _current_user(last_edit: int) -> bytes:
    """Return the stream Current User (2.3.2)."""
    name = b"Author"
    data = struct.pack("<IIIHHBBH", 20, 0xE391C05F, last_edit, len(name), 0x03F4, 3, 0, 0) + name
    return atom(0x0FF6, data + struct.pack("<I", 8) + name.decode().encode("utf-16-le"))
