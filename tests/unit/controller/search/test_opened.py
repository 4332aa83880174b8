"""Indexes that several searches share."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from controller.search import opened
from controller.search.opened import KEPT, Indexes
from core.records import JobState
from core.settings import Settings


def test_an_index_that_opens_does_not_keep_searches_of_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of segments take seconds; a job's index is opened once, kept, and closed for the latest KEPT others."""
    indexes, log = Indexes(Settings()), []

    @contextmanager
    def opening(handle: Any, settings: Settings) -> Iterator[Any]:
        assert indexes._lock.acquire(blocking=False), "others could not even ask for theirs"
        indexes._lock.release()
        log.append(("opened", handle.id.int))
        yield handle
        log.append(("closed", handle.id.int))

    state = SimpleNamespace(state=JobState.COMPLETED.value, engines=[])
    monkeypatch.setattr(opened, "opened_index", opening)
    monkeypatch.setattr(opened, "SEARCH", SimpleNamespace(index_state=lambda conn, job: state))
    database: Any = SimpleNamespace(transaction=nullcontext)
    for number in (0, 0, *range(1, KEPT + 1)):
        handle: Any = SimpleNamespace(id=uuid.UUID(int=number), database=database)
        with indexes.of(handle) as index:
            assert index is not None
    assert log == [*(("opened", number) for number in range(KEPT + 1)), ("closed", 0)]
