"""Says of a slot what it has been doing for so long; looks at nothing but the kernel's tables."""

from __future__ import annotations

import os
from typing import Any

from core.mounts import holding, read_mountinfo
from worker.processes import STOPPED_STATES, process_state, waits_in
from worker.slots.activity import TELL_SECONDS, words
from worker.slots.table import SlotRow


def doing(slot: int, row: SlotRow, now: float) -> str:
    """One line without an end: which slot, what, and for how long at monotonic `now`."""
    state = process_state(row.pid)
    why = " (stopped by a signal)" if state in STOPPED_STATES else f" ({waits_in(row.pid)})" if state == "D" else ""
    return f"slot {slot} (process {row.pid}) has been {_what(row)} for {max(0.0, now - row.since):.0f} s{why}"


def cannot_be_ended(worker: str, slot: int, row: SlotRow, now: float) -> str:
    """Why a job is suspended: a process that does not even end when it is killed waits in the kernel."""
    mount = holding(os.fsdecode(row.detail), read_mountinfo()) if row.detail.startswith(b"/") else None
    where = f"; {mount.point} is {mount.source} ({mount.kind})" if mount is not None else ""
    return (
        f"worker {worker}: slot {slot} (process {row.pid}) has been {_what(row)} for {max(0.0, now - row.since):.0f} s"
        f" and cannot be killed ({waits_in(row.pid)}){where}; repair that storage, then resume the job"
    )


def _what(row: SlotRow) -> str:
    return words(row.activity, str(row.item).encode() if row.item is not None else row.detail)


def waiting(slot: int, row: SlotRow, now: float) -> dict[str, Any] | None:
    """For the worker's entry in the database; None when there is nothing to say."""
    if row.at is None or not row.deadline or now - row.since < TELL_SECONDS:
        return None
    return {"job": str(row.at.job), "text": doing(slot, row, now)}
