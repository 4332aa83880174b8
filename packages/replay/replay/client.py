"""One client: a process that makes the calls of its script at their times. Clients of one clone wait for each other in
shared memory; their parent ends all of them when one dies (`replay.local`)."""

from __future__ import annotations

import errno
import mmap
import os
import resource
import time
from collections.abc import Callable, Iterator
from typing import Final

from core.content import Content
from core.errors import StorageFault
from core.filer.emulation import Pacer
from core.operations import Op
from core.records import Phase
from core.storage.errors import reading_error, storage_fault
from core.storage.files import Station
from replay import script
from replay.calls import Calls
from replay.plan import Seat
from replay.program import Program
from replay.script import INDEXING, STEP, Block, read_script
from replay.table import CallTable
from replay.tally import ClientResult, ReplayCounters
from replay.tree import Target

_LINE: Final = 64 // 8  # words of a cache line


def shared_steps(clients: int) -> memoryview:
    """Return the numbers of steps that each client of a clone has done, in memory shared with processes forked later.

    Each count has a cache line of its own, because a client stores 8 bytes there after every call."""
    return memoryview(mmap.mmap(-1, clients * _LINE * 8)).cast("Q")[::_LINE]


_POLL_FIRST_S: Final = 20e-6
_POLL_MOST_S: Final = 500e-6
_OTHER_DESCRIPTORS: Final = 64
_OPS: Final = [script.OP_OF_CODE.get(code & ~script.INDEXING, Op.STAT) for code in range(script.CODES)]
_CALLED: Final = [code & ~script.INDEXING in script.OP_OF_CODE for code in range(script.CODES)]
_TRANSFERS: Final = (Op.READ, Op.WRITE)


def run_client(
    program: Program,
    target: Target,
    *,
    client: int,
    done: memoryview,
    start_ns: int | Callable[[], int],
    station: Station | None = None,
) -> ClientResult:
    """Play one client's script to its end.

    `client`: its number in the plan. `done`: the `shared_steps` of its clone, new for every run. `start_ns`: the monotonic
    time at which all clients start, or a function that waits for it and returns it, called once everything is open; the
    calls' intended starts are counted from there. `station` delays the calls: an emulated filer.

    Raises StorageFault if the storage failed (no space, I/O error, stale handle), UsageError for a damaged program."""
    seat = program.plan.seat(client)
    with program.table(seat.clone) as table:
        player = _Player(program, target, seat, table, done, station)
        try:
            blocks = read_script(program.script(seat.clone, seat.position))
            player.play(blocks, start_ns if callable(start_ns) else lambda: start_ns)
        finally:
            player.calls.close_all()
        return player.result()


