"""Chain of custody (docs/custody.md): the operator actions on a job, and the tasks and parsers that read each item.

An operator action is written in the transaction that does it, with a hash over itself and the hash of the one
before."""

from __future__ import annotations

import heapq
import json
import os
import pwd
import re
import socket
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any

from pydantic import Field

from controller.databases import JobHandle
from core.csv_cells import iso
from core.document import Document
from core.records import Phase
from readers.parsers import parser_of
from sql.connection import Connection
from sql.custody import CUSTODY, CustodyRow, TaskRow
from sql.figures import FIGURES

CREATED, PAUSED, RESUMED, CANCELLED, REQUEUED = "created", "pause", "resume", "cancel", "requeue"
SUSPENDED = "suspended"


class Action(Document):
    """An operator action: who did what, and when on the database's clock."""

    at: datetime
    who: str
    action: str
    details: dict[str, Any]
    chain: str = Field(description="sha256 over this action and the hash of the one before, in hex.")
    hashed: str = Field(
        description="The text that is hashed after the hash of the action before: seconds since 1970, who, action and details."
    )
    broken: bool = Field(description="Whether this action or the one before was changed after it was recorded.")


def note(conn: Connection, job: uuid.UUID, action: str, **details: Any) -> None:
    """Record that the operator does this to a job. The job's row stays locked, so that actions have one order."""
    FIGURES.lock_job(conn, job=job)
    CUSTODY.note_action(
        conn, job=job, who=operator(), action=action, details=json.dumps(details, ensure_ascii=False, default=str)
    )


def note_end_of_suspension(conn: Connection, job: uuid.UUID, action: str) -> None:
    """Record this action, which ends a suspension; first record the suspension itself, if the job is suspended.

    A suspension is not recorded when it begins: on a full disk no row can be added, and a worker may not write to the
    list."""
    FIGURES.lock_job(conn, job=job)
    if suspension := CUSTODY.suspension(conn, job=job):
        note(conn, job, SUSPENDED, reason=suspension.reason, since=suspension.since.isoformat())
    note(conn, job, action)


def last_chain(conn: Connection, job: uuid.UUID) -> str | None:
    """Return the hash of the job's last action, in hex; None if it has none. Anyone who kept its list can compare
    them."""
    rows = CUSTODY.list_actions(conn, job=job)
    return bytes(rows[-1].chain).hex() if rows else None


def actions_of(handles: Sequence[JobHandle]) -> list[Action]:
    """Return the actions on the jobs, oldest first; those on one job in the order of its chain, whatever their
    times."""
    return list(heapq.merge(*map(_actions, handles), key=lambda action: action.at))


def _actions(handle: JobHandle) -> list[Action]:
    rows = handle.database.ask(CUSTODY.list_actions, job=handle.id)
    return [
        Action(
            at=row.at, who=row.who, action=row.action, details=dict(row.details), hashed=row.hashed,
            chain=bytes(row.chain).hex(), broken=bytes(row.chain) != bytes(row.expected),
        )
        for row in rows
    ]  # fmt: skip


_ACTING: ContextVar[str] = ContextVar("edbench_operator")
_NAME = re.compile(r"[\w.@\\-]{1,64}\$?")  # of a login; nothing else of the environment gets into a list


def operator() -> str:
    """Return the caller set by `acting`; otherwise the names of the process's user and of the host. A user without a
    name appears as its number; the user that sudo acts for follows in parentheses. `LOGNAME` and `USER` are not used:
    any user can set them."""
    given = _ACTING.get("")
    if given:
        return given
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        name = f"uid {os.geteuid()}"
    caller = os.environ.get("SUDO_USER", "")
    suffix = f" (sudo: {caller})" if caller != name and _NAME.fullmatch(caller) else ""
    return f"{name}@{socket.gethostname()}{suffix}"


@contextmanager
def acting(who: str) -> Iterator[None]:
    """Set another caller, that of a request, for this context."""
    token = _ACTING.set(who)
    try:
        yield
    finally:
        _ACTING.reset(token)


_AT_ONCE = 2_000
_WHERE = ("task", "phase", "worker", "at")  # the task that read an item; unknown for one of several that were joined
_PARSER = ("parser", "parser_version")
_BY = (*_PARSER, "parsers", "version")
# The columns of a list as CSV: of actions, items, parser sets and the end.
FIELDS = (
    *("record", "job", "at", "who", "action", "details", "chain", "hashed", "broken"),
    *("item", "custodian", "path", "kind", "media_type", "bytes", "sha256", "content_hash", "message_id_hash"),
    *("text_state", "exceptions", "task", "phase", "worker", *_BY, "earlier"),
    *("edbench", "python", "types", "handlers", "libraries", "actions", "items"),
)


