"""The test `matrix`: threads x record x file size, written, rewritten, read and read again (report R4's IOzone runs,
through fio)."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar, cast

from pydantic import ByteSize, Field

from core.errors import UsageError
from experiments.report import words
from experiments.report.parts import Cell, Parts, Plot, Section, note, plotted, section
from experiments.report.plots import (
    Axes,
    figure_of,
)
from experiments.result import schema
from experiments.workload import ELAPSED, Figure, Turn
from storage_tests import fio
from storage_tests.about import ProfileWording, Published, about_test
from storage_tests.fio import (
    COARSE_S,
    FioRun,
    FioTest,
    Job,
    as_sentence,
    run_of,
    settings_in,
)
from storage_tests.profile import Arena, ProfileSettings, Room

OPS = ("write", "rewrite", "read", "reread")  # in this order
_KIB, _MIB = 1 << 10, 1 << 20
_NULL_BYTES = 64 * _MIB  # bytes of a cell in memory
Sizes = tuple[Annotated[ByteSize, Field(ge=512)], ...]
_Cell = tuple[int, int, int]  # file, record, threads


@dataclass(frozen=True, slots=True, order=True)
class MatrixLoad(schema.At):
    """A cell: a number of threads, each with a file of its own, in records of a number of bytes."""

    file: int  # bytes
    record: int
    threads: int

    def on(self, axis: str) -> str:
        """Return the value of one field, bytes in binary units."""
        if axis == "threads":
            return schema.At.on(self, axis)
        return f"{words.binary(self.values()[axis])} {axis}s"

    def shown(self) -> dict[str, object]:
        """Return the values as tables show them."""
        return {"file": words.binary(self.file), "record": words.binary(self.record), "threads": self.threads}

    def __str__(self) -> str:
        return f"{self.on('threads')}, {self.on('record')}, {self.on('file')}"


MatrixPoint = schema.PointOf[MatrixLoad, FioRun]
MatrixResult = schema.ResultOf[MatrixPoint]


def _op_rate(op: str) -> Figure:
    def of(run: FioRun) -> float | None:
        return run.ops[op].mb_per_s if op in run.ops else None

    return Figure(name=f"{op}_mb_per_s", title=f"MB/s {op}", of=of, headline=op == "read")


RATES = {op: _op_rate(op) for op in OPS}


def cache_ratio(run: FioRun) -> float | None:
    """Return the rate of reading again ÷ that of reading."""
    read, again = RATES["read"].of(run), RATES["reread"].of(run)
    return again / read if read and again is not None else None


CACHED = 1.25  # re-read ÷ read beyond which a cache is reported to have answered
CACHED_COARSE = 2.0  # bound if the first reading was too short for an exact rate


class MatrixWording(ProfileWording):
    """Reports on a matrix, from `surroundings` as of every profile."""

    def sentence(self, points: Sequence[MatrixPoint]) -> str:
        """Report the best rates of writing and of reading, and the caches."""

        def rate(point: MatrixPoint, op: str) -> float:
            figure = point.figures.get(f"{op}_mb_per_s")
            return 0.0 if figure is None else figure.median

        clauses = []
        for op in ("write", "read"):
            best = max(points, key=lambda point: rate(point, op))
            most = rate(best, op)
            clauses.append(
                f"{op} at most {words.figure(most)} MB/s ({words.figure(most * 3.6)} GB/hour) with {best.at}"
            )
        return "; ".join([*clauses, caches_text(points)])


def caches_text(points: Sequence[MatrixPoint]) -> str:
    """Report where reading again was faster than reading."""
    known = [(point.figures["cache_ratio"].median, point) for point in points if "cache_ratio" in point.figures]
    if not known:
        return "nothing was read again"

    def answered(ratio: float, point: MatrixPoint) -> bool:
        exact = statistics.median(run.ops["read"].seconds for run in point.repeats) >= COARSE_S
        return ratio > (CACHED if exact else CACHED_COARSE)

    cells = sum(answered(*one) for one in known)
    half = statistics.median(ratio for ratio, _ in known)
    if not cells:
        return f"no cache answered: re-read ÷ read is {half:.2f} (median)"
    most, where = max(known, key=lambda pair: pair[0])
    return (
        f"A CACHE ANSWERED at {cells} of {len(known)} cells: re-read ÷ read is {half:.2f} (median) and at most"
        f" {most:.2f}, with {where.at}"
    )


class Drop(StrEnum):
    """Time at which this host's page cache is made to drop the files."""

    EACH = "before-each"
    READ = "before-read"  # reading again may come from this host's cache
    NEVER = "never"


