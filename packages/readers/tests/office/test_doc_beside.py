"""What older documents of Word and PowerPoint say beside their characters."""

from __future__ import annotations

import struct

import pytest
from old_office import holding, persist, powerpoint, word

from core.records import Limits
from readers.base import MemorySource
from readers.office import art
from readers.office.doc.beside import addresses, chosen
from readers.office.doc.handler import DocHandler
from readers.office.ppt.handler import PptHandler


def field(entries: list[str], result: int, *, kind: int = 2, default: int = 0) -> bytes:
    """A form's field as it lies in the stream of data."""

    def string(text: str) -> bytes:
        return struct.pack("<H", len(text)) + text.encode("utf-16-le") + b"\0\0"

    head = struct.pack("<IHHH", 0xFFFFFFFF, kind | result << 2, 0, 0) + string("Dropdown1") + struct.pack("<H", default)
    strings = b"".join(map(string, ("", "help", "status", "", "macro")))
    listed = b"".join(struct.pack("<H", len(entry)) + entry.encode("utf-16-le") for entry in entries)
    body = head + strings + struct.pack("<HHH", 0xFFFF, len(entries), 0) + listed
    return struct.pack("<IH", 68 + len(body), 0x44) + bytes(62) + body


def shape(said: str, kind: int = 0x8381) -> bytes:
    """Properties of a shape, the last of which says something."""
    raw = (said + "\0").encode("utf-16-le")
    properties = struct.pack("<HI", 0x0004, 7) + struct.pack("<HI", 0x8380, 4) + struct.pack("<HI", kind, len(raw))
    data = properties + "n\0".encode("utf-16-le") + raw
    return struct.pack("<HHI", 3 << 4 | 3, 0xF00B, len(data)) + data


def test_everything_comes_behind_the_text() -> None:
    link = '\x13 HYPERLINK "http://evidence.example/ a" \\o "tip" \x14click\x15'
    data = b"junk" + field(["Innocent", "Guilty"], 1) + shape("A ship in the harbour")
    owners = b"".join(struct.pack("<H", len(name)) + name.encode("utf-16-le") for name in ("Miller", "Ann", "Miller"))
    made = word(
        [f"Verdict: \x13 FORMDROPDOWN \x01\x15 {link}\r"],
        streams={"Data": data},
        drawings=shape("Watermark", 0x80C0) + shape("Map of the Quarterdeck"),
        owners=owners,
    )
    out = DocHandler().text(MemorySource(b"x.doc", made), Limits())
    said = ["Watermark", "Guilty", "Map of the Quarterdeck", "A ship in the harbour", "Miller", "Ann"]
    assert out.text.splitlines() == ["Verdict:  click", *said, "http://evidence.example/ a"]
    assert out.error is None


@pytest.mark.parametrize(
    ("result", "default", "kind", "wanted"),
    [(1, 0, 2, ["two"]), (25, 1, 2, ["two"]), (2, 0, 2, []), (1, 0, 1, []), (25, 9, 2, [])],
)
def test_the_entry_that_is_chosen(result: int, default: int, kind: int, wanted: list[str]) -> None:
    data = field(["one", "two"], result, kind=kind, default=default)
    assert list(chosen(data)) == wanted
    for cut in range(len(data)):
        list(chosen(data[:cut]))


def test_where_links_lead() -> None:
    text = '\x13HYPERLINK "http://a"\x14x\x15 \x13 hyperlink http://b \\h\x14y\x15 \x13 HYPERLINK \\l "there"\x14z\x15 '
    text += '\x13 HYPERLINK "http://a"\x14x\x15 HYPERLINK "http://c" \x13 REF HYPERLINK "http://d"\x15'
    assert list(addresses(text)) == ["http://a", "http://b"]
    assert list(addresses("\x13 HYPERLINK" + " " * 200_000 + '"')) == []


def test_descriptions_of_shapes() -> None:
    data = b"\x0b\xf0" + shape("one") + b"\x33" + shape("two") + b"\x81\x83"
    assert list(art.descriptions(data)) == ["one", "two"]
    assert list(art.lettering(data)) == []
    for cut in range(len(data)):
        list(art.descriptions(data[:cut]))


def test_slides_tell_what_shapes_show() -> None:
    drawn = holding(0x3EE, holding(0x40C, holding(0xF002, holding(0xF004, shape("A ship in the harbour")))))
    made = powerpoint({1: holding(0x3E8, holding(0xFF0, persist(2))), 2: drawn})
    out = PptHandler().text(MemorySource(b"x.ppt", made), Limits())
    assert (out.text, out.error) == ("A ship in the harbour\n", None)
