"""Text of an item and what is booked of it; the findings of a task."""

import uuid
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import pytest
from made_records import loose_file
from unpacking import PNG, make_docx, make_mail, make_zip, unpack

from core.errors import StorageFault, SystemFault
from core.places import item_id
from core.records import ExceptionLevel, Limits
from dataset_gen import faults
from dataset_gen.profile import load_profile
from dataset_gen.workshop import Workshop, extension
from readers.base import LeafHandler, MemorySource, Source, Text
from readers.errors import DocumentError, ExceptionCode
from readers.keys import DATE, KEYS, misfits
from readers.records import TextState
from readers.registry import handler_for
from sql.findings import Item, ItemText
from worker.items.findings import ChildCounts, Findings
from worker.items.guard import guarded
from worker.items.texts import Indexing, take_text, with_dates_in_utc, without_unread_dates

SOURCE = MemorySource(b"a", b"x")


def _item(*, container: bool = False) -> Item:
    return loose_file(item_id(uuid.UUID(int=1), None, b"a"), container=container, size=1)


class _Returns(LeafHandler):
    """Gives or raises what it is told to."""

    def __init__(self, outcome: Text | Exception) -> None:
        self.outcome = outcome

    def text(self, source: Source, limits: Limits) -> Text:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def _take(outcome: Text | Exception, out: Findings | None = None, limit: int = 10_000) -> tuple[str, ItemText]:
    return take_text(_item(), SOURCE, _Returns(outcome), Limits(text_characters=limit), out or Findings())


@pytest.mark.parametrize(
    ("code", "state", "error"),
    [
        (ExceptionCode.ENCRYPTED, TextState.ENCRYPTED, DocumentError(ExceptionCode.ENCRYPTED, "why")),
        (ExceptionCode.UNSUPPORTED, TextState.UNSUPPORTED, DocumentError(ExceptionCode.UNSUPPORTED, "why")),
        (ExceptionCode.CORRUPT, TextState.FAILED, DocumentError(ExceptionCode.CORRUPT, "why")),
        (ExceptionCode.TOO_LARGE, TextState.FAILED, DocumentError(ExceptionCode.TOO_LARGE, "why")),
        (ExceptionCode.HANDLER_ERROR, TextState.FAILED, ZeroDivisionError("why")),
    ],
)
def test_the_state_follows_from_the_code(code: ExceptionCode, state: TextState, error: Exception) -> None:
    out = Findings()
    text, row = _take(error, out)
    assert (text, row.state, row.characters, row.pages) == ("", state, 0, 1)
    assert [(e.code, e.level) for e in out.exceptions] == [(code, ExceptionLevel.ITEM)]
    assert "why" in out.exceptions[0].detail


def test_a_fault_of_the_system_is_not_the_documents() -> None:
    with pytest.raises(StorageFault):
        _take(StorageFault("gone"))


def test_text_over_the_limit_is_cut_and_reports_it() -> None:
    """No text row claims more characters than were indexed."""
    text, row = _take(Text(text="abcdef", pages=7), limit=4)
    assert (text, row.state, row.characters, row.pages) == ("abcd", TextState.TRUNCATED_BY_LIMIT, 4, 7)
    assert _take(Text(text="abcd"), limit=4)[1].state is TextState.OK


def test_what_there_is_of_a_text_cut_short_stays() -> None:
    out = Findings()
    text, row = _take(Text(text="half", error=DocumentError(ExceptionCode.TRUNCATED, "cut")), out)
    assert (text, row.state) == ("half", TextState.PARTIAL)
    assert [e.code for e in out.exceptions] == [ExceptionCode.TRUNCATED]


@pytest.mark.parametrize(
    ("found", "state", "pages"),
    [
        (Text(), TextState.EMPTY, 1),
        (Text(text=" \n"), TextState.EMPTY, 1),
        (Text(text="x" * 3_000), TextState.OK, 1),
        (Text(text="x" * 3_001), TextState.OK, 2),
        (Text(text="x" * 3_001, pages=9), TextState.OK, 9),
        (Text(state=TextState.NO_TEXT_LAYER, pages=0), TextState.NO_TEXT_LAYER, 0),
    ],
)
def test_states_and_pages_without_errors(found: Text, state: TextState, pages: int) -> None:
    """Pages are the format's, else 3,000 characters each, at least one."""
    _, row = _take(found)
    assert (row.state, row.pages) == (state, pages)


