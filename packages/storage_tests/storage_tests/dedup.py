"""The test `dedup`: write data of several types to storage that deduplicates or compresses, and compare its savings
with the possible ones (R5)."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import ByteSize, Field

from core.errors import RunFailed, UsageError
from core.services.process import tied
from core.storage.whole import is_within
from experiments.report import words
from experiments.report.parts import Cell, Column, Parts, Plot, Section, note, plotted, section, tabled
from experiments.report.plots import figure_of, legend_right, written
from experiments.report.style import series_colour
from experiments.report.views import middle, named
from experiments.result.schema import At, PointOf, ResultOf
from experiments.result.steady import by_second, judged_whole
from experiments.workload import ELAPSED, Figure, Turn
from monitoring.machine import host_seconds, processors
from storage_tests.about import ProfileWording, Published, about_test
from storage_tests.dedup_data import CDC as CDC_BYTES
from storage_tests.dedup_data import (
    FIXED,
    Data,
    Expected,
    Spec,
    corpus_made,
    expected_of,
    files_of,
    ratio_text,
    write_all,
)
from storage_tests.devices import Usage, synced, usage_at_rest
from storage_tests.owner import own_directories, storage_errors
from storage_tests.profile import (
    COMMAND_ONLY,
    RAW,
    Arena,
    Profile,
    ProfileRun,
    ProfileSettings,
    Room,
    figured,
    noted,
)
from storage_tests.tally import Counted, latencies

CUTS = (*(f"{size >> 10}K" for size in FIXED), "CDC")


_Row = tuple[str, "DedupRun"]
_NAME: Column[_Row] = Column("data", "data", lambda row: row[0], text=True)


def _rows(result: DedupResult) -> list[_Row]:
    return [(named(point, result), middle(point.repeats)) for point in result.points]


def _ratios(result: DedupResult) -> Section:
    columns: tuple[Column[_Row], ...] = (
        _NAME,
        *(
            Column(f"expected_{cut.lower()}", cut, partial(lambda cut, row: _expected(cut, row[1]), cut), ratio_text)
            for cut in CUTS
        ),
        Column("expected_cdc_compressed", "CDC, compressed", lambda row: _compressed(row[1]), ratio_text),
        Column("storage", "the storage", lambda row: row[1].ratio, ratio_text, missing=ratio_text(None)),
        Column("stated", "it states", lambda row: row[1].stated, ratio_text, missing=""),
    )
    shown = tabled("ratios", columns, _rows(result))
    remark = note(
        "4K, 8K, 128K: chunks that begin at multiples of their size in each file. CDC: content-defined chunks of "
        f"about {CDC_BYTES >> 10} KiB (FastCDC). Compressed: each different chunk by itself with zlib. These are "
        "computed from the data, without the space for the index of chunks. The storage: bytes written ÷ growth of "
        "the used space meanwhile, by all users; later reductions are not included."
    )
    return Section(
        anchor="ratios", title="Expected ratios, and those of the storage", parts=(_plot(result), shown, remark)
    )


def _plot(result: DedupResult) -> Plot:
    """Plot ratios over several powers of ten: dots on a logarithmic axis."""
    rows = _rows(result)
    marks: list[tuple[str, str, Callable[[DedupRun], float | None]]] = [("4K fixed", "s", lambda run: _expected("4K", run)), ("128K fixed", "D", lambda run: _expected("128K", run)),
             ("content-defined", "o", lambda run: _expected("CDC", run)), ("the storage", "*", lambda run: run.ratio)]  # fmt: skip
    numbers: list[tuple[Cell, ...]] = []
    with figure_of(height=1.2 + 0.42 * len(rows)) as (figure, (axes,)):
        for number, (label, marker, of) in enumerate(marks):
            known = [(value, place) for place, (_, run) in enumerate(rows) if (value := of(run)) is not None]
            axes.scatter([value for value, _ in known], [place for _, place in known], marker=marker, s=46,
                         color=series_colour(number), label=label, zorder=3)  # fmt: skip
            numbers += [(rows[place][0], label, value) for value, place in known]
        axes.set_xscale("log")
        written(axes.xaxis, lambda value: f"1:{value:,.0f}")
        axes.set_yticks(range(len(rows)), [name for name, _ in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("bytes written for each byte kept")
        legend_right(axes)
    far = [name for name, run in rows if (cdc := _expected("CDC", run)) and run.ratio and run.ratio < cdc / 2]
    sentence = (
        f"Less than half of the ratio of content-defined chunks: {words.listed(far)}." if far
        else "No reported ratio is less than half of that of content-defined chunks."
    )  # fmt: skip
    return plotted("reduction", figure, sentence, ("data", "by", "ratio"), numbers)


def _expected(cut: str, run: DedupRun) -> float | None:
    return getattr(run.cut(cut), "ratio", None)


def _space(result: DedupResult) -> Section:
    columns: tuple[Column[_Row], ...] = (
        _NAME,
        Column("files", "files", lambda row: row[1].files, words.count),
        Column("bytes", "written", lambda row: row[1].bytes, words.size),
        Column("ratio_by_blocks", "by the files' blocks", lambda row: row[1].allocated_ratio, ratio_text, missing=ratio_text(None)),
        Column("ratio_when_written", "when written", lambda row: row[1].written_ratio, ratio_text, missing=ratio_text(None)),
        Column("reduce_s", "reducing took", lambda row: row[1].reduce_s, words.seconds, missing=""),
        Column("used_bytes", "space at the end", lambda row: row[1].used_bytes, lambda used: words.size(max(0, used)),
               missing="not known"),
        Column("ratio", "at the end", lambda row: row[1].ratio, ratio_text, missing=ratio_text(None)),
    )  # fmt: skip
    shown = tabled("space", columns, _rows(result))
    remark = note(
        "Space is reported by the file system (statvfs) after a sync, or by the storage's own command; by the "
        "files' blocks: as stat reports, which includes holes and, on some file systems, compression."
    )
    return Section(anchor="space", title="Space before and after", parts=(shown, remark))


@section("load", "Load and bandwidth")
def _load(result: DedupResult) -> Parts:
    columns: tuple[Column[_Row], ...] = (
        _NAME,
        Column("mb_per_s", "MB/s", lambda row: row[1].bytes / row[1].elapsed_s / 1e6, words.figure),
        Column("writers_cpu", "CPU, writers", lambda row: row[1].worker_cpu, words.percent),
        Column("host_busy", "CPU, all", lambda row: row[1].host_busy, words.percent),
        Column("load1", "load (1 min)", lambda row: row[1].load1, words.figure),
    )
    remark = note(
        "Load of this host while writing. Report R5's loads (25 with random data, 10 with zeros) are those of the "
        "appliance, which cannot be observed from here; local storage uses the same CPU. Generating the data also "
        "takes CPU time: the null baseline shows the highest possible rate."
    )
    return tabled("load", columns, _rows(result)), remark


NAME = "dedup"


@dataclass(frozen=True, slots=True)
class DedupLoad(At):
    """One type of data on one path."""

    data: str
    volume: str  # "volume 1": the path, by its number

    def on(self, axis: str) -> str:
        """Return the value without a unit."""
        return str(self.values()[axis])


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupRun(ProfileRun):
    """One run. A ratio is bytes written ÷ bytes that the storage needs."""

    files: int
    bytes: int
    expected: tuple[Expected, ...]  # empty on null storage
    reduce_s: float | None  # time of the reducing command
    stated: float | None  # the ratio that the operator gave
    host_busy: float  # share of all CPUs, of all programs, while it was written
    load1: float  # processes that run or wait for it, 1-minute mean, at the end of writing
    counted: tuple[Counted, ...] = field(default=(), metadata=RAW)
    bytes_by_second: tuple[int, ...] = field(default=(), metadata=RAW)
    allocated_bytes: int | None = field(default=None, metadata=RAW)  # of all files without directories, by st_blocks
    before: Usage | None = field(default=None, metadata=RAW)  # None: a command reported the space, or null storage
    after_write: Usage | None = field(default=None, metadata=RAW)
    at_end: Usage | None = field(default=None, metadata=RAW)  # without a reducing command the same as `after_write`
    # Bytes in use by the storage's own command: before, when written, at the end.
    by_command: tuple[int, int, int] | None = field(default=None, metadata=RAW)
    written_ratio: float | None = None  # when all was written; None: the storage did not grow, or reports nothing
    ratio: float | None = None  # at the end
    used_bytes: int | None = None  # growth of the storage at the end
    allocated_ratio: float | None = None  # by the allocated bytes of the files

    def cut(self, name: str) -> Expected | None:
        """Return what is expected of chunks that are cut in this way."""
        return next((one for one in self.expected if one.cut == name), None)


DedupPoint = PointOf[DedupLoad, DedupRun]
DedupResult = ResultOf[DedupPoint]


def run_of(seen: DedupRun) -> DedupRun:
    """Compute the figures of a run from its observations alone."""
    written, end = _grown(seen)
    return figured(
        seen,
        latency=latencies(seen.counted),
        steady=judged_whole("bytes", by_second(seen.bytes_by_second), seen.elapsed_s),
        written_ratio=_ratio(seen.bytes, written),
        ratio=_ratio(seen.bytes, end),
        used_bytes=end,
        allocated_ratio=_ratio(seen.bytes, seen.allocated_bytes),
    )


def _grown(seen: DedupRun) -> tuple[int | None, int | None]:
    """Return the bytes that the storage took, when all was written and at the end; None if no value was reported."""
    if seen.by_command is not None:
        before, written, end = seen.by_command
        return written - before, end - before
    if seen.before is None or seen.after_write is None or seen.at_end is None:
        return None, None
    before = seen.before.used_bytes
    return seen.after_write.used_bytes - before, seen.at_end.used_bytes - before


def _ratio(written: int, taken: int | None) -> float | None:
    return written / taken if taken is not None and taken > 0 else None


CDC = "expected_cdc"


class DedupWording(ProfileWording):
    """Reports on a `dedup`, from `surroundings` as of every profile."""

    def sentence(self, points: Sequence[DedupPoint]) -> str:
        """Report for each type the storage's ratio, and in brackets the possible one of content-defined chunks."""
        volumes = list(dict.fromkeys(point.at.volume for point in points))
        clauses = []
        for volume in volumes:
            ratios = ", ".join(
                f"{point.at.data} {_median(point, 'ratio')} ({_median(point, CDC)})"
                for point in points
                if point.at.volume == volume
            )
            clauses.append(ratios if len(volumes) == 1 else f"{volume}: {ratios}")
        return f"reduced by the storage (by content-defined chunks): {'; '.join(clauses)}"

    def warnings(self, points: Sequence[DedupPoint]) -> Sequence[str]:
        """Return the warnings of every profile, and one on data for which the storage reports no used space."""
        silent = [str(point.at.data) for point in points if "ratio" not in point.figures]
        own = [] if not silent else [
            f"{words.listed(silent)}: the storage reports no used space, or a value that does not settle; give a "
            "command with --set used=COMMAND"
        ]  # fmt: skip
        return (*super().warnings(points), *own)


