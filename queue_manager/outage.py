"""An outage of something we depend on: when to try again, and one line in the log for its begin and its end."""

from __future__ import annotations

import logging

log = logging.getLogger(__name__)

_BACKOFF_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6)


class Outage:
    """Of the broker or of a database, by its `name`. Times are monotonic seconds."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._attempts = 0
        self._retry_at = 0.0

    @property
    def on(self) -> bool:
        """Whether the last attempt failed."""
        return self._attempts > 0

    def failed(self, error: Exception, now: float) -> float:
        """Note a failed attempt; returns the seconds to wait before the next one."""
        if not self.on:
            log.warning("%s; retrying until it answers", error)
        wait = _BACKOFF_SECONDS[min(self._attempts, len(_BACKOFF_SECONDS) - 1)]
        self._attempts += 1
        self._retry_at = now + wait
        return wait

    def due(self, now: float) -> bool:
        """Whether an attempt may be made."""
        return now >= self._retry_at

    def over(self) -> bool:
        """Note a successful attempt; whether it ended an outage."""
        if not self.on:
            return False
        log.warning("%s answers again after %d attempts", self._name, self._attempts)
        self._attempts = 0
        self._retry_at = 0.0
        return True