def test_containers_and_unreadable_items_are_not_read() -> None:
    text, container = take_text(_item(container=True), SOURCE, _Returns(Text(text="words")), Limits(), Findings())
    _, unread = take_text(_item(), None, _Returns(StorageFault("asked")), Limits(), Findings())
    assert (text, container.state, container.pages) == ("", TextState.EMPTY, 0)
    assert unread.state is TextState.FAILED


def test_a_containers_metadata_is_kept() -> None:
    """What a container says of itself is in its row; that it cannot say it is no second exception."""
    out = Findings()
    about = _Returns(Text(state=TextState.EMPTY, metadata={"password": True}))
    text, row = take_text(_item(container=True), SOURCE, about, Limits(), out)
    assert (text, row.state, row.metadata) == ("", TextState.EMPTY, {"password": True})
    broken = _Returns(DocumentError(ExceptionCode.CORRUPT, "no header"))
    assert take_text(_item(container=True), SOURCE, broken, Limits(), out)[1].metadata == {}
    assert not out.exceptions


def test_the_same_code_is_booked_once() -> None:
    item = _item()
    error = DocumentError(ExceptionCode.CORRUPT, "first")
    out = Findings()
    out.item_failed(item.id, error)
    _take(DocumentError(ExceptionCode.CORRUPT, "second"), out)
    assert [e.detail for e in out.exceptions] == ["first"]
    later = Findings(known={(item.id, ExceptionCode.CORRUPT)})
    _take(error, later)
    assert later.exceptions == []


def _booked(tally: ChildCounts, *, container: bool = True) -> tuple[Findings, tuple[int | None, int, int, bool] | None]:
    out = Findings()
    tally.book(_item(container=container), out)
    if not out.containers:
        return out, None
    (c,) = out.containers
    return out, (c.announced, c.emitted, c.failed, c.remainder_unknown)


def test_a_cut_container_counts_what_it_announced() -> None:
    cut = DocumentError(ExceptionCode.TRUNCATED, "cut")
    out, counts = _booked(ChildCounts(5, emitted=2, cut=cut))
    assert counts == (5, 2, 3, False)
    assert [e.missing for e in out.exceptions] == [3]
    out, counts = _booked(ChildCounts(None, emitted=2, cut=cut))
    assert counts == (None, 2, 1, True)
    assert [e.missing for e in out.exceptions] == [None]
    reported = DocumentError(ExceptionCode.CORRUPT, "two", missing=2)
    assert _booked(ChildCounts(None, emitted=2, cut=reported))[1] == (None, 2, 2, False)


def test_failures_are_summed_by_code() -> None:
    tally = ChildCounts(5, emitted=1)
    for _ in range(3):
        tally.fail(DocumentError(ExceptionCode.ENCRYPTED, "locked"))
    tally.fail(DocumentError(ExceptionCode.CORRUPT, "bad"))
    out, counts = _booked(tally)
    assert counts == (5, 1, 4, False)
    assert {(e.code, e.missing, e.level) for e in out.exceptions} == {
        (ExceptionCode.ENCRYPTED, 3, ExceptionLevel.NODE),
        (ExceptionCode.CORRUPT, 1, ExceptionLevel.NODE),
    }


def test_a_document_without_children_is_not_counted() -> None:
    out, counts = _booked(ChildCounts(None, cut=DocumentError(ExceptionCode.CORRUPT, "bad")), container=False)
    assert counts is None
    assert [e.level for e in out.exceptions] == [ExceptionLevel.ITEM]
    assert _booked(ChildCounts(None), container=True)[1] == (None, 0, 0, False)