class _Player:
    """Loop of a client; everything that is needed for each call is an attribute set in advance."""

    def __init__(
        self,
        program: Program,
        target: Target,
        seat: Seat,
        table: CallTable,
        done: memoryview,
        station: Station | None,
    ) -> None:
        slots = program.kind(seat.clone).slots[seat.position]
        _allow_descriptors(slots)
        self._table = table
        self._done = done
        self._position = seat.position
        self._prefixes = target.prefixes(seat.clone.number)
        content = Content(program.plan.seed, seat.clone.number, program.most_written)
        if program.most_written:
            content.make(set(table.content.tobytes()))
        self.calls = Calls(content, table.content, slots, program.most_read, null=target.null)
        speed = program.plan.speed
        self._pace = None if speed is None else 1 / speed
        self._closed = program.plan.closed
        self._shift = seat.clone.shift_ns
        self._pacer = Pacer()
        self._waited_ns = 0
        self._unrecorded = 0
        self._serve = None if station is None else station.serve
        self._station, self._indexing = station, False

    def play(self, blocks: Iterator[Block], start: Callable[[], int]) -> None:
        """Play the script from its start to its end."""
        first = next(blocks, None)
        self._start = self._last_end = start()
        self._tally = ReplayCounters(self._start)
        self._pacer.wait_until(self._start)
        self._cpu = time.process_time()
        if first is not None:
            self._block(first)
        for block in blocks:
            self._block(block)

    def _block(self, block: Block) -> None:
        intended: list[int] = []
        begun: list[int] = []
        ended: list[int] = []
        moved: list[int] = []
        try:
            self._steps(block, intended, begun, ended, moved)
        finally:
            codes = block.columns()["code"][: len(ended)]
            self._tally.add_block(codes, intended[: len(ended)], begun[: len(ended)], ended, moved[: len(ended)])

    def _steps(self, block: Block, intended: list[int], begun: list[int], ended: list[int], moved: list[int]) -> None:
        """Play the steps of one block. Long, because a call for a part would cost as much as the part."""
        now = time.monotonic_ns
        by_code, called, ops = self.calls.by_code, _CALLED, _OPS
        table, prefixes = self._table, self._prefixes
        blob, offsets, places = table.blob, table.offsets, table.places
        done, position = self._done, self._position
        steps_done = done[position]
        pace, base, shift, closed = self._pace, self._start, self._shift, self._closed
        serve, indexing, wait_until = self._serve, self._indexing, self._pacer.wait_until
        waits = iter(block.waits)
        end = self._last_end
        for code, expected, first, wait, slot, node, other, nbytes, argument, time_ns in STEP.iter_unpack(block.steps):
            path = prefixes[places[node]] + blob[offsets[node] : offsets[node + 1]]
            aside = prefixes[places[other]] + blob[offsets[other] : offsets[other + 1]] if other else b""
            due = end
            if pace is not None:
                due = base + int((time_ns + shift) * pace)
                if due > now():
                    wait_until(due)
            elif closed:
                if first and wait:
                    due = self._wait_for(waits, wait) or end
                    wait = 0
                due += time_ns
                if due > now():
                    wait_until(due)
            if wait:
                self._wait_for(waits, wait)
            error = size = 0
            begin = now()
            try:
                size = by_code[code](path, aside, slot, nbytes, argument, node)
            except OSError as e:
                error = e.errno or errno.EIO
                end = now()
                if error != expected:
                    self._broken(code, path, e)
            else:
                end = now()
            if called[code]:
                op = ops[code]
                if serve is not None:
                    if (code >= INDEXING) is not indexing:
                        indexing = self._turn()
                    end = max(end, serve(op, size, begin, path, argument, aside))
                if error or expected or size < nbytes:
                    self._judge(op, expected, error, size < nbytes)
            else:
                self._unrecorded += 1
            steps_done += 1
            done[position] = steps_done
            intended.append(due)
            begun.append(begin)
            moved.append(size)
            ended.append(end)
            self._last_end = end

    def _turn(self) -> bool:
        """Record that phase index begins or ends with the next call, and report it to the filer. Return whether the
        next call is of phase index."""
        self._indexing = not self._indexing
        assert self._station is not None
        self._station.works_on(Phase.INDEX if self._indexing else Phase.EXPAND)
        return self._indexing

    def _judge(self, op: Op, expected: int, error: int, short: bool) -> None:
        if error:
            self._tally.error(op)
        if error != expected or (short and not error and op in _TRANSFERS):
            self._tally.differs(op, expected, error)

    def _broken(self, code: int, path: bytes, error: OSError) -> None:
        """Raise StorageFault if an unexpected error is of the storage, and not of one file."""
        fault = reading_error("use", path, error)
        if isinstance(fault, StorageFault):
            raise fault from error
        if error.errno == errno.EIO:
            raise storage_fault(_OPS[code].label, path, error) from error

    def _wait_for(self, waits: Iterator[tuple[int, int]], count: int) -> int:
        """Wait for the next `count` entries; return when the last was reached, 0 if all were before."""
        done, until = self._done, 0
        for _ in range(count):
            other, steps = next(waits)
            if done[other] < steps:
                until = self._poll(other, steps)
        return until

    def _poll(self, other: int, steps: int) -> int:
        done, nap = self._done, _POLL_FIRST_S
        began = time.monotonic_ns()
        while done[other] < steps:
            time.sleep(nap)
            nap = min(nap * 1.25, _POLL_MOST_S)
        over = time.monotonic_ns()
        self._waited_ns += over - began
        return over

    def result(self) -> ClientResult:
        tally = self._tally
        return ClientResult(
            ops=tally.ops(),
            differences=tally.differences(),
            by_second=tally.ended.counted(),
            due_by_second=() if self._pace is None else tally.due.counted(),
            last_due_s=0.0 if self._pace is None else tally.last_due_ns / 1e9,
            lateness_max_ns=tally.lateness_max_ns,
            waited_s=self._waited_ns / 1e9,
            cpu_s=time.process_time() - self._cpu,
            elapsed_s=max(0, self._last_end - self._start) / 1e9,
            unrecorded_opens=self._unrecorded,
        )


def _allow_descriptors(slots: int) -> None:
    """Raise the soft limit on open files as far as possible."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = slots + _OTHER_DESCRIPTORS + len(os.listdir("/proc/self/fd"))
    if wanted > soft:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
        )
