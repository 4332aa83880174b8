"""Lists of Word documents in compound files: the numbers that they make stand in front of their paragraphs."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from core.records import Limits
from readers.base import MemorySource
from readers.cfb import Storage, write
from readers.office.doc.handler import DocHandler
from readers.office.doc.numbering import Numbering, _paragraphs

LEGAL, NO_RESTART = 0x04, 0x08


def level(text: str, form: int = 0, start: int = 1, flags: int = 0, limit: int = 0) -> bytes:
    """LVL; `{0}` to `{8}` in the text stand for numbers."""
    said = text.format(*map(chr, range(9)))
    head = struct.pack("<IBB9xB8xBBBx", start, form, flags, 0, 2, 3, limit)
    return head + b"abc" + b"de" + struct.pack("<H", len(said)) + said.encode("utf-16-le")


def lists(*definitions: Sequence[bytes]) -> bytes:
    """PlfLst and the levels behind it; one level makes a simple list."""
    heads = b"".join(struct.pack("<I4x18xBx", 100 + i, len(one) == 1) for i, one in enumerate(definitions))
    levels = b"".join(
        lvl for one in definitions for lvl in [*one, *[level("")] * (9 - len(one) if len(one) > 1 else 0)]
    )
    return struct.pack("<H", len(definitions)) + heads + levels


def instances(*of: tuple[int, Sequence[bytes]]) -> bytes:
    """PlfLfo: definitions by their place, and overrides."""
    heads = b"".join(struct.pack("<I8xBxxx", 100 + number, len(overrides)) for number, overrides in of)
    return struct.pack("<I", len(of)) + heads + b"".join(bytes(4) + b"".join(overrides) for _, overrides in of)


def own(number: int | None = None, at: int | None = None) -> bytes:
    """Modifiers of a paragraph: a list and a level, behind others."""
    out = struct.pack("<HB", 0x2403, 1) + struct.pack("<HBH", 0xC60D, 2, 0)
    out += struct.pack("<HB", 0x260A, at) if at is not None else b""
    return out + (struct.pack("<HH", 0x460B, number) if number is not None else b"")


def styles(*told: tuple[int, bytes]) -> bytes:
    """STSH: for each style the one that it is based on, and modifiers of paragraphs."""
    out = struct.pack("<HHH", 4, len(told), 10)
    for base, modifiers in told:
        papx = struct.pack("<HH", 2 + len(modifiers), 0) + modifiers
        style = struct.pack("<HHHHH", 0, 1 | base << 4, 1, 0, 0) + struct.pack("<H2sH", 1, b"n\0", 0) + papx
        out += struct.pack("<H", len(style)) + style + b"\0" * (len(style) & 1)
    return out


def document(
    paragraphs: Sequence[tuple[str, int, bytes]], lst: bytes, lfo: bytes, sheet: bytes = b"", main: int | None = None
) -> bytes:
    """A Word 97 document of paragraphs (text, style, modifiers), the first `main` characters of which are its main text."""
    text = "".join(one + "\r" for one, _, _ in paragraphs)
    raw = text.encode("cp1252").ljust(512 * (len(text) // 512 + 1), b"\0")
    bounds, entries, room, at = [0x400], [], bytearray(512), 500
    for said, style, modifiers in paragraphs:
        bounds.append(bounds[-1] + len(said) + 1)
        papx = struct.pack("<H", style) + modifiers
        papx += b"\0" * (1 - len(papx) % 2)
        at -= (len(papx) + 1 + 1) & ~1
        room[at : at + 1 + len(papx)] = bytes(((len(papx) + 1) // 2,)) + papx
        entries.append(bytes((at // 2,)) + bytes(12))
    head = struct.pack(f"<{len(bounds)}I", *bounds) + b"".join(entries)
    assert len(head) <= at
    room[: len(head)] = head
    room[511] = len(paragraphs)
    page = (0x400 + len(raw)) // 512
    plc = struct.pack("<2I", 0, len(text)) + struct.pack("<HIH", 0, 0x40000000 | 0x400 * 2, 0)
    table = {
        0x1A2: b"\x02" + struct.pack("<I", len(plc)) + plc,
        0x102: struct.pack("<3I", bounds[0], bounds[-1], page),
        0xA2: sheet,
        0x2EA: lfo,
        0x2E2: lst,
    }
    fib, stream = bytearray(0x400), bytearray(7)
    struct.pack_into("<HHHHHH", fib, 0, 0xA5EC, 0xC1, 0, 0x409, 0, 0x1200)
    struct.pack_into("<II", fib, 0x18, 0x400, 0x400 + len(text))
    count = len(text) if main is None else main
    struct.pack_into("<2I", fib, 0x4C, count, len(text) - count)
    for place, part in table.items():
        struct.pack_into("<II", fib, place, len(stream), len(part))
        stream += part
    return write(Storage(streams={"WordDocument": bytes(fib) + raw + room, "1Table": bytes(stream)}))


def lines(data: bytes) -> list[str]:
    """What the document says."""
    out = DocHandler().text(MemorySource(b"x", data), Limits())
    assert out.error is None
    return out.text.splitlines()


OUTLINE = (level("{0}."), level("{0}.{1}"), level("{0}.{1}({2})", 4), level("({3})", 2))


def test_what_people_cite_is_found() -> None:
    steps = [0, 0, 0, 0, 1, 1, 2, 2, 3, 1, 2, None, 0]
    paragraphs = [(f"p{i}", 0, own(None if at is None else 1, at)) for i, at in enumerate(steps)]
    main = sum(len(said) + 1 for said, _, _ in paragraphs)
    data = document([*paragraphs, ("note", 0, own(1, 0))], lists(OUTLINE), instances((0, ())), main=main)
    labels = ["1.", "2.", "3.", "4.", "4.1", "4.2", "4.2(a)", "4.2(b)", "(i)", "4.3", "4.3(a)", None, "5."]
    said = [f"{label}\tp{i}" if label else f"p{i}" for i, label in enumerate(labels)]
    assert lines(data) == [*said, "1.\tnote"]


def test_instances_styles_and_flags() -> None:
    start = struct.pack("<iI", 7, 0x10)
    form = struct.pack("<iI", 0, 0x20) + level("Art. {0}", 1)
    lst = lists((level("{0}", 3), level("{0}-{1}", 0, flags=LEGAL | NO_RESTART)), (level("\u2022", 23),))
    lfo = instances((0, ()), (0, (start,)), (0, (form,)), (1, ()))
    sheet = styles((0xFFF, b""), (0xFFF, own(1)), (1, own(None, 1)))
    paragraphs = [
        *(("a", 1, b""), ("b", 2, b""), ("c", 2, b""), ("d", 1, own(0)), ("e", 1, b""), ("f", 2, b"")),
        *(("g", 0, own(2, 0)), ("h", 0, own(3, 0)), ("i", 0, own(4, 0)), ("j", 0, own(9, 0)), ("k", 77, own())),
    ]
    labels = ["A", "1-1", "1-2", "", "B", "2-3", "G", "Art. VIII", "", "", ""]
    expected = [f"{label}\t{said}" if label else said for label, (said, _, _) in zip(labels, paragraphs, strict=True)]
    assert lines(document(paragraphs, lst, lfo, sheet)) == expected


def test_a_levels_text_hides_nothing() -> None:
    lst, lfo = lists((level("\x14%1\x1e{0}\x13"),)), instances((0, ()))
    assert lines(document([("a", 0, own(1, 0)), ("b", 0, own(1, 0))], lst, lfo)) == ["%1-1\ta", "%1-2\tb"]


def test_a_page_of_paragraphs_is_taken_once() -> None:
    page = (struct.pack("<2IB", 0, 10, 250).ljust(500, b"\0") + b"\1").ljust(511, b"\0") + b"\1"
    numbers = [1, 1 | 1 << 22, 7] * 100  # the last one is not there
    table = bytes(4 * (len(numbers) + 1)) + struct.pack(f"<{len(numbers)}I", *numbers)
    assert [run[:2] for run in _paragraphs(bytes(512) + page, table)] == [(0, 10)]


@given(st.data())
def test_damaged_lists_cost_no_text(data: st.DataObject) -> None:
    """Neither an exception nor a word."""
    table = bytearray(lists(OUTLINE) + instances((0, (struct.pack("<iI", 7, 0x10),))) + styles((0xFFF, own(1))))
    stream = bytearray(0x400)
    for place in (0xA2, 0x102, 0x2E2, 0x2EA):
        struct.pack_into("<II", stream, place, data.draw(st.integers(0, 600)), data.draw(st.integers(0, 600)))
    for _ in range(data.draw(st.integers(0, 8))):
        table[data.draw(st.integers(0, len(table) - 1))] = data.draw(st.integers(0, 255))
    Numbering(bytes(stream + table), bytes(table))
