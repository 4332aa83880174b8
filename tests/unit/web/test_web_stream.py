"""A stream sends what changes of a job until it is over, and waits for a database that is away."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from job_figures import job_row

import web.stream
from core.errors import DatabaseFault, EdbenchError, UsageError
from web.stream import NOTHING_NEW, Look, Streams

PATIENCE = 300.0  # seconds; all of it takes a few milliseconds on a quiet machine


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks without pause."""
    monkeypatch.setattr(web.stream, "LOOK_SECONDS", 0.001)


class Job:
    """A job that goes through what it is given, a step a look; the last one stays."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)
        self.asked: list[float | None] = []

    def look(self, since: float | None) -> Look:
        """The next step: a state, with a clock that goes on by ten seconds a look, or an error."""
        self.asked.append(since)
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, EdbenchError):
            raise step
        now = 10.0 * len(self.asked)
        row = job_row(state=step, elapsed_s=now if step == "running" else 0.0)
        return Look(row, {"now_s": now, "since": since})


def _names(job: Job, streams: Streams | None = None, seen: Callable[[str], None] = lambda _: None) -> list[str]:
    """The names of all events until the stream ends."""

    async def scene() -> list[str]:
        names = []
        async for text in (streams or Streams()).events(job.look):
            for block in text.strip().split("\n\n"):
                names.append(block.split("\n")[0].removeprefix("event: "))
                seen(block)
        return names

    return asyncio.run(asyncio.wait_for(scene(), PATIENCE))


def test_increments_until_the_job_is_over() -> None:
    """The whole first; then each from some seconds before the last, so that what was stored late comes too."""
    job = Job("running", "running", "running", "completed")
    assert _names(job) == [*("timeline", "job") * 4, "end"]
    assert job.asked == [None, 5.0, 15.0, 25.0]


def test_a_job_that_is_over_ends_at_once() -> None:
    assert _names(Job("cancelled")) == ["timeline", "job", "end"]


def test_a_database_that_goes_away_is_reported_once_and_waited_for() -> None:
    away = DatabaseFault("database db1 cannot be reached", transient=True)
    names = _names(Job("running", "running", away, away, away, "completed"))
    assert names.count("problem") == 1
    assert names[-1] == "end"


def test_a_database_that_does_not_answer_is_reported_and_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next answer removes the problem."""
    job, answer = Job("paused", "paused", "completed"), threading.Event()
    looked = job.look

    def look(since: float | None) -> Look:
        assert len(job.asked) != 1 or answer.wait(PATIENCE)
        return looked(since)

    def seen(block: str) -> None:
        if block.startswith("event: problem"):
            answer.set()
        monkeypatch.setattr(web.stream, "SILENT_SECONDS", PATIENCE if answer.is_set() else 0.0)

    monkeypatch.setattr(web.stream, "SILENT_SECONDS", PATIENCE)
    monkeypatch.setattr(web.stream, "_TURN_SECONDS", 0.001)
    job.look = look  # type: ignore[method-assign]
    assert _names(job, seen=seen) == ["timeline", "job", "problem", *("timeline", "job") * 2, "end"]


def test_a_job_that_is_deleted_ends_the_stream() -> None:
    assert _names(Job("running", "running", UsageError("there is no job")))[-1] == "end"


def test_a_closed_application_ends_its_streams_and_begins_none() -> None:
    job, streams = Job("running"), Streams()
    assert "end" not in _names(job, streams, seen=lambda _: streams.close())
    assert _names(job, streams) == []


def test_a_job_at_rest_is_not_reported_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a comment shows now and then that the stream is alive."""
    monkeypatch.setattr(web.stream, "KEEP_SECONDS", 0.0)
    assert _names(Job(*["paused"] * 20, "completed")) == [
        *("timeline", "job"), *[NOTHING_NEW.strip()] * 19, *("timeline", "job"), "end"
    ]  # fmt: skip
