"""Presentations of PowerPoint 97 to 2003 ([MS-PPT]): slides with title, text and picture, now and then a package."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from dataset_gen.formats.office import ole_package
from dataset_gen.formats.office import ppt_records as r
from dataset_gen.formats.office.doc import TYPES, atom, container
from dataset_gen.made import Made, Order, Placed, branch
from dataset_gen.material.text import prose
from dataset_gen.packing.zip import zlib_stream
from readers import cfb
from readers.records import Kind

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
    """What the slides are made of, and the children this makes."""

    slides: list[bytes] = field(default_factory=list)
    listed: list[bytes] = field(default_factory=list)  # of the slide list: reference and outline of each
    pictures: list[tuple[int, bytes]] = field(default_factory=list)
    objects: list[bytes] = field(default_factory=list)  # compound files
    inside: list[tuple[str, Made]] = field(default_factory=list)  # the pictures as children
    packed: list[tuple[str, Made]] = field(default_factory=list)


def build(order: Order) -> Made:
    """A slide for each 60 kB or so, most with a picture, now and then an embedded file."""
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
        r.box(spid + 1, 300, r.outline(0)),
        r.box(spid + 2, 1200, r.outline(1)),
    ]
    if picture:
        fmt = "png" if dice.chance(0.2) else "jpg"
        made = order.child(fmt, number, picture)
        parts.pictures.append((TYPES[fmt], made.data))
        parts.inside.append((f"picture{len(parts.pictures)}.{fmt}", made))
        shapes.append(r.picture(spid + 3, len(parts.pictures)))
    if number == 0 and parts.objects:
        shapes.append(r.object_frame(spid + 4, 1))
    if dice.chance(0.15):
        shapes.append(r.box(spid + 5, 3900, r.text(prose().title(dice, 8), r.OTHER)))
    parts.slides.append(container(0x03EE, r.slide_atom(_MASTER_ID), r.drawing(drawing, shapes), r.colour_scheme()))
    reference = r.persist_atom(_FIRST_SLIDE + number, _FIRST_SLIDE_ID + number, 2)
    parts.listed.append(reference + r.text(title, r.TITLE) + r.text("\r".join(lines), r.BODY))


def _finished(order: Order, parts: _Parts, title: str) -> Made:
    stream, pictures = _streams(parts)
    own = {"PowerPoint Document": stream[0], "Current User": _current_user(stream[1])}
    own |= ole_package.summary(order.dice, title, "Microsoft Office PowerPoint")
    whole = own | ({"Pictures": pictures} if pictures else {})
    children = tuple(
        Placed(name=name.encode(), ordinal=position, kind=Kind.EMBEDDED_OBJECT, truth=made.truth)
        for position, (name, made) in enumerate(parts.packed + parts.inside)
    )
    return branch(
        cfb.write(cfb.Storage(clsid=CLASS, streams=whole)),
        MEDIA_TYPE,
        own=(title.encode(), *parts.slides),
        children=children,
        pages=len(parts.slides),
        terms=order.terms,
    )


def _streams(parts: _Parts) -> tuple[tuple[bytes, int], bytes]:
    """(PowerPoint Document, offset of the last edit in it), Pictures."""
    first_object = _FIRST_SLIDE + len(parts.slides)
    group, pictures = r.picture_store(parts.pictures, len(parts.slides) + 1)
    objects = []
    if parts.objects:
        listed = [r.embedded(n + 1, first_object + n) for n in range(len(parts.objects))]
        objects.append(container(0x0409, atom(0x040A, struct.pack("<I", len(listed) + 1)), *listed))
    document = container(
        0x03E8,
        atom(0x03E9, struct.pack("<IIIIIIIIHHBBBB", 5760, 4320, 4320, 5760, 1, 2, 0, 0, 1, 0, 0, 0, 0, 1), 0, 1),
        *objects,
        r.environment(),
        group,
        container(0x0FF0, r.persist_atom(_MASTER, _MASTER_ID, 0), instance=1),
        container(0x0FF0, *parts.listed),
        atom(0x03EA, b""),
    )
    master = container(0x03F8, r.slide_atom(0), r.drawing(1, ()), r.colour_scheme())
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
    """The stream Current User (2.3.2)."""
    name = b"Author"
    data = struct.pack("<IIIHHBBH", 20, 0xE391C05F, last_edit, len(name), 0x03F4, 3, 0, 0) + name
    return atom(0x0FF6, data + struct.pack("<I", 8) + name.decode().encode("utf-16-le"))
