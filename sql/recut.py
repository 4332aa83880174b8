"""Cuts the tasks of a phase finer when it begins with too few of them for the slots that live, or puts them together.

Batches are cut for large jobs, where every task that publishes index segments costs a writer of its own and files that a
search opens (decisions 14, 50). A small job on a large crew would leave slots
without work, or all waiting for one. How many tasks there are is known only when the phase before is over.
"""

from __future__ import annotations

import heapq
import json
import math
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from core.records import FINALISE_LIST, NewTask, Phase
from sql import bulk, workers
from sql.face import QUERIES

if TYPE_CHECKING:
    from sqlalchemy import Connection

TASKS_A_SLOT = 3  # a phase that begins with fewer is cut finer
ITEMS, FILES = "items", "files"
LEAST = {ITEMS: 16, FILES: 16, FINALISE_LIST: 1}  # by the list in a payload: entries that a part has at least
_MOST_JOINED = 100_000  # tasks; what they are to do is read into memory


def recut(conn: Connection, job: uuid.UUID, phase: Phase, at_a_time: int | None = None) -> None:
    """Divide pending tasks of the phase that has just begun, the heaviest most; entries are dealt out in turn, so that
    the parts are about equally heavy. Does nothing where there are enough for the slots that live, or for `at_a_time`
    tasks where no more may be out."""
    slots = workers.live_slots(conn)
    wanted = TASKS_A_SLOT * (slots if at_a_time is None else min(slots, at_a_time))
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
        more = [NewTask(phase=phase, weight=weight, payload=part) for part in parts[1:]]
        bulk.insert_tasks(conn, job, more, bulk.Origin(row.origin, row.origin_token))


def join(conn: Connection, job: uuid.UUID, phase: Phase, most: int) -> None:
    """Put pending tasks of the phase that has just begun together until there are at most so many, about equally heavy.

    Only what one parser set made comes together, so that it is known of each item: of more sets than that there
    are as many tasks.
    """
    rows = QUERIES["pending_payloads"].run(conn, job=job, phase=phase.value, limit=_MOST_JOINED).all()
    rows = sorted((row for row in rows if "items" in row.payload), key=lambda row: -row.weight)
    if len(rows) <= most:
        return
    total = sum(row.weight for row in rows) or 1
    by_parsers: dict[uuid.UUID | None, list[Any]] = {}
    for row in rows:
        by_parsers.setdefault(row.parsers, []).append(row)
    together: list[list[Any]] = []
    for group in by_parsers.values():
        share = most * sum(row.weight for row in group) // total
        together += _dealt(group, max(1, min(share, len(group))))
    for of in together:
        payload: dict[str, Any] = {"items": [item for row in of for item in row.payload["items"]]}
        if notes := {item: note for row in of for item, note in row.payload.get("notes", {}).items()}:
            payload["notes"] = notes
        weight = sum(row.weight for row in of)
        QUERIES["recut_task"].run(conn, task=of[0].id, weight=weight, payload=json.dumps(payload))
    QUERIES["of_several"].run(conn, tasks=[of[0].id for of in together if len({row.origin for row in of}) > 1])
    QUERIES["joined_tasks"].run(conn, tasks=[row.id for of in together for row in of[1:]])


def _dealt(rows: Sequence[Any], many: int) -> list[list[Any]]:
    """Rows, the heaviest first, in so many lots of about one weight."""
    lots: list[list[Any]] = [[] for _ in range(many)]
    lightest = [(0, number) for number in range(many)]
    for row in rows:
        weight, number = heapq.heappop(lightest)
        lots[number].append(row)
        heapq.heappush(lightest, (weight + row.weight, number))
    return lots


def cut_into(entries: int, wanted: int, least: int) -> int:
    """The number of parts of a task with so many entries, `least` at least in each."""
    return max(1, min(wanted, entries // least))


def _parts(payload: dict[str, Any], wanted: int) -> list[dict[str, Any]]:
    """Cut the payload into at most so many parts; each has all fields other than the list."""
    name = next((name for name in LEAST if name in payload), None)
    if name is None:
        return [payload]
    entries = payload[name]
    number = cut_into(len(entries), wanted, LEAST[name])
    return [payload | {name: entries[n::number]} for n in range(number)]
