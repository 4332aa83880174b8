"""Faulty documents and pictures: cut, damaged, without a part they need, under another format's name."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

from dataset_gen.faults.common import text
from dataset_gen.formats.documents import pdf
from dataset_gen.formats.images import jpeg
from dataset_gen.formats.office import docx, xlsx
from dataset_gen.formats.order import Order
from dataset_gen.made import Made, branch, leaf
from dataset_gen.packing.zip import ZipWriter
from readers.errors import ExceptionCode

PROGRAM = "application/x-dosexec"


def _small(build: Callable[[Order], Made], order: Order, size: int) -> Made:
    return build(replace(order, size=size, terms=()))


def _spoiled(data: bytes, media_type: str, fault: str, code: ExceptionCode) -> Made:
    return branch(data, media_type, own=(data,)).spoiled(fault, code.value)


def corrupt_docx(order: Order) -> Made:
    """A document whose text part is damaged in the middle; the package's directory is whole."""
    good = _small(docx.build, order, 5000).data
    start, packed = _part(good, b"word/document.xml")
    middle = start + packed // 2
    data = good[:middle] + b"\xff" * 64 + good[middle + 64 :]
    return _spoiled(data, docx.MEDIA_TYPE, "corrupt_docx", ExceptionCode.CORRUPT)


def _part(package: bytes, name: bytes) -> tuple[int, int]:
    """Where a part's packed bytes begin, and how many there are."""
    start = package.index(name) + len(name)
    return start, int.from_bytes(package[start - len(name) - 12 : start - len(name) - 8], "little")


def truncated_docx(order: Order) -> Made:
    """Cut in the middle of its text part: no directory, no main part."""
    good = _small(docx.build, order, 5000).data
    start, packed = _part(good, b"word/document.xml")
    return _spoiled(good[: start + packed // 2], docx.MEDIA_TYPE, "truncated_docx", ExceptionCode.TRUNCATED)


def flipped_xlsx(order: Order) -> Made:
    """One bit of a sheet is another: its CRC does not match."""
    data = bytearray(_small(xlsx.build, order, 6000).data)
    start, packed = _part(bytes(data), b"xl/worksheets/sheet1.xml")
    data[start + packed // 2 + order.dice.below(packed // 3)] ^= 1 << order.dice.below(8)
    return _spoiled(bytes(data), xlsx.MEDIA_TYPE, "flipped_xlsx", ExceptionCode.CORRUPT)


def docx_without_text(order: Order) -> Made:
    """A package whose content types name a main part that is not in it."""
    good = _small(docx.build, order, 4000).data
    out = ZipWriter()
    at = 0
    while good.startswith(b"PK\3\4", at):
        method, crc, packed, size = struct.unpack_from("<8xH4xLLL", good, at)
        length = struct.unpack_from("<H", good, at + 26)[0]
        name, start = good[at + 30 : at + 30 + length], at + 30 + length
        if name != b"word/document.xml":
            out.put(name, good[start : start + packed], size, crc, store=method == 0)
        at = start + packed
    return _spoiled(out.finish(), docx.MEDIA_TYPE, "docx_without_text", ExceptionCode.CORRUPT)


def truncated_pdf(order: Order) -> Made:
    """Cut before its cross-reference table: readers find the pages by searching, and say that the end is missing."""
    good = _small(pdf.build, order, 9000)
    data = good.data[: good.data.rindex(b"xref\n", 0, good.data.rindex(b"startxref"))]
    made = branch(data, "application/pdf", own=(data,), pages=good.truth.pages)
    return made.spoiled("truncated_pdf", ExceptionCode.TRUNCATED.value)


def flipped_pdf(order: Order) -> Made:
    """One bit in the page tree is another: a page that it counts is not to be found."""
    good = _small(pdf.build, order, 9000)
    data = bytearray(good.data)
    data[data.index(b"/Kids [ ") + 8] ^= 0x40  # the first digit of a reference becomes a letter
    made = branch(bytes(data), "application/pdf", own=(bytes(data),))
    return made.spoiled("flipped_pdf", ExceptionCode.CORRUPT.value)


def truncated_jpg(order: Order) -> Made:
    """The upper half of a picture."""
    good = _small(jpeg.build, order, 24_000).data
    return leaf(good[: len(good) // 2], "image/jpeg").spoiled("truncated_jpg", ExceptionCode.TRUNCATED.value)


def docx_as_pdf(order: Order) -> Made:
    """A sound Word document named .pdf: its bytes decide."""
    return docx.build(order).spoiled("docx_as_pdf")


def jpg_as_txt(order: Order) -> Made:
    """A sound picture named .txt: its bytes decide."""
    return jpeg.build(order).spoiled("jpg_as_txt")


def exe_as_doc(order: Order) -> Made:
    """A program named .doc ([MS-DOS] and PE headers with nothing behind them but data): nobody reads programs."""
    stub = b"MZ\x90\0\3\0\0\0\4\0\0\0\xff\xff\0\0\xb8" + bytes(7) + b"\x40" + bytes(35) + struct.pack("<L", 128)
    stub += bytes.fromhex("0e1fba0e00b409cd21b8014ccd21") + b"This program cannot be run in DOS mode.\r\r\n$"
    header = struct.pack("<4sHHLLLHH", b"PE\0\0", 0x14C, 1, 1_500_000_000, 0, 0, 224, 0x102)
    optional = struct.pack("<HBB", 0x10B, 14, 0) + bytes(220)
    data = stub.ljust(128, b"\0") + header + optional + text(order, order.size - 500).data
    return leaf(data, PROGRAM).spoiled("exe_as_doc", ExceptionCode.UNSUPPORTED.value)
