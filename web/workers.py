"""Workers that several jobs share, from the view of one job."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from controller.cluster.embedded import EmbeddedCluster


class SharedWorkers:
    """The shared workers in one run. On request to stop, the run ends as a command does at Ctrl-C, which pauses the job."""

    def __init__(self, bring: Callable[[], EmbeddedCluster], stop: threading.Event) -> None:
        self._bring = bring
        self._stop = stop
        self._cluster: EmbeddedCluster | None = None

    def start(self) -> None:
        """The workers start at the first check."""

    def stop(self, grace_seconds: float = 30.0) -> None:
        """Its owner stops the workers."""

    def scale(self, workers: int) -> None:
        """Its owner scales the workers."""

    def check(self) -> None:
        """Raises KeyboardInterrupt when the run is to end, SystemFault when a worker does not start or stay up."""
        if self._stop.is_set():
            raise KeyboardInterrupt
        if self._cluster is None:
            self._cluster = self._bring()
        self._cluster.check()

    def pids(self) -> Mapping[str, int]:
        """Process ids by name."""
        return {} if self._cluster is None else self._cluster.pids()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None
