"""readers.office.hwp: text, what lies in the document, and what it says where it cannot be read.

Beside these, 60 documents of pyhwp's, hwplib's and Apache Tika's test suites were read by hand."""

from functools import partial

import pytest
from as_found import text_of
from hwp_file import COMPRESSED, ENCRYPTED, FOR_DISTRIBUTION, deflated, hwp

from core.records import Limits
from readers.base import MemorySource
from readers.cfb import Storage, write
from readers.errors import DocumentError, ExceptionCode
from readers.office.hwp import HwpHandler

HWP = HwpHandler()
OBJECT = write(Storage(streams={"CONTENTS": b"object"}))


read = partial(text_of, kind="application/x-hwp")


@pytest.mark.parametrize("flags", [0, COMPRESSED])
def test_text(flags: int) -> None:
    out = read(hwp("한글 문서", "second words", flags=flags))
    assert (out.text.split("\n")[:2], out.error) == (["한글 문서", "second words"], None)


def test_pictures_and_objects_are_children() -> None:
    data = hwp(
        "a", BIN0001_png=deflated(b"\x89PNG"), BIN0002_OLE=deflated(b"\0\x10\0\0" + OBJECT), BIN0003_jpg=b"\xff\xd8"
    )
    found = {child.name: child.data for child in HWP.children(MemorySource(b"", data), Limits())}
    assert found == {b"BIN0001.png": b"\x89PNG", b"BIN0002.OLE": OBJECT, b"BIN0003.jpg": b"\xff\xd8"}


def test_a_document_for_distribution_is_partial() -> None:
    out = read(hwp("a notice", flags=COMPRESSED | FOR_DISTRIBUTION))
    assert out.text.strip() == "a notice"
    assert (out.error and out.error.code) is ExceptionCode.UNSUPPORTED


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (hwp("words", flags=ENCRYPTED), ExceptionCode.ENCRYPTED),
        (hwp("words", packed=lambda data: deflated(data)[:-3]), ExceptionCode.CORRUPT),
        (write(Storage(streams={"FileHeader": b"other", "DocInfo": b""})), ExceptionCode.CORRUPT),
        (b"HWP Document File V3.00 \x1a\1\2\3\4\5".ljust(200, b"\0"), ExceptionCode.UNSUPPORTED),
    ],
    ids=["password", "damaged", "another's header", "version 3"],
)
def test_what_cannot_be_read_states_why(data: bytes, code: ExceptionCode) -> None:
    """Never `ok` without text, and no children that nobody asked for."""
    with pytest.raises(DocumentError) as caught:
        read(data)
    assert caught.value.code is code
