"""What was read of each item of a job, and what was done to the job: one record a line, read some at a time."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from controller.custody.actions import actions_of
from controller.databases import JobHandle
from core.records import Phase
from readers.parsers import parser_of
from sql.custody import CUSTODY, CustodyRow, TaskRow

if TYPE_CHECKING:
    from sqlalchemy import Connection

_AT_ONCE = 2_000
_WHERE = ("task", "phase", "worker", "at")  # which task it was; of several that were joined it is unknown
_PARSER = ("parser", "parser_version")
_BY = (*_PARSER, "parsers", "version")
# The columns of a list as CSV: those of actions, of items, of parser sets and of the end.
FIELDS = (
    *("record", "job", "at", "who", "action", "details", "chain", "hashed", "broken"),
    *("item", "custodian", "path", "kind", "media_type", "bytes", "sha256", "content_hash", "message_id_hash"),
    *("text_state", "exceptions", "task", "phase", "worker", *_BY, "earlier"),
    *("edbench", "python", "types", "handlers", "libraries", "actions", "items"),
)


def items_of(handles: Sequence[JobHandle]) -> Iterator[dict[str, Any]]:
    """Every item: its hashes when it was read, the task that took its text, the tasks that had it before, and the parser that
    each of them had for it, as its worker noted. None where nothing is known. No transaction is open between two portions."""
    for handle in handles:
        after, telling = uuid.UUID(int=0), _Telling(handle)
        while True:
            with handle.database.transaction() as conn:
                rows = CUSTODY.custody_items(conn, job=handle.id, after=after, limit=_AT_ONCE)
                told = telling.told(conn, rows)
            yield from told
            if len(rows) < _AT_ONCE:
                break
            after = rows[-1].id


class _Telling:
    """Makes the records of a job's items, with the parser sets met so far and the tasks of the present portion."""

    def __init__(self, handle: JobHandle) -> None:
        self._handle = handle
        self._sets: dict[uuid.UUID, Mapping[str, Any]] = {}
        self._tasks: dict[uuid.UUID, TaskRow] = {}
        self._whose: dict[uuid.UUID, dict[str, Any]] = {}  # what is the same for all items of a task

    def told(self, conn: Connection, rows: Sequence[CustodyRow]) -> list[dict[str, Any]]:
        """A record for each."""
        wanted = {task for row in rows for task in (row.task, row.before, row.first) if task is not None}
        self._tasks = {task.id: task for task in CUSTODY.custody_tasks(conn, tasks=list(wanted))}
        if not {task.parsers for task in self._tasks.values() if task.parsers} <= self._sets.keys():
            self._sets.update(CUSTODY.custody_parsers(conn, job=self._handle.id))
        self._whose = {task.id: _whose(task, self._set_of(task)) for task in self._tasks.values()}
        return [_fields(self._handle, row) | self._read_by(row) for row in rows]

    def _read_by(self, row: CustodyRow) -> dict[str, Any]:
        """The task that took its text, and those `earlier`. A container is opened by the one before alone, unless that took
        its text too."""
        if row.task is None:
            return dict.fromkeys((*_WHERE, *_BY)) | {"earlier": []}
        last = self._tasks[row.task]
        told, later = [self._by(last, row.media_type)], last
        for number in (row.before, row.first):
            if number is not None:
                task = self._tasks[number]
                told.append(self._by(task, row.media_type) | (dict.fromkeys(_WHERE) if later.joined else {}))
                later = task
        opened = told[0]
        if row.container and last.phase != Phase.EXPAND:
            opened = told[1] if len(told) > 1 else dict.fromkeys(_PARSER)
        return told[0] | {key: opened[key] for key in _PARSER} | {"earlier": told[:0:-1]}

    def _by(self, task: TaskRow, media_type: str) -> dict[str, Any]:
        """A task, with what its worker had for items of this type."""
        about = self._set_of(task)
        parser, version = (None, None) if about is None else parser_of(about, media_type)
        return self._whose[task.id] | {"parser": parser, "parser_version": version}

    def _set_of(self, task: TaskRow) -> Mapping[str, Any] | None:
        return None if task.parsers is None else self._sets.get(task.parsers)


def _whose(task: TaskRow, parsers: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "task": str(task.id),
        "phase": task.phase,
        "worker": task.worker,
        "at": None if task.finished_at is None else task.finished_at.isoformat(),
        "version": task.version if parsers is None else parsers["edbench"],
        "parsers": None if task.parsers is None else str(task.parsers),
    }


def _fields(handle: JobHandle, row: CustodyRow) -> dict[str, Any]:
    return {
        "record": "item",
        "job": str(handle.id),
        "item": str(row.id),
        "custodian": row.custodian,
        "path": row.container_path,
        "kind": row.kind,
        "media_type": row.media_type,
        "bytes": row.bytes,
        "sha256": _hex(row.sha256),
        "content_hash": _hex(row.content_hash),
        "message_id_hash": _hex(row.message_id_hash),
        "text_state": row.text_state,
        "exceptions": row.codes or [],
    }


def _hex(value: memoryview | None) -> str | None:
    return None if value is None else bytes(value).hex()


def parsers_told(handles: Sequence[JobHandle]) -> Iterator[dict[str, Any]]:
    """Every parser set that tasks of the jobs were done with: handlers, packages, libraries and their versions."""
    for handle in handles:
        with handle.database.transaction() as conn:
            rows = CUSTODY.custody_parsers(conn, job=handle.id)
        for row in rows:
            yield {"record": "parsers", "job": str(handle.id), "parsers": str(row.id), **row.told}


def actions_told(handles: Sequence[JobHandle]) -> Iterator[dict[str, Any]]:
    """Every operator action, job by job in the order of its chain."""
    for handle in handles:
        for action in actions_of([handle]):
            yield {"record": "action", "job": str(handle.id)} | action.to_json()


def ended(records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The records of a list, then an end record with the numbers of actions and items before it: a list without one has
    been cut off."""
    kinds: Counter[str] = Counter()
    for record in records:
        kinds[record["record"]] += 1
        yield record
    yield {"record": "end", "actions": kinds["action"], "items": kinds["item"]}
