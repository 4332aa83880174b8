"""Cuts the tasks of a phase finer when it begins with too few of them for the slots that live.

Batches are cut for large jobs, where every task that publishes index segments costs a writer of its own and files that a
search opens (decisions 14, 50). A small job on a large crew would leave slots
without work, or all waiting for one. How many tasks there are is known only when the phase before is over.
"""

from __future__ import annotations

import json
import math
import uuid
from typing import Any

from sqlalchemy import Connection

from core.records import FINALISE_LIST, NewTask, Phase
from sql import bulk, workers
from sql.queries import QUERIES

TASKS_A_SLOT = 3  # a phase that begins with fewer is cut finer
_LEAST = {"items": 16, "files": 16, FINALISE_LIST: 2}  # by the list in a payload: entries that a part has at least


def recut(conn: Connection, job: uuid.UUID, phase: Phase) -> None:
    """Divide pending tasks of the phase that has just begun, the heaviest most; entries are dealt out in turn, so that
    the parts are about equally heavy. Does nothing where there are enough."""
    wanted = TASKS_A_SLOT * workers.live_slots(conn)
    rows = QUERIES["pending_payloads"].run(conn, job=job, phase=phase.value, limit=wanted).all() if wanted > 1 else []
    if not rows or len(rows) >= wanted:
        return
    total = sum(row.weight for row in rows) or 1
    for row in rows:
        parts = _parts(row.payload, math.ceil(wanted * row.weight / total))
        if len(parts) == 1:
            continue
        weight = row.weight // len(parts)
        QUERIES["recut_task"].run(conn, task=row.id, weight=weight, payload=json.dumps(parts[0]))
        bulk.insert_tasks(conn, job, [NewTask(phase=phase, weight=weight, payload=part) for part in parts[1:]])


def _parts(payload: dict[str, Any], wanted: int) -> list[dict[str, Any]]:
    """The payload in at most so many; whatever is not its list stands in each of them."""
    name = next((name for name in _LEAST if name in payload), None)
    if name is None:
        return [payload]
    entries = payload[name]
    number = max(1, min(wanted, len(entries) // _LEAST[name]))
    return [payload | {name: entries[n::number]} for n in range(number)]
