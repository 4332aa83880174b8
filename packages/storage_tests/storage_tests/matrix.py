"""Matrix: threads x record x file size, written, rewritten, read and read again (report R4's IOzone runs, through fio)."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar, cast

from pydantic import ByteSize, Field

from core.errors import UsageError
from experiments.kinds import Cases, Kind
from experiments.report import words
from experiments.report.parts import Cell, Plot, Section, Series, note
from experiments.report.plots import Axes, drawing, new_figure
from experiments.result import schema
from experiments.workload import Figure, Turn
from storage_tests import fio
from storage_tests.about import ProfileTelling, Published, profile_about
from storage_tests.fio import Done, FioSeen, Job, elapsed_s, observed, refuse_without_fio, settled
from storage_tests.profile import Arena, Profile, ProfileRun, ProfileSettings, Room, common

NAME = "matrix"
OPS = ("write", "rewrite", "read", "reread")  # in this order
COARSE_S = 0.05  # of an operation: below it the millisecond that fio rounds to, and how threads began, are seen
_EXACT_S = 0.1  # of a thread: from there on fio's whole milliseconds are exact enough


@dataclass(frozen=True, slots=True, order=True)
class MatrixLoad(schema.At):
    """A cell: so many threads, each with a file of its own, in records of so many bytes."""

    file: int  # bytes
    record: int
    threads: int

    def on(self, axis: str) -> str:
        """Bytes in binary units."""
        if axis == "threads":
            return schema.At.on(self, axis)
        return f"{binary(self.values()[axis])} {axis}s"

    def shown(self) -> dict[str, object]:
        """The same in tables."""
        return {"file": binary(self.file), "record": binary(self.record), "threads": self.threads}

    def __str__(self) -> str:
        return f"{self.on('threads')}, {self.on('record')}, {self.on('file')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixSeen(FioSeen):
    """All four operations of a cell, a run of fio."""

    synced: bool  # the end of writing waited for the storage
    asked: int  # bytes of each thread's file, in whole records


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRun(ProfileRun):
    """All four operations once, over all files."""

    rates: dict[str, float]  # by operation, MB/s
    seconds: dict[str, float]  # by operation, of the thread that needed longest
    cache_ratio: float | None  # reread ÷ read
    cut: tuple[str, ...]  # operations that moved less than whole files: they, or the writing before them, were ended

    @property
    def coarse(self) -> tuple[str, ...]:
        """Operations that were too short for an exact rate."""
        return tuple(op for op, seconds in self.seconds.items() if seconds < COARSE_S)


class MatrixPoint(schema.PointOf[MatrixLoad, MatrixRun]):
    """All repeats under one load."""


class MatrixResult(schema.ResultOf[MatrixPoint]):
    """A whole experiment."""


def run_of(seen: MatrixSeen) -> MatrixRun:
    """Every figure of it."""
    by_op = {op: of_op(seen.fio.jobs, op) for op in OPS}
    seconds = {op: busy_s(jobs, synced=seen.synced) for op, jobs in by_op.items()}
    rates = {op: fio.transferred(jobs) / seconds[op] / 1e6 for op, jobs in by_op.items() if seconds[op] > 0}
    read, again = rates.get("read"), rates.get("reread")
    return MatrixRun(
        **common(seen),
        latency={op: latency for op in OPS for latency in fio.latencies(by_op[op]).values()},
        rates=rates,
        seconds=seconds,
        cache_ratio=again / read if read and again is not None else None,
        cut=tuple(op for op, jobs in by_op.items() if any(fio.transferred([job]) < seen.asked for job in jobs)),
    )


def of_op(jobs: Sequence[Done], op: str) -> list[Done]:
    """fio's jobs are called as the operation, a dash, and the number of the thread."""
    return [job for job in jobs if job.name.partition("-")[0] == op]


def busy_s(jobs: Sequence[Done], *, synced: bool) -> float:
    """Seconds of the thread that needed longest.

    fio reports a thread's time in whole milliseconds, rounded up, and a file of a megabyte may need no more than one.
    It reports the time spent in calls exactly, but the sync at the end of writing is not among them (fio 3.33).
    """
    return max((_thread_s(job, synced=synced) for job in jobs), default=0.0)