def _sizes(*numbers: int) -> tuple[ByteSize, ...]:
    return tuple(ByteSize(number) for number in numbers)


class MatrixSettings(ProfileSettings):
    """Settings of profile `matrix`."""

    threads: tuple[Annotated[int, Field(ge=1, le=1024)], ...] = Field(
        (1, 2, 4, 8, 16, 24), min_length=1, description="at once"
    )
    records: Sizes = Field(
        _sizes(8 * _KIB, 256 * _KIB, 512 * _KIB, _MIB, 4 * _MIB, 8 * _MIB, 16 * _MIB),
        min_length=1,
        description="size of each read and write",
    )
    files: Sizes = Field(
        _sizes(_MIB, 2 * _MIB, 8 * _MIB, 16 * _MIB, 32 * _MIB, 256 * _MIB),
        min_length=1,
        description="size of each thread's file; cells with a larger record are omitted",
    )
    seconds: int = Field(
        0, ge=0, description="longest time of each operation in seconds, without the sync; 0: to the ends of the files"
    )
    drop: Drop = Field(Drop.EACH, description="when to drop this host's cached pages: before-each, before-read, never")
    fsync: bool = Field(True, description="sync each file at its end, within the time of write and rewrite")
    direct: bool = Field(False, description="bypass the page cache (O_DIRECT)")


