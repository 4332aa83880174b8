"""One reader for all who listen, that lives as long as they do and no longer."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from job_figures import job_row

import web.stream
from core.errors import DatabaseFault, EdbenchError, UsageError
from web.stream import QUEUED, Listener, Look, Streams

JOB = uuid.UUID(int=7)
PATIENCE = 300.0  # seconds; all of it takes a few milliseconds on a quiet machine


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks without pause."""
    monkeypatch.setattr(web.stream, "LOOK_SECONDS", 0.001)


class Job:
    """A job that goes through what it is given, a step a look; the last one stays.

    Its reader looks only when a listener has heard the beginning: otherwise it would depend on the machine how many
    looks there are before, and a listener that is slow to begin would be sent away."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)
        self.asked: list[float | None] = []
        self.heard = threading.Event()  # a listener has had its first look: the steps begin

    def look(self, since: float | None) -> Look:
        """The next step: a state, with a clock that goes on by ten seconds a look, or an error."""
        if threading.current_thread().name == "timeline":
            assert self.heard.wait(PATIENCE)
        self.asked.append(since)
        step = self.steps.pop(0) if self.heard.is_set() and len(self.steps) > 1 else self.steps[0]
        if isinstance(step, EdbenchError):
            raise step
        now = 10.0 * len(self.asked)
        row = job_row(state=step, elapsed_s=now if step == "running" else 0.0)
        return Look(row, {"now_s": now, "since": since})


async def _names(
    streams: Streams, job: Job, most: int = 100, send: Callable[[str], None] = lambda _: None
) -> list[str]:
    names = []
    async for text in streams.events(JOB, job.look):
        job.heard.set()
        for block in text.strip().split("\n\n"):
            names.append(block.split("\n")[0].removeprefix("event: "))
            send(block)
        if len(names) >= most:
            break
    return names


async def _quiet(streams: Streams) -> None:
    """Until nobody reads: a reader that has been left is in the middle of its last look for a moment."""
    await _until(lambda: not streams.reading, "a reader is known that has no listener")
    await _until(lambda: all(thread.name != "timeline" for thread in threading.enumerate()), "a reader goes on")


async def _until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        await asyncio.sleep(0.005)


def _run(scene: Any) -> Any:
    return asyncio.run(asyncio.wait_for(scene, 3 * PATIENCE))


def test_increments_until_the_job_is_over() -> None:
    """The whole first; then each from some seconds before the last, so that what was stored late comes too."""

    async def scene() -> None:
        job, streams = Job("running", "running", "running", "completed"), Streams()
        names = await _names(streams, job)
        assert names[0:2] == ["timeline", "job"]
        assert names[-1] == "end"
        assert job.asked[0] is None
        given = [since for since in job.asked if since is not None]
        assert given == sorted(given)
        assert all(since % 10 == 5 for since in given)
        await _quiet(streams)

    _run(scene())


def test_a_job_that_is_over_ends_at_once() -> None:
    async def scene() -> None:
        streams = Streams()
        assert await _names(streams, Job("cancelled")) == ["timeline", "job", "end"]
        await _quiet(streams)

    _run(scene())


def test_all_listeners_share_a_reader() -> None:
    async def scene() -> None:
        job, streams = Job("running"), Streams()
        reading: list[int] = []
        await asyncio.gather(*(_names(streams, job, 12, lambda _: reading.append(streams.reading)) for _ in range(20)))
        assert set(reading) == {1}
        assert job.asked.count(None) <= 22
        await _quiet(streams)
        asked = len(job.asked)
        await asyncio.sleep(0.05)
        assert len(job.asked) == asked

    _run(scene())


def test_a_database_that_goes_away_is_reported_once_and_waited_for() -> None:
    async def scene() -> None:
        away = DatabaseFault("database db1 cannot be reached", transient=True)
        names = await _names(Streams(), Job("running", "running", away, away, away, "completed"))
        assert names.count("problem") == 1
        assert names[-1] == "end"

    _run(scene())


def test_a_job_that_is_deleted_ends_the_stream() -> None:
    async def scene() -> None:
        assert (await _names(Streams(), Job("running", "running", UsageError("there is no job"))))[-1] == "end"
        streams = Streams()

        def close(_: str) -> None:
            streams.close()

        names = await _names(streams, Job("running"), send=close)
        assert "end" not in names
        assert await _names(streams, Job("running")) == []

    _run(scene())


def test_a_job_at_rest_is_not_reported_again_and_again() -> None:
    async def scene() -> None:
        job, streams = Job("paused"), Streams()
        sent: list[str] = []
        listening = asyncio.create_task(_names(streams, job, send=sent.append))
        await _until(lambda: len(job.asked) >= 20, "nobody looks")
        listening.cancel()
        assert sum(block.startswith("event: timeline") for block in sent) <= 2
        await _quiet(streams)

    _run(scene())


def test_a_listener_that_comes_as_a_reader_ends_gets_another() -> None:
    """It would hear nothing from the one that has told its end already, and wait for ever."""

    async def scene() -> None:
        job, streams, late = Job(UsageError("there is no job")), Streams(), Listener()
        job.heard.set()
        joined: list[Any] = []

        class Last(Listener):
            """At the end of whose stream somebody else joins."""

            def send(self, text: str | None) -> None:
                if text is None:
                    joined.append(streams._join(JOB, job.look, late, None))

        ended = streams._join(JOB, job.look, Last(), None)
        await _until(lambda: bool(joined), "the end is not told")
        assert joined[0] is not ended
        assert [text async for text in late.texts()][-1].startswith("event: end")
        await _quiet(streams)

    _run(scene())


def test_a_listener_that_leaves_as_an_event_comes_has_left() -> None:
    """Its end is not lost over the event, or its reader would go on for nobody."""

    async def scene() -> None:
        for turns in range(5):  # of the loop, that the event has been on its way to the reader
            listener = Listener()
            reading = asyncio.create_task(anext(listener.texts()))
            await asyncio.sleep(0.01)
            listener._put("event")
            for _ in range(turns):
                await asyncio.sleep(0)
            if reading.cancel():
                assert isinstance((await asyncio.gather(reading, return_exceptions=True))[0], asyncio.CancelledError)

    _run(scene())


def test_a_listener_that_does_not_read_is_sent_away() -> None:
    async def scene() -> None:
        listener = Listener()
        for number in range(QUEUED + 1):
            listener._put(f"event {number}")
        assert [text async for text in listener.texts()] == []

    _run(scene())
