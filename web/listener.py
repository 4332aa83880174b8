"""One open stream of events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

KEEP_SECONDS = 10.0  # without an event, a comment tells proxies and the browser that the stream is alive
QUEUED = 64  # events that a slow listener may lag before it is disconnected; browsers connect again by themselves


class Listener:
    """One open stream."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[str | None] = asyncio.Queue(QUEUED)

    def send(self, text: str | None) -> None:
        """Send it from any thread; None ends the stream."""
        with contextlib.suppress(RuntimeError):  # its loop is gone, and it with it
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
                yield ": nothing new\n\n"
                continue
            if text is None:
                return
            yield text
