"""The demand of the pipeline on a site, by phase and type of item, computed from measured jobs.

A job's totals are sums over its items, by type a constant for each item and one for each byte, and over its tasks and
slots: a task of phase index publishes files of its own, and a slot loads readers when it first needs them. `make
calibration` measures jobs of one type each, and one job with few and many tasks and slots; the shipped calibration is
the solution for all of them, and `of_result` scales it to a user's own job."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import reading_errors
from core.operations import Op
from core.records import Phase

FILE = Path(__file__).parent / "calibration.json.gz"
PHASES = (Phase.WALK.value, Phase.EXPAND.value, Phase.INDEX.value, Phase.FINALISE.value)
OPS = tuple(op.label for op in Op)
CPU, WAIT, DATABASE_CPU, ROWS = "cpu_s", "wait_s", "database_cpu_s", "rows"
OTHERS = "others_cpu_s"  # of database servers, queue manager, broker and command
READ_BYTES, WRITTEN_BYTES = "read_bytes", "written_bytes"
QUANTITIES = (CPU, WAIT, DATABASE_CPU, ROWS, *OPS, READ_BYTES, WRITTEN_BYTES)

_WITH_ITEMS = frozenset(OPS) - {Op.READ.label, Op.WRITE.label}
_OF_DATABASE = frozenset({DATABASE_CPU, ROWS})
# Quantities with a share for each task and slot. A task of phase index publishes files of its own.
_WITH_CREW = frozenset({CPU, WAIT, Op.STAT.label})
_PUBLISHED = frozenset({*(op.label for op in (Op.CREATE, Op.WRITE, Op.CLOSE, Op.RENAME, Op.MKDIR)), WRITTEN_BYTES})

Array = np.ndarray[Any, np.dtype[np.float64]]

# Types of items, by media type: of the longest prefix that fits.
_TYPES = {
    "message/": "message",
    "application/vnd.ms-outlook": "outlook",
    "application/vnd.ms-outlook-pst": "pst",
    "application/mbox": "mbox",
    "application/zip": "zip",
    "application/gzip": "gzip",
    "application/x-tar": "tar",
    "application/x-7z": "7z",
    "application/pdf": "pdf",
    "application/msword": "office",
    "application/rtf": "office",
    "application/vnd.": "office",
    "image/": "image",
    "text/": "text",
    "application/xml": "text",
    "application/json": "text",
    "audio/": "media",
    "video/": "media",
    "": "other",
}
TYPES = tuple(dict.fromkeys(_TYPES.values()))
CONTAINERS = frozenset({"pst", "mbox", "zip", "gzip", "tar", "7z"})
KINDS = len(TYPES) * 2  # each loose and inside a container
_CREW_SHRINK = np.array([1e-3, 1e-3])  # of the shares of a task and a slot
_CONTAINERS = np.array([name in CONTAINERS for name in TYPES for _ in range(2)])


def type_of(media_type: str) -> int:
    """The number of an item's type."""
    prefix = max((p for p in _TYPES if media_type.startswith(p)), key=len)
    return TYPES.index(_TYPES[prefix])


def kind_of(media_type: str, depth: int) -> int:
    """The number of an item's kind: its type, and whether it is loose or inside."""
    return type_of(media_type) * 2 + (depth > 0)


def job_of(result: Mapping[str, Any], manifest: Path, name: str) -> dict[str, Any]:
    """The input of `solve` for a job: items and bytes of each kind, and the quantities of each phase. Raises
    UsageError."""
    import pyarrow.parquet as parquet

    rows = parquet.read_table(manifest, columns=["media_type", "depth", "bytes"]).to_pylist()
    items = np.zeros((KINDS, 2))
    for row in rows:
        items[kind_of(row["media_type"], row["depth"])] += (1, row["bytes"])
    point = result["points"][0]
    slots, phases = slots_of(point), phases_of(point["repeats"][0])
    if slots == 1:
        for took in phases.values():
            took[WAIT] = max(0.0, took["elapsed_s"] - took[CPU])
    return {"name": name, "items": items.tolist(), "slots": slots, "phases": phases}


def slots_of(point: Mapping[str, Any]) -> int:
    """Slots of all workers at a point of a result."""
    return int(point["at"]["workers"] * point["at"]["slots"])


