"""Workers that several jobs share, as one of the jobs sees them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from controller.cluster.embedded import EmbeddedCluster


class SharedWorkers:
    """The workers as one run sees them: asked to stop, it ends as Ctrl-C ends a command, which pauses the job."""

    def __init__(self, bring: Callable[[], EmbeddedCluster], stop: threading.Event) -> None:
        self._bring = bring
        self._stop = stop
        self._cluster: EmbeddedCluster | None = None

    def start(self) -> None:
        """It comes up at the first look."""

    def stop(self, grace_seconds: float = 30.0) -> None:
        """It is its owner who stops it."""

    def scale(self, workers: int) -> None:
        """It is its owner who scales it."""

    def check(self) -> None:
        """Raises KeyboardInterrupt when the run is to end, SystemFault when a worker will not come up or stay up."""
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
