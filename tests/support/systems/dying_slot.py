"""A slot that dies at certain bytes, without a process: what its supervisor would report is written to the ledger."""

import os
import signal
import uuid
from dataclasses import dataclass, field

import pytest
from taskbench import TaskBench

from core.records import Phase
from readers.documents.rtf.handler import RtfHandler
from readers.errors import ExceptionCode
from sql import jobs
from worker.slots.slot import EXIT_MEMORY
from worker.slots.table import RowWriter, SlotTable
from worker.slots.watch import Circumstances, judge

KILLER = rb"{\rtf1 %s}"  # with b"children" or b"text": the method that the slot dies in


class SlotDied(BaseException):
    """The process is gone here."""

    def __init__(self, status: int = signal.SIGSEGV) -> None:
        super().__init__(status)
        self.status = status


def deadly(patch: pytest.MonkeyPatch) -> None:
    """RTF files kill the slot, in the method that they name."""
    for method in ("children", "text"):
        healthy = getattr(RtfHandler, method)

        def read(self, source, *rest, method=method, healthy=healthy):  # type: ignore[no-untyped-def]
            if method.encode() in source.head:
                raise SlotDied
            return healthy(self, source, *rest)

        patch.setattr(RtfHandler, method, read)


@dataclass
class DyingSlot:
    """Does the tasks of a bench, again after each death."""

    bench: TaskBench
    seconds: float = 0.0  # that each death took
    overdue: bool = False  # they are hangs
    deaths: list[ExceptionCode] = field(default_factory=list)
    most: int = 300  # deaths, then the test has failed

    def __post_init__(self) -> None:
        self._table = SlotTable(1, [self.bench.database.name])
        self.bench.context.breadcrumb = RowWriter(self._table, 0, os.getpid(), self.bench.context.incarnation)

    def run(self) -> str:
        """The whole job; its final state."""
        bench = self.bench
        while True:
            while tasks := bench.dispatch():
                for task in tasks:
                    self._handle(task)
            ended = bench.advance()
            with bench.database.transaction() as conn:
                found = jobs.get_job(conn, bench.job)
            assert found.state.value != "suspended", found.reason
            if ended is None or found.state.over:
                return str(found.state)

    def _handle(self, task: uuid.UUID) -> None:
        try:
            self.bench.handle(task)
        except SlotDied as died:
            self._bury(died.status)
        except MemoryError:
            self._bury(EXIT_MEMORY << 8)

    def _bury(self, status: int) -> None:
        bench = self.bench
        row = self._table.read(0)
        how = Circumstances(overdue=self.overdue, seconds=self.seconds)
        report = judge(row, status, how)
        self.deaths.append(report.cause)
        assert len(self.deaths) <= self.most, "it goes round for ever"
        with bench.database.transaction() as conn:
            report.write(conn, "w1")
        bench.context.shards.close()
        bench.context = bench.slot(f"w{len(self.deaths)}")
        bench.context.breadcrumb = RowWriter(self._table, 0, os.getpid(), bench.context.incarnation)

    def phases(self) -> dict[Phase, int]:
        """Deaths by phase, as the ledger has them."""
        return {Phase(p): n for p, n in self.bench.rows("SELECT phase, count(*) FROM death GROUP BY 1")}