class Matrix(FioTest[MatrixSettings]):
    """The matrix of report R4; files are spread over the paths, thread by thread."""

    name = "matrix"
    report = "R4"
    does = (
        "Runs every combination of threads, record and file size: each thread writes its own file, rewrites it, "
        "reads it and reads it again; shows heat maps, and re-read ÷ read if a cache answered."
    )
    writes = "One file of the cell's size for each thread; each cell starts with new files."
    needs = "fio. Empty directories; the report's own matrix takes a night; --resume continues after an interruption."
    settings_type = MatrixSettings
    small: ClassVar[dict[str, Any]] = {
        "threads": (1, 2), "records": ("64KiB", "1MiB"), "files": ("1MiB", "8MiB"), "seconds": 1,
    }  # fmt: skip
    axis = "threads"

    def points(self) -> list[MatrixLoad]:
        """Return every cell whose record is no longer than its file."""
        wish = self.settings
        cells = [
            MatrixLoad(int(file), int(record), threads)
            for file in sorted(set(wish.files))
            for record in sorted(set(wish.records))
            if record <= file
            for threads in sorted(set(wish.threads))
        ]
        if not cells:
            raise UsageError("--set records: every record is longer than every file")
        return cells

    def room(self) -> Room:
        """Return the room of the largest cell; assume a second a cell and 100 MB/s."""
        a_path = -(-max(self.settings.threads) // max(1, len(self.targets.paths)))
        most = self.settings.seconds * len(OPS) or float("inf")
        seconds = (1 + min(len(OPS) * cell.threads * cell.file / 100e6, most) for cell in self.points())
        return Room(bytes=a_path * int(max(self.settings.files)), files=a_path, seconds=sum(seconds))

    def on_null(self) -> Matrix:
        """Return the same cells, no longer than a second, with smaller files if all together are large."""
        most = max(_NULL_BYTES // max(self.settings.threads), *self.settings.records)
        less = {"files": (ByteSize(min(max(self.settings.files), most)),), "seconds": 1, "direct": False}
        return Matrix(self.settings.model_copy(update=less), self.targets)

    def touched(self) -> int:
        """Return the bytes of the smallest cell: each starts with new files."""
        return min(cell.threads * cell.file for cell in self.points())

    @contextmanager
    def prepared(self, arena: Arena) -> Iterator[None]:
        """Do nothing: each cell writes its own files."""
        yield

    def expected_s(self, at: MatrixLoad) -> float | None:
        """Return the seconds of all operations."""
        return float(len(OPS) * self.settings.seconds) or None

    def observe(self, turn: Turn, arena: Arena) -> FioRun:
        """Run a cell after removing earlier files, so that `write` creates new ones. Raises RunFailed."""
        at = cast("MatrixLoad", turn.at)
        if arena.null:  # whole records, all of which fit in memory together; at least one
            most = max(at.record, _NULL_BYTES // at.threads // at.record * at.record)
            at = dataclasses.replace(at, file=min(at.file, most))
        for path in arena.paths:
            for file in path.iterdir():
                file.unlink()
        fio.settled(arena)
        seen = super().observe(dataclasses.replace(turn, at=at), arena)
        assert seen.fio is not None
        by_op = [fio.of_op(seen.fio.jobs, op) for op in OPS]
        took = sum(map(fio.elapsed_s, by_op))
        return dataclasses.replace(
            seen,
            elapsed_s=sum(fio.busy_s(jobs, synced=self.settings.fsync) for jobs in by_op),
            worker_cpu=seen.worker_cpu * seen.elapsed_s / took if took else 0.0,
            synced=self.settings.fsync,
            asked=at.file // at.record * at.record,
        )

    def jobs(self, at: MatrixLoad, paths: int) -> list[Job]:
        """Return one job for each operation and thread; the first of an operation waits for the previous operation. All
        operations but the first take files as they are."""
        wish = self.settings
        return [
            Job(name=f"{op}-{number}", does="write" if op in ("write", "rewrite") else "read",
                files=(f"{number % paths}/{number}",), block=at.record, size=at.file if op == OPS[0] else None,
                most_seconds=wish.seconds or None, direct=wish.direct,
                drop=wish.drop is Drop.EACH or (wish.drop is Drop.READ and op == "read"),
                after=number == 0 and op != OPS[0],
                options=(("refill_buffers", "1"), ("end_fsync", str(int(wish.fsync)))) if op in ("write", "rewrite") else ())
            for op in OPS for number in range(at.threads)
        ]  # fmt: skip


_COLUMNS = 3
_DARK, _LIGHT = "#101317", "#fbfcfd"  # on light and on dark cells, in either colour mode
_FEW, _LARGE, _SMALL = 4, 9.0, 6.0  # most cells in a row with large numbers; the two font sizes
_DROPPED = {
    "before-each": (
        "This host's pages of the files were dropped before each operation: faster answers come from the storage's "
        "own cache."
    ),
    "before-read": "This host's pages of the files were dropped before the first reading only: the second may come from this host.",
    "never": "This host's pages of the files were never dropped: both readings may come from this host.",
}


def _values(points: Sequence[MatrixPoint], figure: str) -> dict[_Cell, float]:
    """Return the values by file, record and threads."""
    return {(p.at.file, p.at.record, p.at.threads): p.figures[figure].median for p in points if figure in p.figures}


def _heat(result: MatrixResult, op: str) -> Section:
    values = _values(result.points, RATES[op].name)
    best = max(values, key=lambda cell: values[cell], default=None)
    sentence = f"{op}, MB/s with GB/hour below, by threads, record and file size."
    if best is not None:
        rate = values[best]
        sentence += (
            f" The most is {words.figure(rate)} MB/s = {words.figure(rate * 3.6)} GB/hour with {words.many(best[2], 'thread')},"
            f" {words.binary(best[1])} records and {words.binary(best[0])} files."
        )
    plot = _map(f"heat-{op}", values, sentence, lambda rate: f"{words.figure(rate, 2)}\n{words.figure(rate * 3.6, 2)}",
                {"mb_per_s": 1.0, "gb_per_hour": 3.6})  # fmt: skip
    runs = [[run.ops[op] for run in point.repeats if op in run.ops] for point in result.points]
    coarse, cut = sum(any(one.coarse for one in own) for own in runs), sum(any(one.cut for one in own) for own in runs)
    remarks = []
    if coarse:
        remarks.append(
            f"At {coarse} of {words.many(len(runs), 'cell')} it took under {COARSE_S * 1000:.0f} ms: such a rate "
            "is rough, and some of several threads may have ended before others started."
        )
    if cut:
        remarks.append(
            f"At {words.many(cut, 'cell')} it moved less than whole files: it, or the write before it, was stopped "
            f"after {settings_in(result)['seconds']} s."
        )
    title = f"{op[0].upper()}{op[1:]}: MB/s, and GB/hour below"
    return Section(anchor=f"heat-{op}", title=title, parts=(plot, *map(note, remarks)))


@section("caches", "Re-read ÷ read: answers from a cache")
def _caches(result: MatrixResult) -> Parts:
    values = _values(result.points, "cache_ratio")
    plot = _map(
        "heat-cache-ratio", values, as_sentence(caches_text(result.points)), "{:.2g}".format, {"reread_per_read": 1.0}
    )
    remark = note(
        f"{_DROPPED[settings_in(result)['drop']]} Over {CACHED} ({CACHED_COARSE:g} if the first reading took under "
        f"{COARSE_S * 1000:.0f} ms) a cache is assumed to have answered the second reading. The rate of such a "
        "cell is that of the cache, not of the disks."
    )
    return plot, remark


def _map(
    name: str, values: Mapping[_Cell, float], sentence: str, write: Callable[[float], str], columns: Mapping[str, float]
) -> Plot:
    """Draw a panel for each file size, all in the same colours. `columns`: of the CSV, each a multiple of the value."""
    from matplotlib.colors import LogNorm

    files = sorted({file for file, _, _ in values}) or [0]
    across = min(_COLUMNS, len(files))
    down = -(-len(files) // across)
    known = [value for value in values.values() if value > 0] or [1.0]
    colours = LogNorm(min(known), max(max(known), min(known) * 1.01))
    with figure_of(across, down, height=0.6 + 2.5 * down) as (figure, panels):
        for axes, file in zip(panels, files, strict=False):
            _panel(axes, {cell[1:]: value for cell, value in values.items() if cell[0] == file}, colours, write)
            axes.set_title(f"files of {words.binary(file)}")
            axes.set_ylabel("record" if axes in panels[::across] else "")
        for axes in panels[len(files) :]:
            axes.set_visible(False)
    rows: list[tuple[Cell, ...]] = [
        (*cell, *(value * times for times in columns.values())) for cell, value in sorted(values.items())
    ]
    return plotted(name, figure, sentence, ("file_bytes", "record_bytes", "threads", *columns), rows)


def _panel(axes: Axes, values: Mapping[tuple[int, int], float], colours: Any, write: Callable[[float], str]) -> None:
    """Draw the values by record and threads; what was not measured stays empty."""
    records, threads = sorted({record for record, _ in values}), sorted({number for _, number in values})
    font = _LARGE if len(threads) <= _FEW and len(records) <= _FEW else _SMALL
    for (record, number), value in values.items():
        x, y = threads.index(number), records.index(record)
        shade = colours(max(value, colours.vmin or 1e-9))
        axes.pcolormesh([x, x + 1], [y, y + 1], [[max(value, 1e-9)]], cmap="cividis", norm=colours)
        axes.text(x + 0.5, y + 0.5, write(value), ha="center", va="center", fontsize=font, linespacing=0.95,
                  color=_LIGHT if shade < 0.5 else _DARK)  # fmt: skip
    axes.grid(visible=False)
    axes.set_xticks([x + 0.5 for x in range(len(threads))], [str(number) for number in threads])
    axes.set_yticks([y + 0.5 for y in range(len(records))], [words.binary(record) for record in records])
    axes.set_xlabel("threads")


Matrix.ABOUT = about_test(
    Matrix,
    MatrixLoad,
    FioRun,
    figures=(
        *sorted(RATES.values(), key=lambda figure: not figure.headline),
        Figure(name="cache_ratio", title="reread ÷ read", of=cache_ratio, headline=True, write="{:.2f}".format),
        dataclasses.replace(ELAPSED, aside=True),
    ),
    run_of=run_of,
    sections=lambda result: [_caches(result), *(_heat(result, op) for op in OPS)],
    ceilings=tuple(figure.name for figure in RATES.values()),
    published=(
        Published(what="20 readers, records of 4k, files of 1 MB: 1.4 TB/hour", figure="read_mb_per_s", value=1.4e6 / 3600,
                  at={"threads": 20, "record": 4096, "file": 1 << 20},
                  remark="outside its matrix; 20 MB in all: its filer's cache"),
    ),
    notes={"cut": lambda run: ", ".join(op for op, one in run.ops.items() if one.cut) or "–"},
    wording=MatrixWording,
    makers="threads",
)  # fmt: skip
