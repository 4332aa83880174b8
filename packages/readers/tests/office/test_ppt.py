"""Presentations: slides in order with what belongs to them, saved several times, passwords, objects, bounds."""

import contextlib
import random
import struct
import zlib
from collections.abc import Callable

import pytest
from as_found import read_by
from old_office import chars, holding, packager, persist, powerpoint, record, string

from readers.cfb import Storage, write
from readers.errors import DocumentError, ExceptionCode
from readers.office.ole.compound import CompoundFile
from readers.office.ppt.handler import PptHandler

read, children = read_by(PptHandler())


def slide(*parts: bytes, kind: int = 0x3EE) -> bytes:
    """A slide whose shapes hold these."""
    return holding(kind, holding(0x40C, holding(0xF002, holding(0xF00D, *parts))))


def shape(*texts: bytes, placeholder: int = 0) -> bytes:
    """A shape with its texts, one that stands in for a part of the layout where that is given."""
    about = holding(0xF011, record(0xBC3, struct.pack("<IBBH", 0, placeholder, 0, 0))) if placeholder else b""
    return holding(0xF004, about, holding(0xF00D, *texts))


def document(*slides: bytes, notes: bytes = b"", more: bytes = b"") -> bytes:
    lists = holding(0xFF0, *slides) + (holding(0xFF0, notes, instance=2) if notes else b"")
    return holding(0x3E8, more, lists)


def test_slides_in_order_with_outline_shapes_comments_and_notes() -> None:
    comment = holding(0x2EE0, string("Ann", 0), string("look here", 1))
    tag = holding(0x1388, holding(0x138A, string("___PPT10"), record(0x138B, comment)))
    footer = holding(0xFD9, string("the footer", 2))
    masters = holding(0xFF0, persist(9), instance=1)
    linked = holding(0xFD7, string("shown", 0), string("http://far.example", 1), string("257,3", 3))
    linked += holding(0x410, holding(0x411, string("short show")))
    data = powerpoint(
        {
            3: slide(chars("third")),
            2: slide(record(0xFA8, b"caf\xe9\rline"), chars("*"), tag),
            4: slide(chars("a note"), kind=0x3F0),
            9: holding(
                0x3F8,
                shape(chars("Click to edit"), placeholder=1),
                shape(chars("Confidential")),
                shape(chars("© Acme *"), placeholder=9),
            ),
            1: document(
                persist(2),
                chars("outline"),
                persist(3),
                notes=persist(4),
                more=string("Arial") + footer + masters + linked,
            ),
        }
    )
    out = read(data)
    assert out.text.splitlines() == [
        "outline",
        "café",
        "line",
        "Ann",
        "look here",
        "third",
        "the footer",
        "Confidential",
        "© Acme *",
        "a note",
        "http://far.example",
        "short show",
    ]
    assert (out.pages, out.error) == (2, None)


def test_boxes_and_tables_in_groups() -> None:
    row = [shape(chars(text)) for text in ("left cell", "right cell")]
    table = holding(0xF003, shape(), *row)
    drawing = holding(0x40C, holding(0xF002, holding(0xF003, shape(), table, shape(chars("box in a group")))))
    out = read(powerpoint({1: document(persist(2)), 2: holding(0x3EE, drawing)}))
    assert out.text.splitlines() == ["left cell", "right cell", "box in a group"]


def test_the_last_edit_counts() -> None:
    first = {1: document(persist(2), persist(3)), 2: slide(chars("old")), 3: slide(chars("removed"))}
    out = read(powerpoint(first, {1: document(persist(2)), 2: slide(chars("new"))}))
    assert (out.text, out.pages) == ("new\n", 1)


@pytest.mark.parametrize("streams", [{"token": 0xF3D1C4DF}, {"EncryptedSummary": b"x"}])
def test_a_password_is_reported(streams: dict[str, object]) -> None:
    with pytest.raises(DocumentError, match=r"^encrypted:"):
        read(powerpoint({1: document(persist(2)), 2: slide(chars("x"))}, **streams))  # type: ignore[arg-type]


def test_texts_of_a_damaged_presentation() -> None:
    data = powerpoint({1: document(persist(2)), 2: slide(chars("still here"))})
    out = read(data.replace("Current User".encode("utf-16-le"), "Cannot Users".encode("utf-16-le")))
    assert (out.text, out.pages) == ("still here\n", None)
    assert (out.error and out.error.code) is ExceptionCode.CORRUPT


@pytest.mark.parametrize("damage", ["a slide", "notes", "the document"])
def test_a_damaged_directory_of_objects(damage: str) -> None:
    """A number that leads to something else or nowhere: every text in the stream, the damage said, objects and pictures
    as they lie."""
    number = {"the document": 1, "a slide": 2, "notes": 3}[damage]
    objects = {
        1: document(persist(2), notes=persist(3), more=holding(0x409, embedded(1, 4))),
        2: slide(chars("on the slide")),
        3: slide(chars("in the notes"), kind=0x3F0),
        4: stored(write(Storage(streams={"\x01Ole10Native": packager(b"a.csv", b"1,2")}))),
    }
    good = powerpoint(objects, Pictures=record(0xF01D, bytes(17) + b"\xff\xd8\xffjpg", 0x46A))
    at = good.index(struct.pack("<I", 1 << 20 | number))
    data = good[: at + 4] + struct.pack("<I", 0xFFFFF) + good[at + 8 :]
    out = read(data)
    assert out.text.splitlines() == ["on the slide", "in the notes"]
    assert (out.error and out.error.code) is ExceptionCode.CORRUPT
    assert [(c.name, c.data) for c in children(data)] == [(b"a.csv", b"1,2"), (b"picture1.jpg", b"\xff\xd8\xffjpg")]