def _median(point: DedupPoint, figure: str) -> str:
    return ratio_text(getattr(point.figures.get(figure), "median", None))


_SLOW = 20e6  # assumed bytes a second, for the predicted time
_NULL_BYTES = 32 << 20
_OF_FILE = 100_000  # bytes of a small file, in the discovery corpus
_OVERHEAD = 1.02  # factor for directories and the ends of blocks
_LEAST_OVERHEAD = (
    8_000_000  # small backups: each incremental copy has a block for its table and one that changed at least
)
_NUMBER = re.compile(r"\d+")


class DedupSettings(ProfileSettings):
    """Settings of profile `dedup`."""

    data: tuple[Data, ...] = Field(
        ("zeros", "random", "scientific", "backups", "snapshots", "discovery"),
        min_length=1,
        description="types of data, one point each; own: the data in `source`",
    )
    size: ByteSize = Field(
        ByteSize(1_000_000_000), ge=1 << 20, description="bytes of each type; report R5 had 0.8 to 4 TB"
    )
    source: str = Field("", description="directory with your own data, for data=own", json_schema_extra=COMMAND_ONLY)
    writers: int = Field(2, ge=1, le=256, description="processes that generate and write the files")
    block: ByteSize = Field(ByteSize(1 << 20), ge=4096, description="size of each write; report R5 had 512 KB for dd")
    fsync: Literal["none", "file"] = Field("file", description="sync each file to stable storage")
    reduce: str = Field(
        "",
        description="command that deduplicates, run on the directory after writing, such as duperemove -dr",
        json_schema_extra=COMMAND_ONLY,
    )
    used: str = Field(
        "",
        description="command that prints the bytes in use (first number), instead of statvfs",
        json_schema_extra=COMMAND_ONLY,
    )
    settle: float = Field(
        3.0, ge=0, le=30, description="seconds during which the space in use must not change before it is read"
    )
    stated: tuple[str, ...] = Field(
        (), description="ratios that the storage reports by other means, such as backups=2.8,zeros=1045"
    )
    seed: int = Field(1, description="seed of the data; each repeat has its own data")


