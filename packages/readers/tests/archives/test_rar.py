"""readers.archives.rar: archives of WinRAR, members of all kinds, damage that stays where it is."""

import struct
import zlib
from pathlib import Path

import pytest
from archive_files import RAR_OF_WINRAR
from archive_files import rar5_block as block
from archive_files import rar5_number as number
from as_found import Found
from unpacking import unpack

from core.records import Limits
from readers.archives.rar import RarHandler, _unicode_name
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify

RAR = RarHandler()


def member(name: str, data: bytes, *, folder: bool = False, extra: bytes = b"", flags: int = 0) -> bytes:
    """A stored member of version 5, with its CRC."""
    raw = name.encode()
    body = number(4 + folder) + number(len(data)) + number(0o644) + struct.pack("<L", zlib.crc32(data))
    return block(2, body + number(0) + number(1) + number(len(raw)) + raw, data, extra, flags)


def archive(*members: bytes, flags: int = 0, end: bool = True) -> bytes:
    return b"Rar!\x1a\x07\x01\0" + block(1, number(flags)) + b"".join(members) + (block(5, b"\0") if end else b"")


LINK = number(6) + number(5) + b"\x01\0" + number(2) + b"ab"  # a record: a symbolic link to "ab"
LOCKED = number(2) + number(1) + b"\0"  # a record: encrypted
GOOD, MORE = b"some words\n" * 30, b"more of them\n" * 40


def test_members_of_all_kinds() -> None:
    data = archive(
        member("a.txt", GOOD),
        member("folder", b"", folder=True),
        member("folder/gr\u00f6\u00dfe.txt", MORE),
        member("empty", b""),
        member("link", b"", extra=LINK),
        member("locked", b"x" * 16, extra=LOCKED),
    )
    assert identify(MemorySource(b"x", data)) == "application/vnd.rar"
    found = unpack(b"a.rar", data)
    assert found.count("a.rar") == (5, 4, 1, False)
    kept = {path[1]: found.store.kept.get(item.id) for path, item in found.by_path.items() if len(path) == 2}
    assert kept == {"a.txt": GOOD, "folder/gr\u00f6\u00dfe.txt": MORE, "empty": b"", "link": None}
    assert found.codes("a.rar", "link") == ["symlink"]
    assert found.codes("a.rar") == ["encrypted"]
    assert [child.ordinal for child in RAR.children(MemorySource(b"x", data), Limits())] == [0, 2, 3, 4, 5]


def test_a_solid_archive_of_winrar() -> None:
    children = list(RAR.children(MemorySource(b"x", RAR_OF_WINRAR), Limits()))
    assert [child.name for child in children] == [b"test1.bin", b"test2.bin", b"test3.bin", b"test4.bin"]
    for n, child in enumerate(children, start=1):
        words = struct.unpack("<1024L", child.data or b"")
        assert words == tuple((k * k - 3 * k + 1 + n) & 0xFFFFFFFF for k in range(1, 1025))


def test_a_member_that_is_left_is_passed_over() -> None:
    left = iter(RAR.children(MemorySource(b"x", RAR_OF_WINRAR), Limits()))
    next(left)
    assert sum(1 for _ in left) == 3


@pytest.mark.parametrize("at", range(4))
def test_damage_stays_with_its_member(at: int) -> None:
    pieces = [member(f"{n}.txt", f"{n} {n}".encode() * 50) for n in range(4)]
    pieces[at] = pieces[at][:-3] + b"???"
    found = unpack(b"a.rar", archive(*pieces))
    assert found.count("a.rar") == (4, 3, 1, False)
    assert found.codes("a.rar") == ["corrupt"]
    assert {path[1] for path in found.by_path if len(path) == 2} == {f"{n}.txt" for n in range(4) if n != at}


def test_damage_in_a_solid_archive_costs_what_is_behind() -> None:
    data = bytearray(RAR_OF_WINRAR)
    data[len(data) // 2] ^= 0x55
    announced, emitted, failed, _ = unpack(b"a.rar", bytes(data)).count("a.rar")
    assert announced is None or announced == emitted + failed
    assert failed > 0


def test_cut_archives() -> None:
    """What is whole comes out, then `truncated`: nobody knows what followed."""
    data = archive(member("a.txt", GOOD), member("b.txt", MORE))
    found = unpack(b"a.rar", data[:-30])
    assert found.count("a.rar") == (None, 1, 2, True)
    assert found.codes("a.rar")[-1] == "truncated"
    assert found.codes("a.rar", "a.txt") == []


def test_a_damaged_header_ends_it() -> None:
    first = archive(member("a.txt", GOOD), end=False)
    second = bytearray(member("b.txt", MORE))
    second[8] ^= 0xFF
    found = unpack(b"a.rar", first + bytes(second))
    assert found.count("a.rar") == (None, 1, 1, True)
    assert found.codes("a.rar") == ["corrupt"]


def test_one_part_of_a_split_archive_reports_it() -> None:
    data = archive(member("whole.txt", GOOD), member("cut.txt", MORE, flags=0x10), flags=1)
    children = Found(RAR, data, b"a.part1.rar").children
    assert [(child.name, child.error and child.error.code) for child in children] == [
        (b"whole.txt", None),
        (b"cut.txt", ExceptionCode.UNSUPPORTED),
    ]
    found = unpack(b"a.part1.rar", data)
    assert found.count("a.part1.rar") == (None, 1, 2, True)
    assert any("join the parts" in e.detail for e in found.out.exceptions)


def test_hidden_names_are_encrypted() -> None:
    """Nothing can be said of the members but that a password is needed."""
    data = b"Rar!\x1a\x07\x01\0" + block(4, b"\0\0\x0f" + bytes(16))
    with pytest.raises(DocumentError, match=r"^encrypted:"):
        list(RAR.children(MemorySource(b"x", data), Limits()))


def test_lies_about_sizes_end_in_document_errors() -> None:
    raw = b"big"
    body = number(4) + number(1 << 40) + number(0) + struct.pack("<L", 0) + number(0) + number(1) + number(3) + raw
    found = unpack(b"a.rar", archive(block(2, body, b"few bytes"), member("b.txt", MORE)))
    assert found.codes("a.rar", "b.txt") == []
    assert found.count("a.rar")[:3] == (2, 1, 1)


@pytest.mark.parametrize(
    ("stored", "name"),
    [
        (b"a\\\xe4.txt", "a/\xe4.txt"),  # no NUL: UTF-8 already, or a code page
        (b"gr??e.txt\0\4\x00gr\xf6\xdf\xc0\x03", "gr\xf6\xdfe.txt"),
        (b"??.txt\0\4\x5f\x34\x35\x02", "\u0434\u0435.txt"),
        (b"ab.txt\0\4\xc0\x82\x34", "\u0495\u0496\u0462\u04a8"),
        (b"a\0\4\xaa\x4b\x04\x4b", "\u044bK"),
    ],
)
def test_names_of_version_4(stored: bytes, name: str) -> None:
    """In UTF-16 as differences to those in a code page: low bytes, bytes with the same high one, pairs, and runs that repeat."""
    assert _unicode_name(stored).decode("latin-1" if stored[:2] == b"a\\" else "utf-8") == name


def test_version_4_holds_what_the_zip_holds(real_files: Path) -> None:
    kept = []
    for name in ("test-documents.rar", "test-documents.zip"):
        found = unpack(name.encode(), (real_files / "ingest-file" / name).read_bytes())
        kept.append({path[1].rsplit("/", 1)[-1]: i.sha256 for path, i in found.by_path.items() if len(path) == 2})
    assert kept[0] == kept[1]
    assert len(kept[0]) == 9
