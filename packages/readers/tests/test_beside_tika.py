"""Text that another extractor found and this one had missed."""

import struct
import zlib

import pytest
from outlook_bytes import attribute, winmail

from core.records import Limits
from readers.base import MemorySource
from readers.identification.identify import identify
from readers.office.ooxml.sheet import printed
from readers.outlook.mapi.form import FormReader
from readers.outlook.mapi.properties import TOPIC
from readers.outlook.tnef import _checksum, read


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ('&C&"Times New Roman,Regular"&12Page &P', "Page"),
        ("&LDraft&C&14Annual report&R&D", "Draft Annual report"),
        ("&K04-024R&&D &A", "R&D"),
        ("&KFF00AAred", "red"),
        ("", ""),
    ],
)
def test_what_a_sheet_prints_above_and_below(code: str, shown: str) -> None:
    assert printed(code) == shown


@pytest.mark.parametrize("declared", ["message/feedback-report", "message/delivery-status"])
def test_a_report_is_a_text_though_it_looks_like_a_header(declared: str) -> None:
    """Its fields are what it says; as a message it would have no text at all."""
    data = b"Feedback-Type: abuse\nUser-Agent: SomeGenerator/1.0\nReceived: x\nDate: today\n"
    assert identify(MemorySource(b"part-1", data), declared) == "text/plain"
    assert identify(MemorySource(b"part-1", data)) == "message/rfc822"


@pytest.mark.parametrize("size", [0, 1, 64, 65, 256, 257, 70_000])
def test_a_checksum_is_the_sum_of_all_bytes(size: int) -> None:
    data = bytes(n * 7 + zlib.crc32(b"%d" % n) & 0xFF for n in range(size))
    assert _checksum(data) == sum(data) & 0xFFFF
    assert _checksum(b"\xff" * size) == 255 * size & 0xFFFF


def test_the_topic_of_a_message_without_a_subject_is_read() -> None:
    topic = b"Quarterly figures\0"
    padded = topic + bytes(-len(topic) % 4)
    listed = struct.pack("<IHHII", 1, 0x001E, TOPIC, 1, len(topic)) + padded
    stream = read(winmail(attribute(0x00069003, listed)))
    assert stream.error is None
    assert FormReader(Limits()).form(stream.as_message(), attachments=False).subject == "Quarterly figures"
