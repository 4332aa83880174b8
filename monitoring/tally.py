"""The tally: counts of a slot's tasks, in memory that the slot shares with its worker's reporter.

The slot adds to it once for each task, after the commit, and once for each transaction; the reporter reads it only when
it is scraped. As in `monitoring.live` there is no lock: a counter is one aligned 8-byte store by one writer, and a
scrape may see a task half counted. The memory outlives the slot, so nothing is lost when a slot is killed, and the
counters do not restart with a new slot or reporter.

A phase's busy word holds the nanoseconds so far or, while a task runs, those less the monotonic time of its beginning:
a negative number, to which the reader adds its own time. One word, so that it never goes back."""

from __future__ import annotations

import enum
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import TypeVar

from core.filer.emulation import SERVED_WORDS
from core.job_types import PHASES, PRODUCING_PHASES, FileKind, Phase
from monitoring import metrics
from readers.errors import ExceptionCode
from readers.records import Kind, TextState
from sql.findings import TaskResult

K = TypeVar("K")


class Outcome(enum.StrEnum):
    """Outcome of an attempt of a task."""

    DONE = "done"
    LOST = "lost"  # another attempt had taken it over
    GIVEN_BACK = "given_back"  # something under the job is broken
    FAILED = "failed"  # an unforeseen error of ours
    DIED = "died"  # with its slot


class _Layout:
    """Gives out words, one after the other."""

    def __init__(self) -> None:
        self.words = 0

    def place(self, keys: Iterable[K]) -> dict[K, int]:
        """A word for each key."""
        places = {key: self.words + n for n, key in enumerate(keys)}
        self.words += len(places)
        return places


_layout = _Layout()
BUSY = _layout.place(PHASES)
TASKS = _layout.place(product(PHASES, Outcome))
KINDS = _layout.place(Kind)
TEXTS = _layout.place(TextState)
FILES = _layout.place(FileKind)
CODES = _layout.place(ExceptionCode)
VOLUMES = _layout.place(("raw", "extracted", "produced", "index"))
SERVED = _layout.words  # where the counts of an emulated filer begin: core.filer.emulation
_layout.words += SERVED_WORDS
_SANDBOX = _layout.words
_layout.words += 1
_TRANSACTIONS = _layout.words  # a histogram for each database


def tally_bytes(databases: int) -> int:
    """Size of one slot's tally."""
    return 8 * (_TRANSACTIONS + databases * metrics.WORDS)


def own_tally() -> CallCounters:
    """A private tally, for slots without a worker (`inspect`, tests)."""
    return CallCounters(memoryview(bytearray(tally_bytes(0))))


def transactions_at(database: int) -> int:
    """Return the first word of the histogram of a database (by number)."""
    return _TRANSACTIONS + database * metrics.WORDS


class CallCounters:
    """One slot's tally: the slot writes it, and its supervisor once the slot is dead."""

    def __init__(self, memory: memoryview, monotonic_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._words = memory.cast("q")
        self._now = monotonic_ns

    def begin(self, phase: Phase) -> None:
        """Note that a task was claimed."""
        at = BUSY[phase]
        if self._words[at] >= 0:
            self._words[at] -= self._now()

    def end(self, phase: Phase, outcome: Outcome, result: TaskResult | None = None) -> None:
        """Note that a task ended; `result` is what was committed, except what was passed to `brought` before."""
        if result is not None:
            self.brought(result)
            written = "produced" if phase in PRODUCING_PHASES else "extracted"  # a discovery's finalise writes neither
            volumes = {"raw": result.raw_bytes, written: result.extracted_bytes, "index": result.index_bytes}
            self._add(VOLUMES, volumes)
        self._words[TASKS[phase, outcome]] += 1  # last: where a task is counted, so is what it brought
        self._rest(phase)

    def brought(self, result: TaskResult) -> None:
        """Count items, texts, produced files and exceptions that were committed; those of a task that is done again count again."""
        self._add(KINDS, Counter(item.kind for item in result.items))
        self._add(TEXTS, Counter(text.state for text in result.texts))
        self._add(FILES, Counter(() if result.own is None else result.own.kinds))
        self._add(CODES, Counter(exception.code for exception in result.exceptions))

    def slot_died(self) -> None:
        """Note that the slot is gone, and the task that it was running, if any, with it. Only for its supervisor."""
        self.sandbox = 0
        for phase, at in BUSY.items():
            if self._words[at] < 0:
                self._words[TASKS[phase, Outcome.DIED]] += 1
                self._rest(phase)

    @property
    def sandbox(self) -> int:
        """Process id of the slot's sandbox; 0: it has none."""
        return int(self._words[_SANDBOX])

    @sandbox.setter
    def sandbox(self, pid: int) -> None:
        self._words[_SANDBOX] = pid

    def served(self) -> memoryview:
        """Return the words in which the slot's emulated filer counts."""
        return self._words[SERVED : SERVED + SERVED_WORDS]

    def transaction_timer(self, database: int) -> metrics.Timer:
        """Return a function that counts the slot's transactions with a database."""
        return metrics.count_into(self._words, transactions_at(database))

    def read(self) -> list[int]:
        """Every word, with the time that a running task took so far."""
        now = self._now()
        words = self._words.tolist()
        for at in BUSY.values():
            words[at] += now if words[at] < 0 else 0
        return words

    def _add(self, places: Mapping[K, int], counts: Mapping[K, int]) -> None:
        for key, count in counts.items():
            self._words[places[key]] += count

    def _rest(self, phase: Phase) -> None:
        at = BUSY[phase]
        if self._words[at] < 0:
            self._words[at] += self._now()


def summed(tallies: Iterable[CallCounters]) -> Sequence[int]:
    """The words of all slots of a worker, added up."""
    return added(tally.read() for tally in tallies)


def added(words: Iterable[Sequence[int]]) -> Sequence[int]:
    """Add up the words of several tallies."""
    return [sum(column) for column in zip(*words, strict=True)]
