"""Text of an item and what is booked of it; the findings of a task."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any, cast

import pytest

from core.errors import StorageFault
from core.places import item_id
from core.records import ExceptionLevel, Limits
from readers.base import LeafHandler, MemorySource, Source, Text
from readers.errors import DocumentError, ExceptionCode
from readers.records import Kind, TextState
from sql.findings import Item, ItemText
from worker.items.findings import ChildCounts, Findings
from worker.items.guard import guarded
from worker.items.texts import Indexing, take_text

SOURCE = MemorySource(b"a", b"x")


def _item(*, container: bool = False) -> Item:
    return Item(
        id=item_id(uuid.UUID(int=1), None, b"a"),
        parent=None,
        family=None,
        custodian=0,
        ordinal=b"a",
        depth=0,
        name=b"a",
        container_path=("a",),
        kind=Kind.LOOSE_FILE,
        container=container,
        media_type="text/plain",
        size=1,
        sha256=b"",
    )


class _Says(LeafHandler):
    """Gives or raises what it is told to."""

    def __init__(self, outcome: Text | Exception) -> None:
        self.outcome = outcome

    def text(self, source: Source, limits: Limits) -> Text:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def _take(outcome: Text | Exception, out: Findings | None = None, limit: int = 10_000) -> tuple[str, ItemText]:
    return take_text(_item(), SOURCE, _Says(outcome), Limits(text_characters=limit), out or Findings())


@pytest.mark.parametrize(
    ("code", "state"),
    [
        (ExceptionCode.ENCRYPTED, TextState.ENCRYPTED),
        (ExceptionCode.UNSUPPORTED, TextState.UNSUPPORTED),
        (ExceptionCode.CORRUPT, TextState.FAILED),
        (ExceptionCode.TOO_LARGE, TextState.FAILED),
    ],
)
def test_the_state_follows_from_the_code(code: ExceptionCode, state: TextState) -> None:
    out = Findings()
    text, row = _take(DocumentError(code, "why"), out)
    assert (text, row.state, row.characters, row.pages) == ("", state, 0, 1)
    assert [(e.code, e.level, e.detail) for e in out.exceptions] == [(code, ExceptionLevel.ITEM, "why")]


def test_a_parsers_bug_is_an_exception() -> None:
    out = Findings()
    _, row = _take(ZeroDivisionError("oops"), out)
    assert row.state is TextState.FAILED
    assert [e.code for e in out.exceptions] == [ExceptionCode.HANDLER_ERROR]


def test_a_fault_of_the_system_is_not_the_documents() -> None:
    with pytest.raises(StorageFault):
        _take(StorageFault("gone"))


def test_text_over_the_limit_is_cut_and_says_so() -> None:
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
    text, container = take_text(_item(container=True), SOURCE, _Says(Text(text="words")), Limits(), Findings())
    _, unread = take_text(_item(), None, _Says(StorageFault("asked")), Limits(), Findings())
    assert (text, container.state, container.pages) == ("", TextState.EMPTY, 0)
    assert unread.state is TextState.FAILED


def test_a_containers_metadata_is_kept() -> None:
    """What a container says of itself is in its row; that it cannot say it is no second exception."""
    out = Findings()
    about = _Says(Text(state=TextState.EMPTY, metadata={"password": True}))
    text, row = take_text(_item(container=True), SOURCE, about, Limits(), out)
    assert (text, row.state, row.metadata) == ("", TextState.EMPTY, {"password": True})
    broken = _Says(DocumentError(ExceptionCode.CORRUPT, "no header"))
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
    told = DocumentError(ExceptionCode.CORRUPT, "two", missing=2)
    assert _booked(ChildCounts(None, emitted=2, cut=told))[1] == (None, 2, 2, False)


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
