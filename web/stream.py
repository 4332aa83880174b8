"""Live events of jobs: one reader for each watched job, which sends to all listeners."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from fastapi.encoders import jsonable_encoder

from controller.jobs.overview import JobRow
from core.errors import DatabaseFault, EdbenchError, UsageError
from web.errors import line_of, one_line

NOTHING_NEW = ": nothing new\n\n"
KEEP_SECONDS = 10.0  # without an event, a comment shows proxies and the browser that the stream is alive
SILENT_SECONDS = 5.0  # that a look at a job may take
_SILENCE = DatabaseFault(f"no answer for {SILENT_SECONDS:.0f} s", transient=True)
QUEUED = 64  # events that a slow listener may lag before it is disconnected; browsers connect again by themselves


class Listener:
    """One open stream."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[str | None] = asyncio.Queue(QUEUED)

    def send(self, text: str | None) -> None:
        """Send a text from any thread; None ends the stream."""
        with contextlib.suppress(RuntimeError):  # its event loop has ended, and the stream with it
            self._loop.call_soon_threadsafe(self._put, text)

    def _put(self, text: str | None) -> None:
        if self._queue.full():
            while not self._queue.empty():
                self._queue.get_nowait()
            text = None
        self._queue.put_nowait(text)

    async def texts(self) -> AsyncIterator[str]:
        """The sent texts, with comments in between, until the stream ends."""
        while True:
            try:
                # Not wait_for: that forgets a cancellation which comes together with an event (Python 3.11).
                async with asyncio.timeout(KEEP_SECONDS):
                    text = await self._queue.get()
            except TimeoutError:
                yield NOTHING_NEW
                continue
            if text is None:
                return
            yield text


LOOK_SECONDS = 1.0
OVERLAP_SECONDS = 5.0  # of increments: frames of a second may be stored some seconds later


@dataclass(frozen=True, slots=True)
class Look:
    """A job at one moment."""

    row: JobRow
    timeline: dict[str, Any]


Looker = Callable[[float | None], Look]  # `since`, in seconds since the first claim; None: from the beginning


def event(name: str, data: Any) -> str:
    """One server-sent event."""
    return f"event: {name}\ndata: {json.dumps(jsonable_encoder(data), separators=(',', ':'))}\n\n"


class _Reader:
    """Reads one job once a second while it has listeners."""

    def __init__(self, look: Looker, gone: Callable[[_Reader], None], since: float | None) -> None:
        self._look = look
        self._gone = gone
        self._over = threading.Event()
        self._last_row: Any = None
        self._since = since
        self._trouble: str | None = None
        self._looking = math.inf  # since when it waits for the database
        self.listeners: set[Listener] = set()
        self.thread = threading.Thread(target=self._run, name="timeline", daemon=True)

    def stop(self) -> None:
        """End the reader at the next turn."""
        self._over.set()

    def _run(self) -> None:
        try:
            while not self._over.wait(LOOK_SECONDS):
                if self._turn():
                    break
        finally:
            self._gone(self)  # first, so that no listener joins after the end was sent
            self._send(None)

    def _turn(self) -> bool:
        """Read once; return True after the last time."""
        self._looking = time.monotonic()
        try:
            seen = self._look(self._since)
        except DatabaseFault as fault:  # until the database answers again or the stream ends
            self._complain(line_of(fault))
            return False
        except UsageError:
            self._send(event("end", {"state": "deleted"}))
            return True
        except EdbenchError as error:
            self._complain(str(error))
            return False
        finally:
            self._looking = math.inf
        changed = seen.row != self._last_row or self._trouble is not None  # an event removes the notice of the problem
        self._trouble = None
        self._last_row = seen.row
        if changed:
            self._send(event("timeline", seen.timeline) + event("job", seen.row))
            self._since = max(0.0, float(seen.timeline["now_s"]) - OVERLAP_SECONDS)
        if seen.row.state.over:
            self._send(event("end", {"state": seen.row.state}))
            return True
        return False

    def complain_of_silence(self) -> None:
        """Report a database that does not answer the current read, if it has been silent for long."""
        if time.monotonic() - self._looking >= SILENT_SECONDS:
            self._complain(line_of(_SILENCE))

    def _complain(self, line: str) -> None:
        if line != self._trouble:
            self._trouble = line
            self._send(event("problem", {"error": one_line(line)}))

    def _send(self, text: str | None) -> None:
        for listener in list(self.listeners):
            listener.send(text)


class Streams:
    """All readers of an application."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers: dict[uuid.UUID, _Reader] = {}
        self._closed = False

    @property
    def reading(self) -> int:
        """Number of watched jobs."""
        return len(self._readers)

    def close(self) -> None:
        """End all streams and refuse new ones."""
        with self._lock:
            self._closed = True
            readers = list(self._readers.values())
        for reader in readers:
            reader.stop()
            for listener in list(reader.listeners):
                listener.send(None)

    async def events(self, job: uuid.UUID, look: Looker, since: float | None = None) -> AsyncIterator[str]:
        """Send the timeline (whole, or `since` a second) and the job's row, then increments until the job has ended."""
        listener = Listener()
        reader = self._join(job, look, listener, since)
        if reader is None:
            return
        try:
            # Join the reader first, so that nothing between the two readings is missed.
            try:
                first = await asyncio.to_thread(look, since)
            except EdbenchError as error:
                yield event("problem", {"error": line_of(error)})
            else:
                yield event("timeline", first.timeline) + event("job", first.row)
                if first.row.state.over:
                    yield event("end", {"state": first.row.state})
                    return
            async for text in listener.texts():
                if text is NOTHING_NEW:
                    reader.complain_of_silence()
                yield text
        finally:
            self._leave(reader, listener)

    def _join(self, job: uuid.UUID, look: Looker, listener: Listener, since: float | None) -> _Reader | None:
        with self._lock:
            if self._closed:
                return None
            reader = self._readers.get(job)
            if reader is not None:
                reader.listeners.add(listener)
                return reader
            reader = self._readers[job] = _Reader(look, self._forget, since)
            reader.listeners.add(listener)
            reader.thread.start()
            return reader

    def _leave(self, reader: _Reader, listener: Listener) -> None:
        with self._lock:
            reader.listeners.discard(listener)
            if not reader.listeners:  # at once, so that the next listener does not join a reader that ends
                reader.stop()
                self._remove(reader)

    def _forget(self, reader: _Reader) -> None:
        with self._lock:
            self._remove(reader)

    def _remove(self, reader: _Reader) -> None:
        for job, known in list(self._readers.items()):
            if known is reader:
                del self._readers[job]
