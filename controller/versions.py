"""One version of edbench on all hosts: a worker of another version is refused."""

from __future__ import annotations

from collections.abc import Iterable

from core.errors import UsageError
from sql.workers import WorkerRow


def refuse_other_versions(workers: Iterable[WorkerRow], own: str) -> None:
    """Raises UsageError, naming one, when a live worker is of another version than `own`."""
    for worker in workers:
        if worker.live and worker.version != own:
            raise UsageError(
                f"worker {worker.name} on {worker.host} is edbench {worker.version}, this command is {own};"
                " give all hosts one version (containers: `make up` rebuilds the image)"
            )
