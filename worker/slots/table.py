"""The slot table: memory that a worker's slots share with the processes that watch over them (design §3.8).

One row a slot records what the slot is doing; only the slot writes it, and only its supervisor once the slot is dead. A
row has two copies and a sequence number; an update fills the copy that is not current, then makes it current by one
aligned 8-byte store of the sequence. So the row of a slot that was killed at any instruction is whole, and a reader
that sees the same sequence before and after has not read a torn one. The rows are followed, for each slot, by the
region of its live recorder and its tally.

The memory is anonymous and made before the first fork: it outlives every slot and leaves nothing behind."""

from __future__ import annotations

import mmap
import os
import struct
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from core.mounts import holding, read_mountinfo
from core.records import PHASES, Phase
from monitoring.live import REGION_BYTES
from monitoring.processes import STOPPED_STATES, process_state, waits_in
from monitoring.tally import CallCounters, tally_bytes
from worker.slots.breadcrumb import DETAIL_BYTES, REPORT_SECONDS, Activity, Breadcrumb, patience, words

# sequence, pid, incarnation, database, job, task, token, phase, has item, item, deadline, then activity, since, detail, and
# then `Whereabouts`: loose file, parent, items taken, begun
_FIELDS = struct.Struct(f"@Qq16sq16s16s16sqq16sdqd{DETAIL_BYTES}s0q16s16sqd")
_COPY_BYTES = 384
_HEADER_BYTES = 64  # on a cache line of its own: the sequence, and the process that the supervisor has given up
STALL_SECONDS = 600.0
_ROW_BYTES = _HEADER_BYTES + 2 * _COPY_BYTES
_NONE = bytes(16)
_READ_ATTEMPTS = 1_000
_READING = int(Activity.READING)

assert _FIELDS.size <= _COPY_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAt:
    """The task that a slot works on, and its claim."""

    database: str
    job: uuid.UUID
    task: uuid.UUID
    token: uuid.UUID
    phase: Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """Surroundings of the item that a slot reads."""

    loose: uuid.UUID | None = None  # the loose file, in phase expand; the rows of later phases know it
    parent: uuid.UUID | None = None  # the item directly around it
    taken: int = 0  # items taken out of the loose file by this claim
    begun: float = 0.0  # monotonic seconds at which this claim began with the loose file, or the item


NOWHERE = Whereabouts()


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRow:
    """The state that a slot recorded last."""

    sequence: int  # changes with every update
    pid: int  # 0: no slot has this row
    incarnation: uuid.UUID
    at: TaskAt | None
    item: uuid.UUID | None  # item that it reads
    deadline: float  # monotonic seconds by which it has to update the row again; 0: it need not
    activity: Activity = Activity.IDLE
    since: float = 0.0  # monotonic seconds
    detail: bytes = b""  # object of the activity: a path, or the beginning of one
    given_up: bool = False  # cannot be ended, and has lost its task
    around: Whereabouts = NOWHERE


