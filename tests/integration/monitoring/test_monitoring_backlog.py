"""monitoring.broker: what waits at a real broker."""

from __future__ import annotations

import time

from controller.observe.metrics import read_backlog
from monitoring.broker import connect
from monitoring.sender import FIELD, STREAM


def test_the_oldest_frame_says_how_far_the_collector_is_behind(broker_url: str) -> None:
    """Nothing waits: 0 and no age. Else all are counted, and the first one's age is by the broker's clock."""
    client = connect(broker_url)
    try:
        assert (read_backlog(client).frames, read_backlog(client).oldest_seconds) == (0, 0.0)
        minute_ago = int((time.time() - 60) * 1000)
        client.xadd(STREAM, {FIELD: b"x"}, id=f"{minute_ago}-0")
        client.xadd(STREAM, {FIELD: b"y"})
        found = read_backlog(client)
        assert found.frames == 2
        assert 59 < found.oldest_seconds < 120
    finally:
        client.close()