def test_the_guard_lets_interruptions_pass() -> None:
    with pytest.raises(KeyboardInterrupt), guarded:
        raise KeyboardInterrupt
    with pytest.raises(DocumentError) as caught, guarded:
        raise ValueError("x" * 9_000)
    assert isinstance(caught.value.__cause__, ValueError)
    assert len(caught.value.detail) <= 500


def test_the_index_has_whoever_a_message_is_from_and_for() -> None:
    added: list[Any] = []
    work = SimpleNamespace(claimed=SimpleNamespace(owner="w"), custodians={})
    shard = SimpleNamespace(add=added.append, id=uuid.UUID(int=2))
    metadata = {
        "from": "a",
        "sent_by": "b",
        "reply_to": "c",
        "resent_from": "d",
        "to": "e",
        "resent_to": "f",
        "delivered_to": "g",
    }
    row = ItemText(item=_item().id, state=TextState.OK, characters=1, pages=1, metadata=metadata)
    Indexing(cast(Any, work), cast(Any, shard), Findings()).book(_item(), "x", row)
    assert [(one.sender, one.recipients) for one in added] == [("a b c d", "e f g")]


PGP = (
    b"From: a@b.example\r\nTo: c@d.example\r\nMIME-Version: 1.0\r\n"
    b'Content-Type: multipart/encrypted; protocol="application/pgp-encrypted"; boundary="x"\r\n\r\n'
    b"--x\r\nContent-Type: application/pgp-encrypted\r\n\r\nVersion: 1\r\n"
    b"--x\r\nContent-Type: application/octet-stream\r\n\r\n-----BEGIN PGP MESSAGE-----\r\n--x--\r\n"
)
CASES = {
    TextState.OK: ["txt", "docx", "xlsx", "pptx", "doc", "xls", "ppt", "pdf", "html", "csv", "xml", "json", "rtf", "odt", "ods", "vcf", "ics", "eml", "msg", "tnef"],
    TextState.NO_TEXT_LAYER: ["jpg", "png", "gif", "tif", "bmp", "webp"],
    TextState.UNSUPPORTED: ["wav", "mp3", "mp4", "m4a"],
    TextState.ENCRYPTED: ["encrypted_pdf", "encrypted_docx", "encrypted_xlsx", "encrypted_doc"],
    TextState.FAILED: ["docx_without_text"],
    TextState.EMPTY: ["zero_bytes", "zip", "mbox", "pst", "tar", "7z", "encrypted_7z"],
}  # fmt: skip
LIMITED = ["txt", "docx", "xlsx", "pptx", "doc", "xls", "ppt", "pdf", "html", "csv", "xml", "rtf", "odt", "ods", "vcf", "ics", "eml", "msg", "tnef"]  # fmt: skip


@cache
def _shop() -> Workshop:
    return Workshop(load_profile("reference"), 3, 0.001)


def _data(fmt: str) -> tuple[bytes, bytes]:
    """(name, bytes) of a made document."""
    size = faults.FILES[fmt][1] if fmt in faults.FILES else 4_000
    ending = faults.FILES[fmt][0] if fmt in faults.FILES else extension(fmt)
    return f"x.{ending}".encode(), _shop().document(fmt, f"states/{fmt}", size).data


def _state(name: bytes, data: bytes, limits: Limits | None = None) -> tuple[TextState, list[str], str]:
    """State, exception codes and text of a loose file."""
    found = unpack(name, data)
    (item,) = (item for item in found.out.items if item.parent is None)
    out = Findings()
    text, row = take_text(item, MemorySource(name, data), handler_for(item.media_type), limits or Limits(), out)
    return row.state, sorted(e.code.value for e in out.exceptions), text


@pytest.mark.parametrize(("state", "fmt"), [(state, fmt) for state, formats in CASES.items() for fmt in formats])
def test_states_by_format(state: TextState, fmt: str) -> None:
    found, codes, text = _state(*_data(fmt))
    assert found is state
    assert bool(text) is (state is TextState.OK or fmt == "jpg")  # a comment is text, though no layer of the picture
    reasons = {
        TextState.ENCRYPTED: ["encrypted"],
        TextState.UNSUPPORTED: ["unsupported"],
        TextState.FAILED: ["corrupt"],
    }
    assert codes == reasons.get(state, [])


