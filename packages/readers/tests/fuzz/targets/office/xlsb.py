"""xlsb: the records of a sheet."""

import contextlib
import io
import zipfile

from archive_files import zipped

from core.records import Limits
from readers.errors import DocumentError
from readers.office.ooxml import xlsb
from readers.office.ooxml.package import Package

SEEDS = [b"\x9c\x01\x10" + bytes(16), b"\x00\x11" + bytes(17) + b"\x06\x0e" + bytes(8) + b"\x01\0\0\0a\0"]


def read(data: bytes) -> None:
    names = ("xl/workbook.bin", "xl/styles.bin", "xl/sharedStrings.bin", "xl/worksheets/sheet1.bin")
    made = zipped(dict.fromkeys(names, data), zipfile.ZIP_STORED)
    package = Package(io.BytesIO(made), len(made), Limits())
    book = xlsb.BinaryWorkbook(package)
    with contextlib.suppress(DocumentError):
        book.load()
    with contextlib.suppress(DocumentError):
        list(xlsb.lines(package, "xl/worksheets/sheet1.bin", "", book))