class Dedup(Profile[DedupSettings]):
    """The test of report R5; each path is a storage."""

    name: ClassVar[str] = "dedup"
    report: ClassVar[str] = "R5"
    does: ClassVar[str] = (
        "Writes zeros, random and scientific data, backups, machine snapshots and a discovery corpus; compares the "
        "savings possible with deduplication of 4K, 8K, 128K and content-defined chunks with those of the storage; "
        "shows load and bandwidth."
    )
    writes: ClassVar[str] = "`size` bytes of one type at a time on one path at a time, removed after each run."
    needs: ClassVar[str] = (
        "nothing, or a command that prints the used space if the file system does not report it (`used`)."
    )
    settings_type: ClassVar[type[ProfileSettings]] = DedupSettings
    small: ClassVar[Mapping[str, Any]] = {"size": "8MiB"}
    axis: ClassVar[str] = "data"

    def check(self) -> None:
        """Raise UsageError for contradicting settings, a missing source or a missing program."""
        s = self.settings
        if ("own" in s.data) != bool(s.source):
            raise UsageError("--set data=own requires --set source=DIR with the data, and vice versa")
        if s.source and not Path(s.source).is_dir():
            raise UsageError(f"--set source={s.source}: not a directory")
        for path in self.targets.paths:
            if s.source and is_within(path, s.source):
                raise UsageError(f"--set source={s.source} contains --path {path}: writers would read their own output")
        for command in (s.reduce, s.used):
            if command and shutil.which(program := _words(command)[0]) is None:
                raise UsageError(f"{program} is not installed; install it, or give its path")
        _stated(s.stated)

    def points(self) -> list[DedupLoad]:
        """Return every type on every path."""
        volumes = range(1, max(1, len(self.targets.paths)) + 1)
        return [DedupLoad(data, f"volume {volume}") for volume in volumes for data in dict.fromkeys(self.settings.data)]

    def room(self) -> Room:
        """Return the room of the largest type; each is removed before the next."""
        sizes = self._sizes
        files = max(64, max(sizes.values()) // _OF_FILE)
        every = sum(sizes.values()) * max(1, len(self.targets.paths))
        return Room(
            bytes=round(max(sizes.values()) * _OVERHEAD) + files * 512 + _LEAST_OVERHEAD,
            files=files,
            seconds=every / _SLOW,
        )

    def touched(self) -> int:
        """Return the bytes of the smallest type."""
        return min(self._sizes.values())

    @property
    def _sizes(self) -> dict[Data, int]:
        """Bytes of each type."""
        sizes = {data: int(self.settings.size) for data in self.settings.data}
        if self.settings.source:
            sizes["own"] = sum(file.size for file in files_of("own", 0, 0, Path(self.settings.source)))
        return sizes

    def on_null(self) -> Dedup:
        """Return the test with less data: it shows the most that the writers can make."""
        size = min(int(self.settings.size), _NULL_BYTES)
        quiet = {"size": size, "reduce": "", "used": "", "stated": (), "settle": 0.0}
        return Dedup(self.settings.model_copy(update=quiet), self.targets)

    def observe(self, turn: Turn, arena: Arena) -> DedupRun:
        """Write one type once. Raises RunFailed, StorageFault, UsageError if scratch is full."""
        at = turn.at
        assert isinstance(at, DedupLoad)
        path = arena.paths[int(at.volume.rpartition(" ")[2]) - 1]
        data: Data = at.data  # type: ignore[assignment]  # of the settings
        seed = self.settings.seed + turn.repeat
        with self._source(data, seed, arena) as source, own_directories([path], turn.name) as (root,):
            expected = () if arena.null else self._expected(data, seed, source, arena)
            return self._written(turn, arena, data, seed, source, root, expected)

    @contextmanager
    def _source(self, data: Data, seed: int, arena: Arena) -> Iterator[Path | None]:
        """Yield the directory of data that are not generated while they are written."""
        if data != "discovery":
            yield Path(self.settings.source) if data == "own" else None
            return
        corpus = arena.scratch / "corpus"
        shutil.rmtree(corpus, ignore_errors=True)  # of a run that was ended
        arena.show(f"generating a corpus of {words.size(self.settings.size)} on scratch")
        yield corpus_made(corpus, int(self.settings.size), seed)
        shutil.rmtree(corpus)

    def _expected(self, data: Data, seed: int, source: Path | None, arena: Arena) -> tuple[Expected, ...]:
        arena.show(f"{data}: computing what deduplication can save")
        files = files_of(data, int(self.settings.size), seed, source)
        return expected_of((file.pieces for file in files), lambda: arena.show(""))

    def _written(
        self, turn: Turn, arena: Arena, data: Data, seed: int, source: Path | None, root: Path,
        expected: tuple[Expected, ...],
    ) -> DedupRun:  # fmt: skip
        s = self.settings
        specs = [Spec(root=str(root.absolute()), data=data, size=int(s.size), seed=seed,
                      source=None if source is None else str(source.absolute()), part=part, parts=s.writers,
                      io_bytes=int(s.block), fsync=s.fsync) for part in range(s.writers)]  # fmt: skip
        before = self._space(root, arena)
        arena.show(f"writing {data}")
        started, busy = time.time(), host_seconds()
        wrote = write_all(specs, lambda: arena.show(""))
        elapsed = (wrote.ended_ns - wrote.began_ns) / 1e9
        used, passed = (end - begin for begin, end in zip(busy, host_seconds(), strict=True))
        share, load1 = used / passed if passed > 0 else 0.0, os.getloadavg()[0]
        written = self._space(root, arena)
        reduce_s = None if arena.null else self._reduced(root, arena)
        end = written if reduce_s is None else self._space(root, arena)
        counts = None if isinstance(before, Usage) or before is None else (before, written, end)
        allocated = sum(os.lstat(os.path.join(place, name)).st_blocks * 512
                        for place, _, names in os.walk(root) for name in names)  # fmt: skip
        return DedupRun(
            **noted(turn, started, elapsed, wrote.cpu_s, processors()), files=wrote.files, bytes=wrote.bytes,
            counted=wrote.counted, bytes_by_second=wrote.bytes_by_second, expected=expected, allocated_bytes=allocated,
            before=_usage(before), after_write=_usage(written), at_end=_usage(end), by_command=counts,  # type: ignore[arg-type]
            reduce_s=reduce_s, stated=_stated(s.stated).get(data), host_busy=share, load1=load1,
        )  # fmt: skip

    def _space(self, root: Path, arena: Arena) -> Usage | int | None:
        """Return the space in use now, by the file system or by the storage's own command. Raises RunFailed,
        StorageFault."""
        with storage_errors(root):
            synced(root)
            if not self.settings.used:
                arena.show("waiting until the space in use no longer changes, a minute at most")

                def wait(seconds: float) -> None:
                    arena.show("")
                    time.sleep(seconds)

                return usage_at_rest([root], self.settings.settle, wait=wait)
        output = _run([*_words(self.settings.used)], root)
        number = _NUMBER.search(output)
        if number is None:
            raise RunFailed(f"{self.settings.used!r} prints no number of bytes: {output[-200:]!r}")
        return int(number[0])

    def _reduced(self, root: Path, arena: Arena) -> float | None:
        if not self.settings.reduce:
            return None
        arena.show(f"{self.settings.reduce} {root}")
        began = time.monotonic()
        _run([*_words(self.settings.reduce), str(root)], root)
        return time.monotonic() - began


def _run(command: list[str], root: Path) -> str:
    """Run a command that ends with this process; return its output. Raises RunFailed with its last line."""
    program = shutil.which(command[0]) or command[0]
    done = subprocess.run(tied([program, *command[1:]]), cwd=root.parent, stdin=subprocess.DEVNULL, capture_output=True,
                          check=False)  # fmt: skip
    if done.returncode:
        words = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines() or ["no output"]
        raise RunFailed(f"{shlex.join(command)} ended with status {done.returncode}: {words[-1]}")
    return done.stdout.decode("utf-8", "replace")


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{command!r} is not a command: {error}") from error
    if not words:
        raise UsageError(f"{command!r} is not a command")
    return words


def _stated(given: tuple[str, ...]) -> dict[str, float]:
    out = {}
    for one in given:
        data, _, ratio = one.partition("=")
        try:
            out[data] = float(ratio)
        except ValueError as error:
            raise UsageError(f"--set stated={one}: write it as backups=2.8, data and ratio") from error
    return out


def _usage(space: Usage | int | None) -> Usage | None:
    return space if isinstance(space, Usage) else None


_ratio_figure = partial(Figure, write=ratio_text, unit="ratio", missing="not known")


def _compressed(run: DedupRun) -> float | None:
    return getattr(run.cut("CDC"), "with_compression", None)


def _published(data: str, what: str, value: float, remark: str = "") -> Published:
    return Published(what=what, figure="ratio", value=value, at={"data": data, "volume": "volume 1"}, remark=remark)


Dedup.ABOUT = about_test(
    Dedup,
    DedupLoad,
    DedupRun,
    run_of=run_of,
    figures=(
        Figure(name="mb_per_s", title="MB/s", of=lambda run: run.bytes / run.elapsed_s / 1e6, headline=True,
               write=words.figure),
        _ratio_figure(name="ratio", title="by the storage", of=lambda run: run.ratio, headline=True),
        *(
            _ratio_figure(name=f"expected_{cut.lower()}", title=f"expected {cut}", of=partial(_expected, cut), aside=cut != "CDC")
            for cut in CUTS
        ),
        _ratio_figure(name=f"{CDC}_compressed", title="CDC, compressed", of=_compressed, aside=True),
        ELAPSED,
        Figure(name="host_busy", title="CPU busy", of=lambda run: run.host_busy, write=words.percent, aside=True),
        Figure(name="load1", title="load", of=lambda run: run.load1, write=words.figure, aside=True),
    ),
    sections=lambda result: [_ratios(result), _space(result), _load(result)],
    ceilings=("mb_per_s",),
    published=(
        _published("zeros", "zeros, 1 GB files, 3.8 TB", 1045.0),
        _published("random", "random, 1 GB files, 3.8 TB", 1.08),
        _published("scientific", "physics data sets, 4 TB", 1.07, "ours are generated and as compressible as such files"),
        _published("backups", "backups, several full and incremental, 2.8 TB", 2.8, "ours: four weeks, one full backup each"),
        _published("snapshots", "daily snapshots of virtual machines, 7 x 115 GB", 11.7, "ours are of nearly idle servers"),
    ),
    notes={"files": lambda run: run.files, "bytes": lambda run: run.bytes},
    wording=DedupWording,
    makers="writers",
)  # fmt: skip
