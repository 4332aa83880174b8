"""How far the collector is behind the workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import redis

from monitoring.sender import STREAM


@dataclass(frozen=True, slots=True)
class Backlog:
    """Frames in the broker's stream that no collector has stored yet."""

    frames: int
    oldest_seconds: float  # age of the first of them by the broker's clock; 0 without any


def read_backlog(client: redis.Redis) -> Backlog:
    """Read the current backlog. Raises redis.RedisError."""
    pipeline: Any = client.pipeline(transaction=False)
    pipeline.xlen(STREAM)
    pipeline.xrange(STREAM, count=1)
    pipeline.time()
    frames, first, (seconds, microseconds) = pipeline.execute()
    if not first:
        return Backlog(0, 0.0)
    milliseconds = int(first[0][0].partition(b"-")[0])  # an entry's id begins with when it was added
    return Backlog(frames, max(0.0, seconds + microseconds / 1e6 - milliseconds / 1e3))