def _thread_s(job: Done, *, synced: bool) -> float:
    whole = max(job.read.runtime_ms, job.write.runtime_ms) / 1000
    if whole >= _EXACT_S or (synced and job.write.ios):
        return whole
    return sum(way.mean_ns * way.ios for way in (job.read, job.write)) / 1e9


def binary(nbytes: int) -> str:
    """`8 KiB`, `16 MiB`."""
    for unit, length in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= length:
            return f"{nbytes / length:g} {unit}"
    return f"{nbytes} B"


CACHED = 1.25  # re-read ÷ read beyond which a cache is reported to have answered
CACHED_COARSE = 2.0  # the same where the first reading was too short for an exact rate


class MatrixTelling(ProfileTelling):
    """`surroundings` as those of every profile."""

    def sentence(self, points: Sequence[MatrixPoint]) -> str:
        """The best of writing and of reading, and the caches."""
        said = []
        for op in ("write", "read"):
            best = max(points, key=lambda point: _best_rate(point, op))
            rate = _best_rate(best, op)
            said.append(f"{op} at most {words.figure(rate)} MB/s ({words.figure(rate * 3.6)} GB/hour) with {best.at}")
        return "; ".join([*said, caches_said(points)])


def _best_rate(point: MatrixPoint, op: str) -> float:
    figure = point.figures.get(f"{op}_mb_per_s")
    return 0.0 if figure is None else figure.median


def ratios(points: Sequence[MatrixPoint]) -> list[tuple[float, MatrixPoint]]:
    """Re-read ÷ read, of those that have both."""
    return [(point.figures["cache_ratio"].median, point) for point in points if "cache_ratio" in point.figures]


def answered(ratio: float, point: MatrixPoint) -> bool:
    """Whether a cache did, by its ratio."""
    exact = statistics.median(run.seconds["read"] for run in point.repeats) >= COARSE_S
    return ratio > (CACHED if exact else CACHED_COARSE)


def caches_said(points: Sequence[MatrixPoint]) -> str:
    """Where reading again was faster than reading."""
    known = ratios(points)
    if not known:
        return "nothing was read again"
    cells = sum(answered(*one) for one in known)
    middle = statistics.median(ratio for ratio, _ in known)
    if not cells:
        return f"no cache answered: re-read ÷ read is {middle:.2f} (median)"
    most, where = max(known, key=lambda pair: pair[0])
    return (
        f"A CACHE ANSWERED at {cells} of {len(known)} cells: re-read ÷ read is {middle:.2f} (median) and at most"
        f" {most:.2f}, with {where.at}"
    )


_KIB, _MIB = 1 << 10, 1 << 20
_SLOW = 100e6  # bytes a second that it is reckoned to have
_START_S = 1.0  # of a cell: fio begins and ends four times
_NULL_BYTES = 64 * _MIB  # of a cell in memory
_NULL_SECONDS = 1
Sizes = tuple[Annotated[ByteSize, Field(ge=512)], ...]


class Drop(StrEnum):
    """When this host's page cache is made to drop the files."""

    EACH = "before-each"
    READ = "before-read"  # reading again may come from this host's cache
    NEVER = "never"


def _sizes(*numbers: int) -> tuple[ByteSize, ...]:
    return tuple(ByteSize(number) for number in numbers)


class MatrixSettings(ProfileSettings):
    """Of profile `matrix`."""

    threads: Annotated[tuple[Annotated[int, Field(ge=1, le=1024)], ...], Field(min_length=1, description="at once")] = (
        1, 2, 4, 8, 16, 24,
    )  # fmt: skip
    records: Annotated[Sizes, Field(min_length=1, description="size of each read and write")] = _sizes(
        8 * _KIB, 256 * _KIB, 512 * _KIB, _MIB, 4 * _MIB, 8 * _MIB, 16 * _MIB
    )
    files: Annotated[
        Sizes, Field(min_length=1, description="size of each thread's file; cells with a larger record are omitted")
    ] = _sizes(_MIB, 2 * _MIB, 8 * _MIB, 16 * _MIB, 32 * _MIB, 256 * _MIB)
    seconds: Annotated[
        int, Field(ge=0, description="most seconds of each operation, without the sync; 0: to the ends of the files")
    ] = 0
    drop: Annotated[
        Drop, Field(description="when to drop this host's cached pages: before-each, before-read, never")
    ] = Drop.EACH
    fsync: Annotated[bool, Field(description="sync each file at its end, within the time of write and rewrite")] = True
    direct: Annotated[bool, Field(description="bypass the page cache (O_DIRECT)")] = False


