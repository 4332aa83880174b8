"""What starts and scales the queue manager and the workers, whatever they run in."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Protocol, Self

from core.errors import UsageError

COMPOSE = "compose"
CLUSTERS = ("embedded", COMPOSE)


class Tended(Protocol):
    """Something that is kept running."""

    def check(self) -> None:
        """Raises SystemFault with the reason when a part of it will not stay up."""


class Cluster(Protocol):
    """One queue manager and some workers that are kept running. Use it as a context manager."""

    def start(self) -> None:
        """Start everything; raises SystemFault when a process cannot be started."""

    def stop(self, grace_seconds: float = 30.0) -> None:
        """Ask all to end, wait so long, end them hard. Does nothing the second time."""

    def scale(self, workers: int) -> None:
        """Have so many workers from now on; those no longer wanted finish what they are at."""

    def check(self) -> None:
        """Raises SystemFault with the reason when a process will not stay up."""

    def pids(self) -> Mapping[str, int]:
        """Process ids by name, of those that run now."""

    def __enter__(self) -> Self:
        """Start."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""


def chosen_cluster(env: Mapping[str, str], option: str | None = None) -> str:
    """`embedded` or `compose`: the option, else EDBENCH_CLUSTER; raises UsageError for anything else."""
    chosen = option or env.get("EDBENCH_CLUSTER") or CLUSTERS[0]
    if chosen not in CLUSTERS:
        name = "--cluster" if option else "EDBENCH_CLUSTER"
        raise UsageError(f"{name} is {chosen!r}; use {' or '.join(CLUSTERS)}")
    return chosen
