"""readers.tables.dbase.handler: tables of every generation, and their memos."""

import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from as_found import text_of
from hypothesis import given
from hypothesis import strategies as st

from core.records import Limits
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.tables.dbase import handler as dbase_memo
from readers.tables.dbase.handler import MemoHandler, TableHandler

TABLE, MEMO = TableHandler(), MemoHandler()
DBASE_III, DBASE_II, VISUAL, DBASE_7 = 0x03, 0x02, 0x30, 0x04


def table(
    *rows: bytes, version: int = DBASE_III, fields: tuple[tuple[str, str, int], ...], driver: int = 0, more: int = 0
) -> bytes:
    """A table; each row with its mark. The header announces `more` rows than there are."""
    length = 1 + sum(width for _, _, width in fields)
    if version == DBASE_II:
        head = struct.pack("<BH3BH", version, len(rows) + more, 1, 2, 99, length)
        head += b"".join(struct.pack("<11scBHB", n.encode(), k.encode(), w, 0, 0) for n, k, w in fields)
        return (head + b"\r").ljust(521, b"\0") + b"".join(rows) + b"\x1a"
    form, extra = ("<32scB14x", 36) if version == DBASE_7 else ("<11sc4xH14x", 0)
    names = b"".join(struct.pack(form, n.encode(), k.encode(), w) for n, k, w in fields)
    head = struct.pack("<4BIHH17xBxx", version, 120, 2, 3, len(rows) + more, 33 + extra + len(names), length, driver)
    return head + bytes(extra) + names + b"\r" + b"".join(rows) + b"\x1a"


read = partial(text_of, kind="application/x-dbf")


@pytest.mark.parametrize("version", [DBASE_II, DBASE_III, 0x83, 0x8B, 0xF5, VISUAL, DBASE_7])
def test_rows_of_every_generation(version: int) -> None:
    fields = (("NAME", "C", 6), ("SUM", "N", 5), ("PAID", "L", 1))
    out = read(table(b" Ann    1.50T", b"*Bob        F", version=version, fields=fields))
    assert out.text == "NAME\tSUM\tPAID\nAnn\t1.50\ttrue\nBob\t\tfalse\n"
    assert (out.error, out.metadata["rows"], out.metadata["columns"]) == (None, 2, 3)


def test_values_that_are_written_as_bytes() -> None:
    """Numbers, amounts and moments of Visual FoxPro; texts of variable length; what says which values are null is none
    of them."""
    fields = (("I", "I", 4), ("Y", "Y", 8), ("T", "T", 8), ("B", "B", 8), ("V", "V", 9), ("D", "D", 8), ("N", "0", 1))
    row = struct.pack("<iqIId", -7, 123456, 2_451_545, 3_661_000, 0.5) + b"abc\0\0\0\0\0\x03" + b"20010203" + b"\xff"
    assert read(table(b" " + row, version=VISUAL, fields=fields)).text == (
        "I\tY\tT\tB\tV\tD\n-7\t12.3456\t2000-01-01 01:01:01\t0.5\tabc\t2001-02-03\n"
    )


def test_numbers_of_dbase_7() -> None:
    fields = (("I", "I", 4), ("A", "+", 4), ("P", "O", 8), ("M", "O", 8))
    minus = bytes(b ^ 0xFF for b in struct.pack(">d", -2.5))
    plus = bytearray(struct.pack(">d", 2.5))
    plus[0] ^= 0x80
    row = bytes.fromhex("80000005") + bytes.fromhex("7fffffff") + bytes(plus) + minus
    assert read(table(b" " + row, version=DBASE_7, fields=fields)).text == "I\tA\tP\tM\n5\t-1\t2.5\t-2.5\n"


@pytest.mark.parametrize(
    ("driver", "raw", "text"),
    [(0, "größe".encode(), "größe"), (0x57, "größe".encode(), "größe"), (0x01, b"gr\x94\xe1e", "größe"), (0xC9, "да".encode("cp1251"), "да"), (0, b"gr\xf6\xdfe", "größe")],
)  # fmt: skip
def test_charsets(driver: int, raw: bytes, text: str) -> None:
    """UTF-8 where it is, whatever the driver says; else the driver's; else a guess."""
    assert read(table(b" " + raw.ljust(9), fields=(("A", "C", 9),), driver=driver)).text == f"A\n{text}\n"


def test_rows_that_the_header_does_not_count_and_rows_that_are_missing() -> None:
    fields = (("A", "C", 3),)
    assert read(table(b" one", b" two", fields=fields, more=-1)).text == "A\none\ntwo\n"
    short = read(table(b" one", fields=fields, more=2))
    assert (short.text, short.error and short.error.code) == ("A\none\n", ExceptionCode.TRUNCATED)


def test_no_table() -> None:
    """Fields that do not make up the record are another format; with a record too short for them, it is damaged."""
    sound = table(b" abc", fields=(("A", "C", 3),))
    wrong = sound[:10] + b"\x03" + sound[11:]
    with pytest.raises(DocumentError, match=r"^corrupt:"):
        TABLE.text(MemorySource(b"", wrong), Limits())
    assert identify(MemorySource(b"", b"\x03\x00\x01 binary" * 9)) != "application/x-dbf"
    for letter in b"012Cc":
        assert identify(MemorySource(b"", bytes((letter,)) * 5_000)) == "text/plain"


def test_a_real_table(real_files: Path) -> None:
    out = read((real_files / "ingest-file/PAK_adm1.dbf").read_bytes())
    assert (out.metadata["rows"], out.metadata["columns"]) == (8, 9)
    assert "170\tPAK\tPakistan\t1\tAzad Kashmir\t" in out.text


def foxpro(*memos: bytes, block: int = 64) -> bytes:
    body = b"".join((struct.pack(">II", 1, len(m)) + m).ljust(-(-(len(m) + 8) // block) * block, b"\0") for m in memos)
    return struct.pack(">IHH", 99, 0, block).ljust(512, b"\0") + body


def dbase_3(*memos: bytes) -> bytes:
    return bytes(512) + b"".join((m + b"\x1a\x1a").ljust(-(-(len(m) + 2) // 512) * 512, b"\0") for m in memos)


def dbase_4(*memos: bytes) -> bytes:
    head = struct.pack("<I16xHH", 9, 0x0102, 512).ljust(512, b"\0")
    return head + b"".join(
        (struct.pack("<4sI", b"\xff\xff\x08\0", len(m) + 8) + m).ljust(-(-(len(m) + 8) // 512) * 512, b"\0")
        for m in memos
    )


@pytest.mark.parametrize("make", [foxpro, dbase_3, dbase_4])
def test_memos(make: Callable[..., bytes]) -> None:
    data = make(b"first", b"x" * 600, b"soft\x8d\nend")
    assert [len(text) for text in dbase_memo.texts(data)] == [5, 600, 8]
    assert MEMO.text(MemorySource(b"a.fpt", data), Limits()).text.endswith("soft\nend")


@given(st.binary(max_size=2_000))
def test_memos_of_any_bytes(data: bytes) -> None:
    for head in (b"", foxpro(b"a"), dbase_4(b"a")):
        assert sum(len(text) for text in dbase_memo.texts(head + data)) <= len(head + data)