class SlotTable:
    """Rows and recorder regions of `slots` slots; make it before the fork."""

    def __init__(self, slots: int, databases: Sequence[str]) -> None:
        self.slots = slots
        self._databases = tuple(databases)
        self._regions_at = slots * _ROW_BYTES
        self._tallies_at = self._regions_at + slots * REGION_BYTES
        self._tally_bytes = tally_bytes(len(self._databases))
        self._map = mmap.mmap(-1, self._tallies_at + slots * self._tally_bytes)
        self._memory = memoryview(self._map)
        self._words = self._memory[: self._regions_at].cast("Q")
        self._latest: list[tuple[int, int, SlotRow] | None] = [None] * slots  # as this process has read them
        for slot in range(slots):
            self.clear(slot)

    def region(self, slot: int) -> memoryview:
        """Return the slot's memory for `monitoring.live`."""
        start = self._regions_at + slot * REGION_BYTES
        return self._memory[start : start + REGION_BYTES]

    def tally(self, slot: int) -> CallCounters:
        """Return the slot's tally; one for each process that looks at it."""
        start = self._tallies_at + slot * self._tally_bytes
        return CallCounters(self._memory[start : start + self._tally_bytes])

    @property
    def databases(self) -> tuple[str, ...]:
        """Database names by number, to which rows and tallies refer."""
        return self._databases

    def clear(self, slot: int) -> None:
        """Clear the row: no slot has it any more. Only for a slot that is dead."""
        RowWriter(self, slot, 0, uuid.UUID(bytes=_NONE)).publish()
        self.give_up(slot, 0)

    def give_up(self, slot: int, pid: int) -> None:
        """Note that this process is given up. Only for its supervisor."""
        self._words[(slot * _ROW_BYTES >> 3) + 1] = pid

    def read(self, slot: int) -> SlotRow:
        """Return the slot's row, whole."""
        at, latest = slot * _ROW_BYTES, self._latest[slot]
        for _ in range(_READ_ATTEMPTS):
            sequence, given_up = self._words[at >> 3], self._words[(at >> 3) + 1]
            if latest is not None and latest[:2] == (sequence, given_up):  # most slots say nothing for a while
                return latest[2]
            fields = _FIELDS.unpack_from(self._memory, _copy_at(slot, sequence))
            # The copy's own number guards against CPUs that reorder another one's stores.
            if fields[0] == sequence == self._words[at >> 3]:
                row = self._row(fields, given_up)
                self._latest[slot] = sequence, given_up, row
                return row
            os.sched_yield()
        raise RuntimeError(f"slot {slot} changes its row faster than it can be read")

    def read_all(self) -> list[SlotRow]:
        """Return every slot's row, by number."""
        return [self.read(slot) for slot in range(self.slots)]

    def _row(self, fields: tuple[int | float | bytes, ...], given_up: int) -> SlotRow:
        sequence, pid, incarnation, database, job, task, token, phase, has_item, item, deadline = fields[:11]
        activity, since, detail, loose, parent, taken, begun = fields[11:]
        doing = None
        if token != _NONE:
            doing = TaskAt(
                database=self._databases[int(database)],
                job=uuid.UUID(bytes=bytes(job)),  # type: ignore[arg-type]
                task=uuid.UUID(bytes=bytes(task)),  # type: ignore[arg-type]
                token=uuid.UUID(bytes=bytes(token)),  # type: ignore[arg-type]
                phase=PHASES[int(phase)],
            )
        return SlotRow(
            sequence=int(sequence),
            pid=int(pid),
            incarnation=uuid.UUID(bytes=bytes(incarnation)),  # type: ignore[arg-type]
            at=doing,
            item=uuid.UUID(bytes=bytes(item)) if has_item else None,  # type: ignore[arg-type]
            deadline=float(deadline),
            activity=Activity(int(activity)),
            since=float(since),
            detail=bytes(detail).rstrip(b"\0"),  # type: ignore[arg-type]
            given_up=bool(pid) and given_up == pid,
            around=Whereabouts(loose=_named(loose), parent=_named(parent), taken=int(taken), begun=float(begun)),
        )

    def database_number(self, name: str) -> int:
        """Return the number by which rows refer to a database."""
        return self._databases.index(name)

    @property
    def memory(self) -> memoryview:
        """Memory of the table, for RowWriter."""
        return self._memory

    @property
    def words(self) -> memoryview:
        """The rows as 8-byte words, for RowWriter."""
        return self._words


def _named(value: int | float | bytes) -> uuid.UUID | None:
    """Return an id in a row; None for zeros."""
    return uuid.UUID(bytes=bytes(value)) if value != _NONE else None  # type: ignore[arg-type]


def _copy_at(slot: int, sequence: int) -> int:
    return slot * _ROW_BYTES + _HEADER_BYTES + (sequence & 1) * _COPY_BYTES


