"""A connection to the broker for monitoring: short timeouts, no retries of its own.

Sends frames to the broker's stream. Monitoring must never hold up work: nothing here raises or waits long."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from functools import cache
from urllib.parse import urlsplit

import redis
import redis.utils
from redis.backoff import NoBackoff
from redis.retry import Retry

from core.errors import UsageError
from core.program import shown_url
from monitoring.frames import Frame, encode_frame

TIMEOUT_SECONDS = 0.5

# For each connection the library reports its version to the broker, and reads it from the package's files: 3 ms the first
# time, then 0.5 ms. Slots inherit it (worker.app.preload).
redis.utils.get_lib_version = cache(redis.utils.get_lib_version)


def connect(url: str, *, block_seconds: float = 0.0) -> redis.Redis:
    """A client that connects on first use and fails within about TIMEOUT_SECONDS (+ `block_seconds` of waiting).

    Its errors are `redis.RedisError`. Raises UsageError for the address of another kind of broker."""
    if (scheme := urlsplit(url).scheme) not in ("redis", "rediss"):
        raise UsageError(f"EDBENCH_BROKER: unknown scheme {scheme or repr(shown_url(url))}; write redis://…")
    return redis.Redis.from_url(
        url,
        socket_connect_timeout=TIMEOUT_SECONDS,
        socket_timeout=TIMEOUT_SECONDS + block_seconds,
        retry=Retry(NoBackoff(), 0),
    )


STREAM = "edbench:frames"  # of the system's own jobs
FIELD = b"f"
STREAM_FRAMES = 50_000  # about; older ones are dropped by the broker when no collector runs (a gap shows it)
HELD_FRAMES = 900  # kept here while the broker is away: a quarter of an hour
_BATCH = 50


def stream_of(run: str) -> str:
    """The stream of frames; `run`: as `core.settings.Settings.run`."""
    return f"{STREAM}:{run}" if run else STREAM


class FrameSender:
    """One worker's sender; used by one thread."""

    def __init__(self, broker_url: str, *, run: str = "", held: int = HELD_FRAMES) -> None:
        self._client = connect(broker_url)
        self._stream = stream_of(run)
        self._held: deque[bytes] = deque()
        self._limit = held
        self.sent = 0  # frames that the broker acknowledged
        self.lost = 0  # frames dropped here because the broker stayed away; the collector sees the gap

    @property
    def waiting(self) -> int:
        """Frames not yet acknowledged by the broker."""
        return len(self._held)

    def send(self, frame: Frame) -> bool:
        """Hand it to the broker with whatever waits; False when the broker is away (it is kept then)."""
        self._held.append(encode_frame(frame))
        while len(self._held) > self._limit:
            self._held.popleft()
            self.lost += 1
        return self.flush()

    def flush(self) -> bool:
        """Try to send what waits, oldest first, for at most about a second; True when nothing waits any more."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while self._held:
            batch = [self._held[i] for i in range(min(_BATCH, len(self._held)))]
            pipeline = self._client.pipeline(transaction=False)
            for data in batch:
                pipeline.xadd(self._stream, {FIELD: data}, maxlen=STREAM_FRAMES, approximate=True)
            try:
                # A batch that went through although the answer did not is sent twice: the collector knows them.
                pipeline.execute()
            except (redis.RedisError, OSError):
                return False
            for _ in batch:
                self._held.popleft()
            self.sent += len(batch)
            if time.monotonic() >= deadline:
                break
        return not self._held

    def close(self) -> None:
        """Last try to send, then disconnect."""
        self.flush()
        with contextlib.suppress(redis.RedisError, OSError):
            self._client.close()
