"""What an agent holds of its host: a directory that no other agent uses, with the name of the one that was there before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import UsageError
from core.services.locks import FileLock
from core.services.place import scratch_error


@contextmanager
def seat(scratch: Path, name: str, incarnation: str) -> Iterator[str]:
    """Held for as long as the block lasts; the incarnation of the agent before, empty where there was none. It may have
    been killed, and is said to be there until somebody says otherwise. Raises UsageError where another agent is in it."""
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        lock = FileLock(scratch / "agent.lock")
    except OSError as error:
        raise scratch_error(scratch, error) from error
    try:
        if not lock.try_alone():
            raise UsageError(
                f"another agent is host {name} here: stop that agent, or give this one another --name or EDBENCH_SCRATCH"
            )
        yield _told(scratch, incarnation)
    finally:
        lock.close()


def _told(scratch: Path, incarnation: str) -> str:
    """Who was here before; from now on this one is. Raises UsageError, StorageFault."""
    file = scratch / "incarnation"
    try:
        before = file.read_text(encoding="ascii", errors="replace") if file.exists() else ""
        file.write_text(incarnation, encoding="ascii")
    except OSError as error:
        raise scratch_error(scratch, error) from error
    return before