def items_of(handles: Sequence[JobHandle]) -> Iterator[dict[str, Any]]:
    """Yield the custody record of every item: its hashes when it was read, the task that extracted its text, the tasks
    that had it before, and the parser that each of them used, as its worker recorded. Unknown values are None. No
    transaction is open between two portions."""
    for handle in handles:
        after, maker = uuid.UUID(int=0), _RecordMaker(handle)
        while True:
            with handle.database.transaction() as conn:
                rows = CUSTODY.custody_items(conn, job=handle.id, after=after, limit=_AT_ONCE)
                records = maker.records(conn, rows)
            yield from records
            if len(rows) < _AT_ONCE:
                break
            after = rows[-1].id


class _RecordMaker:
    """Maker of the custody records of a job's items, with the parser sets read so far and the tasks of the present
    portion."""

    def __init__(self, handle: JobHandle) -> None:
        self._handle = handle
        self._sets: dict[uuid.UUID, Mapping[str, Any]] = {}
        self._tasks: dict[uuid.UUID, TaskRow] = {}
        self._whose: dict[uuid.UUID, dict[str, Any]] = {}  # what is the same for all items of a task

    def records(self, conn: Connection, rows: Sequence[CustodyRow]) -> list[dict[str, Any]]:
        """Return a record for each row."""
        wanted = {task for row in rows for task in (row.task, row.before, row.first) if task is not None}
        self._tasks = {task.id: task for task in CUSTODY.custody_tasks(conn, tasks=list(wanted))}
        if not {task.parsers for task in self._tasks.values()} <= self._sets.keys():
            self._sets.update(CUSTODY.custody_parsers(conn, job=self._handle.id))
        self._whose = {task.id: _whose(task, self._sets[task.parsers]) for task in self._tasks.values()}
        return [_fields(self._handle, row) | self._read_by(row) for row in rows]

    def _read_by(self, row: CustodyRow) -> dict[str, Any]:
        """Return the task that extracted the item's text, and those `earlier`. A container was opened by the task
        before, unless the last task both opened and read it."""
        if row.task is None:
            return dict.fromkeys((*_WHERE, *_BY)) | {"earlier": []}
        last = self._tasks[row.task]
        tasks, later = [self._by(last, row.media_type)], last
        for number in (row.before, row.first):
            if number is not None:
                task = self._tasks[number]
                tasks.append(self._by(task, row.media_type) | (dict.fromkeys(_WHERE) if later.joined else {}))
                later = task
        opened = tasks[0]
        if row.container and last.phase != Phase.EXPAND:
            opened = tasks[1] if len(tasks) > 1 else dict.fromkeys(_PARSER)
        return tasks[0] | {key: opened[key] for key in _PARSER} | {"earlier": tasks[:0:-1]}

    def _by(self, task: TaskRow, media_type: str) -> dict[str, Any]:
        """Return a task, with the parser that its worker had for items of this type."""
        parser, version = parser_of(self._sets[task.parsers], media_type)
        return self._whose[task.id] | {"parser": parser, "parser_version": version}


def _whose(task: TaskRow, parsers: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "task": str(task.id),
        "phase": task.phase,
        "worker": task.worker,
        "at": None if task.finished_at is None else iso(task.finished_at),
        "version": parsers["edbench"],
        "parsers": str(task.parsers),
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


def parser_records(handles: Sequence[JobHandle]) -> Iterator[dict[str, Any]]:
    """Yield every parser set that tasks of the jobs used: handlers, packages, libraries and their versions."""
    for handle in handles:
        rows = handle.database.ask(CUSTODY.custody_parsers, job=handle.id)
        for ident, contents in rows.items():
            yield {"record": "parsers", "job": str(handle.id), "parsers": str(ident), **contents}


def action_records(handles: Sequence[JobHandle]) -> Iterator[dict[str, Any]]:
    """Yield every operator action, job by job in the order of its chain."""
    for handle in handles:
        for action in actions_of([handle]):
            yield {"record": "action", "job": str(handle.id)} | action.to_json()


def ended(records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the records of a list, then an end record with the numbers of actions and items: a list without one was
    truncated."""
    kinds: Counter[str] = Counter()
    for record in records:
        kinds[record["record"]] += 1
        yield record
    yield {"record": "end", "actions": kinds["action"], "items": kinds["item"]}