def phases_of(run: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Quantities by phase of one run of a result."""
    out = {}
    begins = [phase["start_s"] for phase in run["phases"]]
    for phase in run["phases"]:
        calls = phase["calls"]
        # A database counts rows late: rows counted at a barrier belong to the phase before it.
        end = min((begin for begin in begins if begin > phase["start_s"]), default=math.inf)
        rows = _rows(run["series"]["database_activity"], phase["database"], phase["start_s"], end)
        took = {op: float(calls.get(op, {}).get("calls", 0)) for op in OPS}
        took |= {CPU: phase["cpu_s"].get("workers", 0.0), DATABASE_CPU: phase["cpu_s"].get("databases", 0.0)}
        took |= {ROWS: rows, "tasks": float(phase["tasks"]), "elapsed_s": phase["elapsed_s"]}
        took[OTHERS] = sum(phase["cpu_s"].values()) - took[CPU]
        took[READ_BYTES] = float(calls.get("read", {}).get("bytes", 0))
        took[WRITTEN_BYTES] = float(calls.get("write", {}).get("bytes", 0))
        out[phase["phase"]] = took
    return out


def _rows(series: Sequence[Sequence[Any]], database: str, begin: float, end: float) -> float:
    """Rows of a database between two moments of a run; a sample counts since the one before."""
    total = before = 0.0
    for at, activity in series:
        inside = max(0.0, min(at, end) - max(before, begin)) / (at - before) if at > before else 0.0
        total += inside * activity.get(database, {}).get("rows", 0)
        before = at
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """Demands by phase and quantity: an array of kinds x 2, for an item and for each of its bytes, and numbers for a
    task and a slot."""

    phases: Mapping[str, Mapping[str, Array]]
    each_task: Mapping[str, Mapping[str, float]]
    each_slot: Mapping[str, Mapping[str, float]]
    source: str
    others: tuple[float, float] = (0.0, 0.0)  # of a result, as `others_of` has it
    crowding: float = 0.0  # of a result: CPU seconds grow by so much for each slot of a core beyond the first


def solve(jobs: Sequence[Mapping[str, Any]], source: str) -> Demands:
    """The demands that explain the jobs' totals best, none of them negative, in relative error.

    The demand on the database is the same for every item, whatever its type and size; all others differ by kind. A job
    counts only for the quantities that it has: one that was measured for its database has no CPU of workers."""
    phases: dict[str, dict[str, Any]] = {phase: {} for phase in PHASES}
    each_task: dict[str, dict[str, float]] = {phase: {} for phase in PHASES}
    each_slot: dict[str, dict[str, float]] = {phase: {} for phase in PHASES}
    database = _database(jobs)
    for phase in PHASES:
        for name in QUANTITIES:
            measured = [job for job in jobs if name in job["phases"]["expand"]]
            counts = np.array([job["items"] for job in measured], np.float64)  # jobs x kinds x 2
            took = np.array([_took(job["phases"].get(phase, {}), phase, name) for job in measured])
            each_task[phase][name] = each_slot[phase][name] = 0.0
            if name == DATABASE_CPU:
                phases[phase][name] = _of_every_kind(database[f"{phase} items"])
                each_task[phase][name] = database[f"{phase} tasks"]
            elif name == ROWS:
                phases[phase][name] = _pooled(counts, took, _of(measured, phase, "elapsed_s"))
            else:
                tasks = _of(measured, phase, "tasks")
                comes = name in _WITH_CREW or (phase == Phase.INDEX and name in _PUBLISHED)
                crews = np.array([tasks, [job.get("slots", 1) for job in measured]]).T * comes
                if name == WAIT:
                    phases[phase][name] = np.zeros((KINDS, 2))
                    crew = _nonnegative(crews, took, _CREW_SHRINK, np.zeros(2))
                else:
                    phases[phase][name], crew = _by_kind(counts, crews, took, name)
                each_task[phase][name], each_slot[phase][name] = crew.tolist()
    return Demands(phases=phases, each_task=each_task, each_slot=each_slot, source=source)


def _of(jobs: Sequence[Mapping[str, Any]], phase: str, name: str) -> Array:
    return np.array([job["phases"].get(phase, {}).get(name, 0.0) for job in jobs], np.float64)


def _of_every_kind(each: float) -> Array:
    return np.stack((np.full(KINDS, each), np.zeros(KINDS)), axis=1)


def _database(jobs: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """CPU seconds of the database for an item and a task of each phase. The CPU of each second, for polls of queue
    manager and monitors, is separated and omitted; it is the same in all phases."""
    jobs = [job for job in jobs if DATABASE_CPU in job["phases"]["expand"]]
    items = np.array([np.array(job["items"])[:, 0].sum() for job in jobs])
    names = [f"{phase} {what}" for phase in PHASES for what in ("items", "tasks")] + ["seconds"]
    rows, took = [], []
    for phase in PHASES:
        columns = np.zeros((len(jobs), len(names)))
        at = names.index(f"{phase} items")
        columns[:, at], columns[:, at + 1] = items, _of(jobs, phase, "tasks")
        columns[:, -1] = _of(jobs, phase, "elapsed_s")
        rows.append(columns / items[:, None])
        took.append(_of(jobs, phase, DATABASE_CPU) / items)
    none = np.zeros(len(names))
    found = _nonnegative(np.concatenate(rows), np.concatenate(took), none, none)
    return dict(zip(names, found.tolist(), strict=True))


def _pooled(counts: Array, took: Array, lasted: Array) -> Array:
    """The demand of an item of any kind, without that of the seconds that a job lasted, for polls of queue manager and
    monitors."""
    items = counts[:, :, 0].sum(axis=1)
    columns = np.stack((items, lasted), axis=1)
    each = _nonnegative(columns / items[:, None], took / items, np.zeros(2), np.zeros(2))[0]
    return _of_every_kind(each)


def _by_kind(counts: Array, crews: Array, took: Array, name: str) -> tuple[Array, Array]:
    """The demand of an item and a byte of each kind, and of a task and a slot (`crews`: numbers of each job). Most
    calls are attributed to items alone, bytes read to bytes alone, and the demand of a container to its bytes. Kinds
    that jobs do not distinguish are drawn to the average of all kinds of that place."""
    scale = np.array([1.0, 1e-5])  # bytes by 100 kB: columns of like size
    used = np.tile(scale * np.array([name != READ_BYTES, name not in _WITH_ITEMS]), (KINDS, 1))
    used[_CONTAINERS, 0] = 0.0
    weights = 1.0 / np.maximum(took, 0.02 * max(took.max(), 1e-12))
    places = counts[:, :, 0].reshape(len(counts), -1, 2)[:, ~_CONTAINERS[::2]].sum(axis=1)
    mean = _nonnegative(places * weights[:, None], took * weights, np.full(2, 1e-3), np.zeros(2))
    toward = np.zeros((KINDS, 2))
    toward[:, 0] = np.tile(mean, KINDS // 2) * (used[:, 0] > 0)
    matrix = np.concatenate(((counts * used).reshape(len(counts), -1), crews), axis=1) * weights[:, None]
    shrink = np.concatenate((np.where(_CONTAINERS, 0.1, 0.02).repeat(2), _CREW_SHRINK))
    found = _nonnegative(matrix, took * weights, shrink, np.concatenate((toward.ravel(), np.zeros(2))))
    return _filled(found[:-2].reshape(-1, 2) * used, counts), found[-2:]


def _filled(found: Array, counts: Array) -> Array:
    """Fill in kinds that no job had: with the same type in the other place, or else with the mean of all measured kinds
    of containers or of others."""
    seen = counts[:, :, 0].sum(axis=0)
    out = found.copy()
    for kind in range(KINDS):
        if not seen[kind]:
            like = [
                k for k in range(KINDS) if (TYPES[k // 2] in CONTAINERS) == (TYPES[kind // 2] in CONTAINERS) and seen[k]
            ]
            out[kind] = found[kind ^ 1] if seen[kind ^ 1] else np.average(found[like], axis=0, weights=seen[like])
    return out


def _took(phase: Mapping[str, float], name: str, quantity: str) -> float:
    """A job's total, without calls that are made once a job: for the fan-out folders, which small jobs make for every
    few items."""
    if (name, quantity) in ((Phase.EXPAND, "mkdir"), (Phase.FINALISE, "scan")):
        return 0.0
    total = phase.get(quantity, 0.0)
    return max(0.0, total - phase.get("mkdir", 0.0)) if (name, quantity) == (Phase.EXPAND, "create") else total


def _nonnegative(matrix: Array, wanted: Array, shrink: Array, toward: Array, turns: int = 2_000) -> Array:
    """Least squares without negative values, by coordinate descent; `shrink`: how strongly each is drawn `toward` a
    value."""
    squares = matrix.T @ matrix
    drawn = squares.diagonal() * shrink
    target = matrix.T @ wanted + drawn * toward
    squares[np.diag_indices_from(squares)] += drawn
    out = toward.copy()
    used = [n for n in range(len(out)) if squares[n, n] > 0]
    for _ in range(turns):
        before = out.copy()
        for n in used:
            out[n] = max(0.0, out[n] + (target[n] - squares[n] @ out) / squares[n, n])
        if np.abs(out - before).max() <= 1e-7 * max(1e-12, out.max()):
            break
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The demand of jobs, and the contents of generated files of each format."""

    demands: Demands
    contents: Mapping[str, Any]  # as `simulate.plan.contents_of_plain` takes it


def file_of(report: str) -> Path:
    """The shipped calibration, or the one that the site of a report is fitted to: a fit belongs to its calibration."""
    return FILE.parent / "sites" / f"{report}.calibration.json.gz" if report else FILE


def write_shipped(work: Path, contents: Mapping[str, Any]) -> Path:
    """Write the jobs measured in a directory, with their demand; the same measurements give the same bytes."""
    jobs = [
        json.loads(path.read_text()) for path in sorted(work.glob("*.json")) if not path.name.endswith(".result.json")
    ]
    found = solve(jobs, "")
    demands = {
        name: {phase: {k: np.asarray(each).tolist() for k, each in of.items()} for phase, of in solved.items()}
        for name, solved in ((name, getattr(found, name)) for name in _SOLVED)
    }
    plain = {"jobs": jobs, "contents": contents, "demands": demands}
    FILE.write_bytes(gzip.compress(json.dumps(plain, separators=(",", ":"), sort_keys=True).encode(), mtime=0))
    return FILE


_SOLVED = ("phases", "each_task", "each_slot")


def shipped(report: str = "") -> Calibration:
    """The calibration of the product, or of the site of a report. Raises UsageError if the installation is
    incomplete."""
    with reading_errors("the calibration", "; install edbench again"):
        plain = json.loads(gzip.decompress(file_of(report).read_bytes()))
    phases, each_task, each_slot = (plain["demands"][name] for name in _SOLVED)
    arrays = {phase: {name: np.array(each) for name, each in of.items()} for phase, of in phases.items()}
    source = f"the shipped calibration of {len(plain['jobs'])} jobs" + f" for report {report}" * bool(report)
    demands = Demands(phases=arrays, each_task=each_task, each_slot=each_slot, source=source)
    return Calibration(demands=demands, contents=plain["contents"])


def of_result(calibration: Calibration, result: Mapping[str, Any], items: Array, source: str) -> Demands:
    """The shipped demands, each phase and quantity scaled to what the workers of a result used.

    `items`: number and bytes of its data set by kind. The mean of all its runs is used. The demand on the database is
    not scaled: the totals of a job also contain its demand over time.

    CPU seconds grow where slots share cores: the more of them a core has, the shorter is the time that its scheduler
    gives each, and the more often a slot finds another one's data in the caches. The growth is proportional to the
    slots without a core; its size follows from results with several numbers of slots."""
    runs = [(phases_of(run), slots_of(point)) for point in result["points"] for run in point["repeats"]]
    of, cores = calibration.demands, cores_of(result["conditions"])

    def expected(phase: str, name: str, run: Mapping[str, Mapping[str, float]], slots: int) -> float:
        tasks = run.get(phase, {}).get("tasks", 0.0)
        own = of.each_task[phase][name] * tasks + of.each_slot[phase][name] * slots
        return float((of.phases[phase][name] * items).sum()) + own

    crowds = np.array([max(1.0, slots / cores) - 1.0 for _, slots in runs])
    used = np.array([
        sum(_took(run.get(phase, {}), phase, CPU) for phase in of.phases)
        / (sum(expected(phase, CPU, run, slots) for phase in of.phases) or 1.0)
        for run, slots in runs
    ])  # fmt: skip
    alone, more = _nonnegative(np.stack((np.ones(len(runs)), crowds), axis=1), used, np.zeros(2), np.zeros(2))
    crowding = float(more / alone) if alone else 0.0
    phases: dict[str, dict[str, Array]] = {phase: {} for phase in of.phases}
    each_task: dict[str, dict[str, float]] = {phase: {} for phase in of.phases}
    each_slot: dict[str, dict[str, float]] = {phase: {} for phase in of.phases}
    for phase, quantities in of.phases.items():
        for name, each in quantities.items():
            took = sum(_took(run.get(phase, {}), phase, name) for run, _ in runs)
            grown = 1.0 + crowding * crowds if name == CPU else np.ones(len(runs))
            due = sum(expected(phase, name, *run) * more for run, more in zip(runs, grown, strict=True))
            factor = took / due if due and name not in _OF_DATABASE and name != WAIT else 1.0
            phases[phase][name] = each * factor
            each_task[phase][name] = of.each_task[phase][name] * factor
            each_slot[phase][name] = of.each_slot[phase][name] * factor
    others = others_of([(took[CPU], took["elapsed_s"], took[OTHERS]) for run, _ in runs for took in run.values()])
    return Demands(phases=phases, each_task=each_task, each_slot=each_slot, source=source, others=others, crowding=crowding)  # fmt: skip


def cores_of(conditions: Mapping[str, Any]) -> int:
    """Number of cores of all machines in a result's conditions, each machine counted once."""
    return max(1, int(sum({host["boot_id"]: host["processors"] for host in conditions["hosts"]}.values())))


def others_of(used: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """CPU seconds of all processes except the workers, for each CPU second of the workers and for each second that
    passes.

    `used`: of phases or jobs, CPU seconds of the workers, seconds, and CPU seconds of the others."""
    seen = np.array(used, np.float64).reshape(-1, 3)
    share, rate = _nonnegative(seen[:, :2], seen[:, 2], np.zeros(2), np.zeros(2))
    return float(share), float(rate)