def test_a_presentation_saved_for_two_versions() -> None:
    good = CompoundFile(powerpoint({1: document(persist(2)), 2: slide(chars("of 97"))}))
    newer = {entry.name: good.read(entry) for entry in good.root.children}
    older = {"PowerPoint Document": b"\0\0\0\0of 95", "Current User": b"\x18\0\0\0Dr. Who"}
    out = read(write(Storage(streams=older, storages=[Storage("PP97_DUALSTORAGE", streams=newer)])))
    assert (out.text, out.pages, out.error) == ("of 97\n", 1, None)


def embedded(number: int, persisted: int) -> bytes:
    return holding(0xFCC, record(0xFC3, struct.pack("<6I", 4, 0, number, 0, persisted, 0)))


def stored(data: bytes, *, cut: int = 0) -> bytes:
    packed = zlib.compress(data)
    return record(0x1011, struct.pack("<I", len(data)) + packed[: len(packed) - cut], 1)


def test_objects_and_pictures() -> None:
    package = write(Storage(streams={"\x01Ole10Native": packager(b"a.csv", b"1,2")}))
    sheet = write(Storage(streams={"Workbook": b"w" * 100}))
    pictures = record(0xF01D, bytes(17) + b"\xff\xd8\xffjpg", 0x46A) + record(0xF01A, b"metafile", 0x3D4)
    pictures += record(0xF01E, bytes(33) + b"\x89PNG", 0x6E1)
    objects = holding(0x409, embedded(1, 4), embedded(2, 5), embedded(3, 6), embedded(4, 7))
    data = powerpoint(
        {
            1: document(more=objects),
            4: stored(package),
            5: record(0x1011, sheet),
            6: stored(package, cut=9),
            7: slide(chars("no object")),
        },
        Pictures=pictures,
    )
    found = children(data)
    assert [(c.name, c.ordinal, c.data) for c in found] == [
        (b"a.csv", 0, b"1,2"),
        (b"object-1", 1, sheet),
        (b"a.csv", 2, b"1,2"),
        (b"object-3", 3, None),
        (b"picture1.jpg", 4, b"\xff\xd8\xffjpg"),
        (b"picture2.png", 5, b"\x89PNG"),
    ]
    assert [c.error.code if c.error else None for c in found[2:4]] == [ExceptionCode.TRUNCATED, ExceptionCode.CORRUPT]


def _no_such_block(whole: bytes) -> bytes:
    """Deflated up to the middle; what stands there is no block."""
    deflating = zlib.compressobj()
    return deflating.compress(whole[:6_000]) + deflating.flush(zlib.Z_FULL_FLUSH) + b"\x07" * 100


@pytest.mark.parametrize(
    ("deflated", "code"),
    [
        (lambda whole: zlib.compress(whole)[:-4], None),
        (lambda whole: zlib.compress(whole)[:-4] + b"\0\0\0\0", ExceptionCode.CORRUPT),
        (lambda whole: zlib.compress(whole)[:-300], ExceptionCode.TRUNCATED),
        (_no_such_block, ExceptionCode.CORRUPT),
    ],
    ids=["without its checksum", "with a wrong one", "cut", "damaged"],
)
def test_damaged_objects_keep_what_there_is(deflated: Callable[[bytes], bytes], code: ExceptionCode | None) -> None:
    """All bytes that it announces are the object, checksum or not; of a damaged one what can be inflated, and why it is
    not more."""
    chance = random.Random(5)
    whole = write(Storage(streams={"Workbook": bytes(chance.randrange(256) for _ in range(9_000))}))
    packed = struct.pack("<I", len(whole)) + deflated(whole)
    data = powerpoint({1: document(more=embedded(1, 4)), 4: record(0x1011, packed, 1)})
    (child,) = children(data)
    assert child.data
    assert child.data[:1_000] == whole[:1_000]
    assert code is not None or child.data == whole
    assert (child.error.code if child.error else None) is code


def test_slides_that_are_all_the_same_bytes_are_read_once() -> None:
    """References to one place, and places a few bytes apart: no more text than the file holds a few times over."""
    big = slide(*(chars("x" * 50) for _ in range(2_000)))
    listed = [persist(2 + n) for n in range(2_000)]
    edits = [{1: document(*listed), 2: big}, *({2 + n: b""} for n in range(1, 300))]
    assert len(read(powerpoint(*edits)).text) < 3 * len(big)


def test_mutants_raise_document_errors_only() -> None:
    good = powerpoint({1: document(persist(2), chars("outline"), more=embedded(1, 3)), 2: slide(chars("x"))})
    chance = random.Random(3)
    for _ in range(300):
        data = bytearray(good)
        for _ in range(chance.choice((1, 3, 12))):
            data[chance.randrange(512, len(data))] = chance.choice((0, 0xFF, 0x0F, chance.randrange(256)))
        mutant = bytes(data[: chance.choice((len(data), chance.randrange(len(data))))])
        children(mutant)
        with contextlib.suppress(DocumentError):
            read(mutant)