class RowWriter(Breadcrumb):
    """The slot's side of its row. One process at a time has one for a slot."""

    def __init__(
        self,
        table: SlotTable,
        slot: int,
        pid: int,
        incarnation: uuid.UUID,
        monotonic: Callable[[], float] = time.monotonic,
        stall_seconds: float = STALL_SECONDS,
    ) -> None:
        """`stall_seconds`: how long the slot may be silent outside an item (worker.slots.breadcrumb)."""
        self._stall_seconds = stall_seconds
        self._table = table
        self._memory = table.memory
        self._words = table.words
        self._copies = (_copy_at(slot, 0), _copy_at(slot, 1))
        self._word = slot * _ROW_BYTES >> 3
        self._sequence: int = self._words[self._word]
        self._pid = pid
        self._incarnation = incarnation.bytes
        self._monotonic = monotonic
        self._forget_task()

    def _forget_task(self) -> None:
        self._database = 0
        self._job = _NONE
        self._task = _NONE
        self._token = _NONE
        self._phase = 0
        self._activity, self._since, self._detail = 0, 0.0, b""
        self._forget_loose()

    def _forget_loose(self) -> None:
        self._loose = self._parent = _NONE
        self._taken = 0
        self._begun = 0.0

    def publish(self, item: bytes = _NONE, has_item: int = 0, deadline: float = 0.0) -> None:
        """Publish the present state, with this item, as the slot's row."""
        sequence = self._sequence + 1
        _FIELDS.pack_into(
            self._memory,
            self._copies[sequence & 1],
            sequence,
            self._pid,
            self._incarnation,
            self._database,
            self._job,
            self._task,
            self._token,
            self._phase,
            has_item,
            item,
            deadline,
            self._activity,
            self._since,
            self._detail,
            self._loose,
            self._parent,
            self._taken,
            self._begun,
        )
        self._words[self._word] = sequence
        self._sequence = sequence

    def begin_task(self, database: str, job: uuid.UUID, task: uuid.UUID, token: uuid.UUID, phase: Phase) -> None:
        self._database = self._table.database_number(database)
        self._job = job.bytes
        self._task = task.bytes
        self._token = token.bytes
        self._phase = PHASES.index(phase)
        self.doing(Activity.WORKING)

    def enter(self, item: uuid.UUID, seconds: float) -> None:
        # Once for every item, so it has to cost next to nothing.
        now = self._monotonic()
        if self._loose is _NONE:
            self._begun = now
        self._activity, self._since, self._detail = _READING, now, b""
        self.publish(item.bytes, 1, now + seconds)

    def begin_loose(self, loose: uuid.UUID | None, taken: int = 0) -> None:
        self._forget_loose()
        if loose is not None:
            self._loose = loose.bytes
            self._taken = taken
            self._begun = self._monotonic()

    def within(self, parent: uuid.UUID | None, taken: int) -> None:
        self._parent = _NONE if parent is None else parent.bytes
        self._taken = taken

    def leave(self) -> None:
        self.doing(Activity.WORKING)

    def doing(self, activity: Activity, detail: bytes = b"") -> None:
        self._activity, self._since, self._detail = int(activity), self._monotonic(), detail[:DETAIL_BYTES]
        self.alive()

    def alive(self) -> None:
        may_last = patience(Activity(self._activity), self._stall_seconds)
        self.publish(deadline=self._monotonic() + may_last if may_last else 0.0)

    def end_task(self) -> None:
        self._forget_task()
        self.publish()


def doing(slot: int, row: SlotRow, now: float) -> str:
    """Describe in one line, without an end, which slot does what, and for how long at monotonic `now`."""
    state = process_state(row.pid)
    why = " (stopped by a signal)" if state in STOPPED_STATES else f" ({waits_in(row.pid)})" if state == "D" else ""
    return f"slot {slot} (process {row.pid}) has been {_what(row)} for {max(0.0, now - row.since):.0f} s{why}"


def cannot_be_ended(worker: str, slot: int, row: SlotRow, now: float) -> str:
    """Return why a job is suspended: a process that does not even end when it is killed waits in the kernel."""
    mount = holding(os.fsdecode(row.detail), read_mountinfo()) if row.detail.startswith(b"/") else None
    where = f"; {mount.point} is {mount.source} ({mount.kind})" if mount is not None else ""
    return (
        f"worker {worker}: slot {slot} (process {row.pid}) has been {_what(row)} for {max(0.0, now - row.since):.0f} s"
        f" and cannot be killed ({waits_in(row.pid)}){where}; repair that storage, then resume the job"
    )


def _what(row: SlotRow) -> str:
    return words(row.activity, str(row.item).encode() if row.item is not None else row.detail)


def waiting(slot: int, row: SlotRow, now: float) -> dict[str, Any] | None:
    """Return the note on a slot for the worker's entry in the database; None if there is nothing to report."""
    if row.at is None or not row.deadline or now - row.since < REPORT_SECONDS:
        return None
    return {"job": str(row.at.job), "text": doing(slot, row, now)}
