"""One large job: whether items come as fast at its end as at its beginning, in memory that does not grow."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.bench_home import EDBENCH, BenchHome
from benchmarks.load.processes import of_command
from benchmarks.load.samples import Samples, Size, sampled
from core.services import embedded_services
from core.settings import Settings
from sql.session import Database

# Documents carry the claim that wrote them, so a task's text is that of the items it owns.
_ENDS = """
SELECT extract(epoch FROM t.finished_at) AS at, t.items, t.weight, coalesce(x.characters, 0) AS characters
FROM task t LEFT JOIN (
    SELECT i.owner, sum(c.characters)::bigint AS characters FROM item_index i JOIN item_text c ON c.item = i.item
    WHERE i.job = %(job)s GROUP BY i.owner
) x ON x.owner = replace(t.token::text, '-', '')
WHERE t.job = %(job)s AND t.phase = %(phase)s ORDER BY t.finished_at
"""
PHASES = ("expand", "index")
GROUPS = ("slot", "box")


class _End(NamedTuple):
    """A task's end: seconds since the epoch, and what the task did."""

    at: float
    items: int
    weight: int
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenth:
    """What was done in one tenth of a phase's time, and what it took: processor seconds by group of processes."""

    items: int
    weight: int
    characters: int
    spent: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Large:
    """What was seen."""

    items: int
    elapsed_s: float
    items_per_second: float
    # By phase and unit, last tenth of its time over the second: items a second, and what the ledger weighs tasks by
    # (bytes), since a batch of large files has few items.
    steady: dict[str, float]
    # Tasks are sent heaviest first, so that what comes late is of another kind. What the slots of the index phase spend on
    # what they do, last tenth over the second, by item and by text: 1.0 is flat.
    cost: dict[str, float]
    tenths: dict[str, list[Tenth]]  # by phase
    growth: dict[str, Size]  # memory by phase and process, last tenth of the phase over its second
    peaks: dict[str, Size]
    differences: str  # verify's last line
    gb_per_hour: float  # discovered
    processor_s_per_item: float  # of all of edbench's processes, from the first end of a task to the last
    written_ratio: float  # bytes written to the storage for the index, over those that it comes to
    removed_ratio: float  # files removed, over those made


def measure(home: BenchHome, corpus: Path, workers: int = 2, sample_s: float = 2.0) -> Large:
    """One job over a corpus, verified, and deleted; its processes are looked at every so many seconds."""
    target = home.directory / "large.json"
    settings = Settings(storage=home.directory / "storage", scratch=home.directory / "scratch")
    with embedded_services(settings, slots=workers * 4) as running:
        line = [
            str(EDBENCH),
            "discover",
            str(corpus),
            "--workers",
            str(workers),
            "-o",
            "json",
            "--output-file",
            str(target),
        ]
        process = subprocess.Popen(
            line, env=home.environment(), cwd=home.directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        with sampled(lambda: of_command(process.pid), sample_s) as samples:
            status = process.wait()
        if status:
            raise RuntimeError(f"{' '.join(line)} gave {status}")
        result = json.loads(target.read_text())
        database = Database("db1", running.databases[0].url)
        ends = {phase: _ends(database, result["job_id"], phase) for phase in PHASES}
        database.dispose()
        verified = subprocess.run(
            [str(EDBENCH), "verify", str(result["job_id"])],
            env=home.environment(),
            cwd=home.directory,
            capture_output=True,
            text=True,
            check=True,
        )
        start = time.monotonic()
        home.run("job", "delete", str(result["job_id"]))
        print(f"deleting it took {time.monotonic() - start:.1f} s", flush=True)
    tenths = {phase: _tenths(of, samples) for phase, of in ends.items()}
    at_work = (min(of[0].at for of in ends.values()), max(of[-1].at for of in ends.values()))
    return Large(
        items=int(result["items"]),
        elapsed_s=float(result["elapsed_s"]),
        items_per_second=float(result["items_per_second"]),
        steady={
            f"{phase}_{unit}": getattr(of[9], unit) / max(1, getattr(of[1], unit))
            for phase, of in tenths.items()
            for unit in ("items", "weight")
        },
        cost={unit: _cost(tenths["index"], unit) for unit in ("items", "characters")},
        tenths=tenths,
        growth={
            f"{phase} {name}": growth
            for phase, of in ends.items()
            for name, growth in samples.growth(of[0].at, of[-1].at).items()
        },
        peaks={name: samples.peak(name) for name in samples.sizes},
        differences=verified.stdout.strip().splitlines()[-1],
        gb_per_hour=float(result["gb_per_hour_discovered"]),
        processor_s_per_item=sum(samples.spent(name, *at_work) for name in samples.processor) / result["items"],
        written_ratio=result["index_written_bytes"] / max(1, result["index_bytes"]),
        removed_ratio=_number(result, "remove") / max(1, _number(result, "create")),
    )


def _number(result: Mapping[str, Any], op: str) -> int:
    """Of calls of one kind, in the whole job."""
    return int(result["calls"].get(op, {}).get("count", 0))


def _ends(database: Database, job: str, phase: str) -> list[_End]:
    """When each task of a phase ended, with what it did, in order."""
    with database.transaction() as conn:
        rows = conn.exec_driver_sql(_ENDS, {"job": job, "phase": phase})
        return [_End(float(row.at), int(row.items), int(row.weight), int(row.characters)) for row in rows]


def _tenths(ends: list[_End], samples: Samples) -> list[Tenth]:
    """Of the time between the first end of a task and the last."""
    first = ends[0].at
    step = (ends[-1].at - first) / 10
    edges = [first + number * step for number in range(10)] + [ends[-1].at]
    return [
        _tenth([end for end in ends if start < end.at <= stop], samples, start, stop) for start, stop in pairwise(edges)
    ]


def _tenth(ends: list[_End], samples: Samples, start: float, stop: float) -> Tenth:
    return Tenth(
        items=sum(end.items for end in ends),
        weight=sum(end.weight for end in ends),
        characters=sum(end.characters for end in ends),
        spent={name: samples.spent(name, start, stop) for name in GROUPS},
    )


def _cost(tenths: list[Tenth], unit: str) -> float:
    last, second = (tenths[n].spent["slot"] / max(1, getattr(tenths[n], unit)) for n in (9, 1))
    return last / second if second else 1.0