class Matrix(Profile[MatrixSettings]):
    """Files are spread over the paths, thread by thread."""

    name = "matrix"
    report = "R4"
    does = (
        "Runs every combination of threads, record and file size: each thread writes a file of its own, rewrites it, reads it and"
        " reads it again; heat maps, and re-read ÷ read where a cache answered."
    )
    writes = "As many files as there are threads, of the cell's size; the next cell begins with new ones."
    needs = "fio. Empty directories; a night for the report's own matrix: --resume continues after an interruption."
    settings_type = MatrixSettings
    small: ClassVar[dict[str, Any]] = {
        "threads": (1, 2), "records": ("64KiB", "1MiB"), "files": ("1MiB", "8MiB"), "seconds": 1,
    }  # fmt: skip

    def check(self) -> None:
        """Raises UsageError without fio."""
        refuse_without_fio()

    def kind(self, repeats: int, seed: int) -> Kind:
        """Every cell whose record is no longer than its file."""
        if not (cells := self._cells()):
            raise UsageError("--set records: every record is longer than every file")
        return Cases("threads", cells, repeats=repeats, seed=seed)

    def _cells(self) -> list[MatrixLoad]:
        wish = self.settings
        return [
            MatrixLoad(int(file), int(record), threads)
            for file in sorted(set(wish.files))
            for record in sorted(set(wish.records))
            if record <= file
            for threads in sorted(set(wish.threads))
        ]

    def room(self) -> Room:
        """The largest cell's; reckoned at 100 MB/s."""
        a_path = -(-max(self.settings.threads) // max(1, len(self.targets.paths)))
        most = self.settings.seconds * len(OPS) or float("inf")
        seconds = (_START_S + min(len(OPS) * cell.threads * cell.file / _SLOW, most) for cell in self._cells())
        return Room(bytes=a_path * int(max(self.settings.files)), files=a_path, seconds=sum(seconds))

    def on_null(self) -> Matrix:
        """The same cells, but no longer than a second, in files that are smaller where all together are large."""
        most = max(_NULL_BYTES // max(self.settings.threads), *self.settings.records)
        less = {"files": (ByteSize(min(max(self.settings.files), most)),), "seconds": _NULL_SECONDS, "direct": False}
        return Matrix(self.settings.model_copy(update=less), self.targets)

    def touched(self) -> int:
        """Of the smallest cell: each begins with new files."""
        return min((cell.threads * cell.file for cell in self._cells()), default=0)

    def observe(self, turn: Turn, arena: Arena) -> MatrixSeen:
        """Files of before are gone, so that `write` makes new ones. Raises RunFailed."""
        at = _in_memory(cast("MatrixLoad", turn.at)) if arena.null else cast("MatrixLoad", turn.at)
        for path in arena.paths:
            for file in path.iterdir():
                file.unlink()
        settled(arena)
        jobs = [job for op in OPS for job in self._jobs(op, at, len(arena.paths))]
        most = self.settings.seconds
        seen = observed(turn, arena, jobs, expected_s=float(len(OPS) * most) if most else None)
        synced, cpu_s = self.settings.fsync, seen.worker_cpu * seen.elapsed_s
        took = sum(elapsed_s(of_op(seen.fio.jobs, op)) for op in OPS)
        fields = {field.name: getattr(seen, field.name) for field in dataclasses.fields(seen)}
        fields["elapsed_s"] = sum(busy_s(of_op(seen.fio.jobs, op), synced=synced) for op in OPS)
        fields["worker_cpu"] = cpu_s / took if took else 0.0
        return MatrixSeen(**fields, synced=synced, asked=at.file // at.record * at.record)

    def _jobs(self, op: str, at: MatrixLoad, paths: int) -> list[Job]:
        """One for each thread; the first waits for the operation before. But for the first one they take files as they are."""
        first, writes, wish = op == OPS[0], op in ("write", "rewrite"), self.settings
        drop = wish.drop is Drop.EACH or (wish.drop is Drop.READ and op == "read")
        return [
            Job(name=f"{op}-{number}", does="write" if writes else "read", files=(f"{number % paths}/{number}",),
                block=at.record, size=at.file if first else None, most_seconds=wish.seconds or None, direct=wish.direct,
                drop=drop, after=number == 0 and not first,
                options=(("refill_buffers", "1"), ("end_fsync", str(int(wish.fsync)))) if writes else ())
            for number in range(at.threads)
        ]  # fmt: skip


def _in_memory(at: MatrixLoad) -> MatrixLoad:
    """With files of whole records of which all together are held in memory; one record at least."""
    most = max(at.record, _NULL_BYTES // at.threads // at.record * at.record)
    return dataclasses.replace(at, file=min(at.file, most))


_COLUMNS = 3
_DARK, _LIGHT = "#101317", "#fbfcfd"  # on light and on dark cells, in either colour mode
_MAP = "cividis"
_FEW, _LARGE, _SMALL = 4, 9.0, 6.0  # cells side by side, up to which their numbers are written large
_DROPPED = {
    "before-each": "This host's pages of the files were dropped before each operation: what answers faster is the storage's own cache.",
    "before-read": "This host's pages of the files were dropped before the first reading only: the second may come from this host.",
    "never": "This host's pages of the files were never dropped: both readings may come from this host.",
}


def sections(result: MatrixResult) -> list[Section]:
    """In reading order."""
    return [_caches(result), *(_heat(result, op) for op in OPS)]


def _values(points: Sequence[MatrixPoint], figure: str) -> dict[tuple[int, int, int], float]:
    """By file, record and threads."""
    return {(p.at.file, p.at.record, p.at.threads): p.figures[figure].median for p in points if figure in p.figures}


def _heat(result: MatrixResult, op: str) -> Section:
    values = _values(result.points, f"{op}_mb_per_s")
    best = max(values, key=lambda cell: values[cell], default=None)
    sentence = f"{op}, MB/s with GB/hour below, by threads, record and file size."
    if best is not None:
        rate = values[best]
        sentence += (
            f" The most is {words.figure(rate)} MB/s = {words.figure(rate * 3.6)} GB/hour with {words.many(best[2], 'thread')},"
            f" {binary(best[1])} records and {binary(best[0])} files."
        )
    plot = _map(f"heat-{op}", values, sentence, _both, ("mb_per_s", "gb_per_hour"), 3.6)
    told = [note(line) for line in (_doubtful(result, op), _cut(result, op)) if line]
    return Section(anchor=f"heat-{op}", title=f"{op[0].upper()}{op[1:]}: MB/s, and GB/hour below", parts=(plot, *told))


def _both(rate: float) -> str:
    return f"{words.figure(rate, 2)}\n{words.figure(rate * 3.6, 2)}"


def _doubtful(result: MatrixResult, op: str) -> str:
    coarse = sum(any(op in run.coarse for run in point.repeats) for point in result.points)
    if not coarse:
        return ""
    return (
        f"At {coarse} of {words.many(len(result.points), 'cell')} it took under {COARSE_S * 1000:.0f} ms: such a rate is rough, and of"
        " several threads some may have been done before others began."
    )


def _cut(result: MatrixResult, op: str) -> str:
    cut = sum(any(op in run.cut for run in point.repeats) for point in result.points)
    most = result.conditions["configuration"]["settings"]["seconds"]
    if not cut:
        return ""
    return f"At {words.many(cut, 'cell')} it moved less than whole files: it, or the writing before it, was ended after {most} s."


def _caches(result: MatrixResult) -> Section:
    said = caches_said(result.points)
    plot = _map("heat-cache-ratio", _values(result.points, "cache_ratio"), f"{said[0].upper()}{said[1:]}.",
                lambda value: f"{value:.2g}", ("reread_per_read",), None)  # fmt: skip
    drop = result.conditions["configuration"]["settings"]["drop"]
    told = note(
        f"{_DROPPED[drop]} Over {CACHED} ({CACHED_COARSE:g} where the first reading took under {COARSE_S * 1000:.0f} ms) a cache is"
        " assumed to have answered the second reading. The rate of such a cell is that of the cache and not of the disks."
    )
    return Section(anchor="caches", title="Re-read ÷ read: where a cache answered", parts=(plot, told))


def _map(
    name: str, values: Mapping[tuple[int, int, int], float], sentence: str, write: Callable[[float], str],
    columns: tuple[str, ...], factor: float | None,
) -> Plot:  # fmt: skip
    """A panel for each file size, all in the same colours."""
    from matplotlib.colors import LogNorm

    files = sorted({file for file, _, _ in values}) or [0]
    across = min(_COLUMNS, len(files))
    down = -(-len(files) // across)
    known = [value for value in values.values() if value > 0] or [1.0]
    colours = LogNorm(min(known), max(max(known), min(known) * 1.01))
    with drawing():
        figure, panels = new_figure(across, down, height=0.6 + 2.5 * down)
        for axes, file in zip(panels, files, strict=False):
            _panel(axes, {cell[1:]: value for cell, value in values.items() if cell[0] == file}, colours, write)
            axes.set_title(f"files of {binary(file)}")
            axes.set_ylabel("record" if axes in panels[::across] else "")
        for axes in panels[len(files) :]:
            axes.set_visible(False)
    rows: list[tuple[Cell, ...]] = [
        (*cell, value, *([] if factor is None else [value * factor])) for cell, value in sorted(values.items())
    ]
    series = Series(name=name, header=("file_bytes", "record_bytes", "threads", *columns), rows=tuple(rows))
    return Plot(name=name, figure=figure, sentence=sentence, series=series)


def _panel(axes: Axes, values: Mapping[tuple[int, int], float], colours: Any, write: Callable[[float], str]) -> None:
    """By record and threads; what was not measured stays empty."""
    records, threads = sorted({record for record, _ in values}), sorted({number for _, number in values})
    font = _LARGE if len(threads) <= _FEW and len(records) <= _FEW else _SMALL
    for (record, number), value in values.items():
        x, y = threads.index(number), records.index(record)
        place = colours(max(value, colours.vmin or 1e-9))
        axes.pcolormesh([x, x + 1], [y, y + 1], [[max(value, 1e-9)]], cmap=_MAP, norm=colours)
        axes.text(
            x + 0.5,
            y + 0.5,
            write(value),
            ha="center",
            va="center",
            fontsize=font,
            linespacing=0.95,
            color=_LIGHT if place < 0.5 else _DARK,
        )
    axes.grid(visible=False)
    axes.set_xticks([x + 0.5 for x in range(len(threads))], [str(number) for number in threads])
    axes.set_yticks([y + 0.5 for y in range(len(records))], [binary(record) for record in records])
    axes.set_xlabel("threads")


PROFILE = Matrix


def _rate(op: str) -> Figure:
    def of(run: Any) -> float | None:
        rate: float | None = run.rates.get(op)
        return rate

    return Figure(name=f"{op}_mb_per_s", title=f"MB/s {op}", of=of, headline=op == "read")


ABOUT = profile_about(
    name=NAME,
    report="R4",
    result=MatrixResult,
    point=MatrixPoint,
    figures=(
        *sorted((_rate(op) for op in OPS), key=lambda figure: not figure.headline),
        Figure(name="cache_ratio", title="reread ÷ read", of=lambda run: run.cache_ratio, headline=True,
               write=lambda value: f"{value:.2f}"),
        Figure(name="elapsed_s", title="elapsed", of=lambda run: run.elapsed_s, write=words.seconds, unit="s",
               aside=True),
    ),
    seen=MatrixSeen,
    run_of=run_of,
    sections=sections,
    ceilings=tuple(f"{op}_mb_per_s" for op in OPS),
    published=(
        Published(what="20 readers, records of 4k, files of 1 MB: 1.4 TB/hour", figure="read_mb_per_s", value=1.4e6 / 3600,
                  at={"threads": 20, "record": 4096, "file": 1 << 20},
                  remark="outside its matrix; 20 MB in all: its filer's cache"),
    ),
    notes={"cut": lambda run: ", ".join(run.cut) or "–"},
    telling=MatrixTelling,
    makers="threads",
)  # fmt: skip