@pytest.mark.parametrize("fmt", LIMITED)
def test_truncated_by_limit(fmt: str) -> None:
    state, codes, text = _state(*_data(fmt), Limits(text_characters=40))
    assert (state, codes) == (TextState.TRUNCATED_BY_LIMIT, [])
    assert 0 < len(text) <= 40


@pytest.mark.parametrize(
    ("name", "data", "state"),
    [
        (b"m.eml", PGP, TextState.ENCRYPTED),
        (b"m.eml", make_mail("only a subject", ""), TextState.EMPTY),
        (b"d.docx", make_docx("")[:-400], TextState.FAILED),
        (b"p.png", PNG, TextState.NO_TEXT_LAYER),
        (b"p.png", PNG[:12], TextState.FAILED),
        (b"x.bin", bytes(range(256)) * 4, TextState.UNSUPPORTED),
        (b"z.zip", make_zip({"a.txt": b"a"})[:-10], TextState.EMPTY),
    ],
)
def test_states_of_odd_files(name: bytes, data: bytes, state: TextState) -> None:
    assert _state(name, data)[0] is state


def test_dates_are_in_utc_and_the_original_is_beside() -> None:
    reported = {"created": "2024-01-02T10:00:00", "modified": "2024-01-02T10:00:00-05:00", "start": "2024-05-01"}
    reported |= {
        "taken": "2024-01-02T10:00:00Z",
        "digitised": "2024-01-02T10:00:00+00:00",
        "title": "2024-01-02T10:00:00",
    }
    out = with_dates_in_utc(reported, "Europe/Berlin")
    assert out == reported | {
        "created": "2024-01-02T09:00:00Z",
        "created_original": "2024-01-02T10:00:00",
        "modified": "2024-01-02T15:00:00Z",
        "modified_original": "2024-01-02T10:00:00-05:00",
        "digitised": "2024-01-02T10:00:00Z",
    }
    assert misfits(out) == []
    assert with_dates_in_utc(out, "America/New_York") == out


def test_what_a_handler_keeps_of_the_original_stays() -> None:
    reported = {"date": "2024-01-02T10:00:00", "date_original": "Tue, 2 Jan 2024 10:00"}
    assert with_dates_in_utc(reported, "UTC") == reported | {"date": "2024-01-02T10:00:00Z"}


def test_every_date_has_a_key_for_its_original() -> None:
    """Or it would be metadata that nothing lists."""
    assert {f"{name}_original" for name, key in KEYS.items() if key.kind == DATE} <= KEYS.keys()


def test_a_host_that_lacks_the_jobs_zone_suspends_it() -> None:
    """No date is told in another zone instead."""
    with pytest.raises(
        SystemFault, match=r"this host has no time zone Europe/Newtown; install the locked version of package tzdata"
    ):
        with_dates_in_utc({"created": "2024-01-02T10:00:00"}, "Europe/Newtown")


@pytest.mark.parametrize(
    ("value", "sure"),
    [
        *(("2024", True), ("2024-02", True), ("2024-02-29", True), ("2024-03-05T10:11:12.5Z", True)),
        *(("2024-03-05T10:11:12[Europe/Berlin]", True), ("2024-03-05T10:11:12+14:00", True)),
        *(("2023-02-29", False), ("2024-13-45T10:11:12", False), ("2024-03-05T24:61:00Z", False), ("3/5/2024 10:11 AM", False)),
        *(("2024-03-05T10:11:12+25:00", False), ("2024-03-05T10:11:12[Customized Time Zone]", False), ("D:1910003061620", False)),
    ],
)  # fmt: skip
def test_a_date_that_cannot_be_read_for_sure_is_absent_and_reported(value: str, sure: bool) -> None:
    out, unread = without_unread_dates({"created": value, "title": "t"})
    if sure:
        assert (out, unread) == ({"created": value, "title": "t"}, None)
    else:
        assert out == {"title": "t", "created_original": value}
        assert value in unread.detail
