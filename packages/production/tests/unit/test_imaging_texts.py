"""Text of imaging: as the index has it, and what of it is missing is said where it is missing."""

from __future__ import annotations

import dataclasses
import uuid

import pytest

from core.records import JobOptions, Limits
from production.pages import text_of
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.records import Kind
from sql.findings import Item

_MAIL = b"From: ann@example.org\r\nSubject: plums\r\nDate: Tue, 02 Jul 2024 10:00:00\r\n\r\n"


def _of(data: bytes, media_type: str, options: JobOptions | None = None) -> tuple[str, tuple[DocumentError, ...]]:
    item = Item(
        id=uuid.UUID(int=1), parent=None, family=None, custodian=0, ordinal=b"a", depth=0, name=b"a",
        container_path=("a",), kind=Kind.LOOSE_FILE, container=False, media_type=media_type, size=len(data), sha256=b"",
    )  # fmt: skip
    return text_of(item, MemorySource(b"a", data), options or JobOptions())


def test_a_text_that_was_cut_ends_with_a_line_that_says_so() -> None:
    options = JobOptions(limits=Limits(text_characters=20))
    for media_type, head in (("text/plain", b""), ("message/rfc822", _MAIL)):
        text, faults = _of(head + b"word " * 10, media_type, options)
        assert text.endswith("word word word word \n\n[The text is cut here, after 20 characters.]"), media_type
        assert faults == ()
    assert "[" not in _of(b"word " * 4, "text/plain", options)[0]


def test_a_text_of_which_some_is_missing_is_drawn_and_its_exception_kept() -> None:
    lost = ("word " * 10 + "\ufffd" * 20).encode()
    text, (fault,) = _of(b"Content-Type: text/plain; charset=utf-8\r\n\r\n" + lost, "message/rfc822")
    assert fault.code is ExceptionCode.CORRUPT
    assert "word word" in text
    assert text.splitlines()[-1].startswith("[The text is incomplete: corrupt: ")
    with pytest.raises(DocumentError) as caught:
        _of(b"x" * 1_000, "text/html", JobOptions(limits=Limits(parse_bytes=100)))
    assert caught.value.code is ExceptionCode.TOO_LARGE


def test_dates_are_in_the_zone_of_the_job_that_found_it() -> None:
    options = dataclasses.replace(JobOptions(), time_zone="Europe/Berlin")
    assert "2024-07-02T08:00:00Z" in _of(_MAIL + b"x", "message/rfc822", options)[0]
