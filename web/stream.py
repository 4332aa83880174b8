"""Live events of jobs. Each stream reads its job for itself, and only when its listener has taken the events before."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from fastapi.encoders import jsonable_encoder

from controller.jobs.overview import JobRow
from core.errors import DatabaseFault, EdbenchError, UsageError
from web.errors import line_of

NOTHING_NEW = ": nothing new\n\n"
LOOK_SECONDS = 1.0
OVERLAP_SECONDS = 5.0  # of increments: frames of a second may be stored some seconds later
KEEP_SECONDS = 10.0  # without an event, a comment shows proxies and the browser that the stream is alive
SILENT_SECONDS = 5.0  # that a look at a job may take
_TURN_SECONDS = 0.25  # after which a closed application ends its streams


@dataclass(frozen=True, slots=True)
class Look:
    """A job at one moment."""

    row: JobRow
    timeline: dict[str, Any]


Looker = Callable[[float | None], Look]  # `since`, in seconds since the first claim; None: from the beginning


def event(name: str, data: Any) -> str:
    """One server-sent event."""
    return f"event: {name}\ndata: {json.dumps(jsonable_encoder(data), separators=(',', ':'))}\n\n"


def _problem(fault: EdbenchError) -> str:
    return event("problem", {"error": line_of(fault)})


_SILENCE = _problem(DatabaseFault(f"no answer for {SILENT_SECONDS:.0f} s", transient=True))


def _looking(look: Looker, since: float | None) -> asyncio.Future[Look]:
    """Look in a thread of its own: while the database does not answer, it holds up neither other requests nor the end
    of the server."""
    seen: Future[Look] = Future()
    seen.set_running_or_notify_cancel()

    def run() -> None:
        try:
            seen.set_result(look(since))
        except Exception as error:  # noqa: BLE001 — the stream raises it
            seen.set_exception(error)

    threading.Thread(target=run, name="timeline", daemon=True).start()
    return asyncio.wrap_future(seen)


class Streams:
    """The streams of an application."""

    def __init__(self) -> None:
        self._closed = False

    def close(self) -> None:
        """End all streams and refuse new ones."""
        self._closed = True

    async def events(self, look: Looker, since: float | None = None) -> AsyncIterator[str]:
        """Send the timeline (whole, or `since` a second) and the job's row, then increments until the job has ended."""
        row: JobRow | None = None
        trouble, sent = "", time.monotonic()
        while not self._closed:
            looking, began, text = _looking(look, since), time.monotonic(), ""
            try:
                while not (await asyncio.wait({looking}, timeout=_TURN_SECONDS))[0]:
                    if self._closed:
                        return
                    if time.monotonic() - began >= SILENT_SECONDS and trouble != _SILENCE:
                        trouble = _SILENCE
                        yield trouble
                seen = looking.result()
            except UsageError:
                yield event("end", {"state": "deleted"})
                return
            except EdbenchError as fault:  # until the database answers again or the stream ends
                if (problem := _problem(fault)) != trouble:
                    text = trouble = problem
            else:
                if seen.row != row or trouble:  # an event removes the notice of the problem
                    text = event("timeline", seen.timeline) + event("job", seen.row)
                    since = max(0.0, float(seen.timeline["now_s"]) - OVERLAP_SECONDS)
                row, trouble = seen.row, ""
                if row.state.over:
                    yield text + event("end", {"state": row.state})
                    return
            finally:
                looking.cancel()
            if text or time.monotonic() - sent >= KEEP_SECONDS:
                sent = time.monotonic()
                yield text or NOTHING_NEW
            due = time.monotonic() + LOOK_SECONDS
            while not self._closed and (left := due - time.monotonic()) > 0:
                await asyncio.sleep(min(_TURN_SECONDS, left))
