"""The report's own sections of profile `dedup`: what was expected beside what the storage made, by type of data."""

from __future__ import annotations

from collections.abc import Callable

from experiments.report import words
from experiments.report.markup import table
from experiments.report.palette import series_colour
from experiments.report.parts import Cell, Plot, Section, Series, Tabled, note
from experiments.report.plots import drawing, legend_beside, new_figure, written
from experiments.report.views import middle, named
from experiments.workloads.dedup.chunks import CDC as CDC_BYTES
from experiments.workloads.dedup.chunks import FIXED
from experiments.workloads.dedup.result import DedupResult, DedupRun
from experiments.workloads.dedup.telling import ratio_text

CUTS = (*(f"{size >> 10}K" for size in FIXED), "CDC")


def sections(result: DedupResult) -> list[Section]:
    """In reading order."""
    return [_ratios(result), _space(result), _load(result)]


def _ratios(result: DedupResult) -> Section:
    shown, numbers = list[tuple[object, ...]](), list[tuple[Cell, ...]]()
    for point in result.points:
        run = middle(point.repeats)
        ours = [_expected(run, cut) for cut in CUTS]
        cdc = run.cut("CDC")
        packed = None if cdc is None else cdc.with_compression
        name = named(point, result)
        shown.append((name, *(ratio_text(one, "–") for one in ours), ratio_text(packed, "–"),
                      ratio_text(run.ratio), ratio_text(run.stated, "")))  # fmt: skip
        numbers.append((name, *ours, packed, run.ratio, run.stated))
    header = ("data", *CUTS, "CDC, compressed", "the storage", "it states")
    names = ("data", *(f"expected_{cut.lower()}" for cut in CUTS), "expected_cdc_compressed", "storage", "stated")
    tabled = Tabled(table=table(header, shown), series=Series(name="ratios", header=names, rows=tuple(numbers)))
    said = note(
        f"4K, 8K, 128K: chunks that begin at multiples of their size in each file. CDC: content-defined chunks of about"
        f" {CDC_BYTES >> 10} KiB (FastCDC). Compressed: each different chunk by itself with zlib. These are computed from the"
        " data, without the space that a storage needs to find chunks again. The storage: bytes written ÷ growth of the used"
        " space meanwhile, of all users; what it reduces later is not included."
    )
    return Section(anchor="ratios", title="Expected, and made by the storage", parts=(_plot(result), tabled, said))


def _plot(result: DedupResult) -> Plot:
    """Ratios over several powers of ten: dots on a logarithmic axis."""
    rows = [(named(point, result), middle(point.repeats)) for point in result.points]
    marks: list[tuple[str, str, Callable[[DedupRun], float | None]]] = [("4K fixed", "s", lambda run: _expected(run, "4K")), ("128K fixed", "D", lambda run: _expected(run, "128K")),
             ("content-defined", "o", lambda run: _expected(run, "CDC")), ("the storage", "*", lambda run: run.ratio)]  # fmt: skip
    numbers: list[tuple[Cell, ...]] = []
    with drawing():
        figure, (axes,) = new_figure(height=1.2 + 0.42 * len(rows))
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
        legend_beside(axes)
    far = [name for name, run in rows if (cdc := _expected(run, "CDC")) and run.ratio and run.ratio < cdc / 2]
    sentence = (
        f"Under half of what content-defined chunks can make: {words.listed(far)}." if far
        else "Nowhere under half of what content-defined chunks can make, where the storage reports it."
    )  # fmt: skip
    return Plot(name="reduction", figure=figure, sentence=sentence,
                series=Series(name="reduction", header=("data", "by", "ratio"), rows=tuple(numbers)))  # fmt: skip


def _expected(run: DedupRun, cut: str) -> float | None:
    one = run.cut(cut)
    return None if one is None else one.ratio


def _space(result: DedupResult) -> Section:
    shown, numbers = list[tuple[object, ...]](), list[tuple[Cell, ...]]()
    for point in result.points:
        run = middle(point.repeats)
        took = "not known" if run.used_bytes is None else words.size(max(0, run.used_bytes))
        reduced = "" if run.reduce_s is None else words.seconds(run.reduce_s)
        name = named(point, result)
        shown.append((name, words.count(run.files), words.size(run.bytes), ratio_text(run.allocated_ratio),
                      ratio_text(run.written_ratio), reduced, took, ratio_text(run.ratio)))  # fmt: skip
        numbers.append((name, run.files, run.bytes, run.allocated_ratio, run.written_ratio, run.reduce_s, run.used_bytes,
                        run.ratio))  # fmt: skip
    header = (
        "data",
        "files",
        "written",
        "by the files' blocks",
        "when written",
        "reducing took",
        "space at the end",
        "at the end",
    )
    names = ("data", "files", "bytes", "ratio_by_blocks", "ratio_when_written", "reduce_s", "used_bytes", "ratio")
    tabled = Tabled(table=table(header, shown), series=Series(name="space", header=names, rows=tuple(numbers)))
    said = note(
        "Space is what the file system reports (statvfs) after a sync, or the storage's own command; by the files' blocks:"
        " what stat reports, which includes holes and, on some file systems, compression."
    )
    return Section(anchor="space", title="Space before and after", parts=(tabled, said))


def _load(result: DedupResult) -> Section:
    shown, numbers = list[tuple[object, ...]](), list[tuple[Cell, ...]]()
    for point in result.points:
        run = middle(point.repeats)
        rate = run.bytes / run.elapsed_s / 1e6
        name = named(point, result)
        shown.append(
            (
                name,
                words.figure(rate),
                words.percent(run.worker_cpu),
                words.percent(run.host_busy),
                words.figure(run.load1),
            )
        )
        numbers.append((name, rate, run.worker_cpu, run.host_busy, run.load1))
    header = ("data", "MB/s", "CPU, writers", "CPU, all", "load (1 min)")
    names = ("data", "mb_per_s", "writers_cpu", "host_busy", "load1")
    tabled = Tabled(table=table(header, shown), series=Series(name="load", header=names, rows=tuple(numbers)))
    said = note(
        "Of this host, while it wrote. Report R5's loads (25 with random data, 10 with zeros) are those of the appliance, which cannot"
        " be observed from here; local storage uses the same CPU. Generating the data takes CPU time too: the"
        " null baseline shows how much can be generated at most."
    )
    return Section(anchor="load", title="Load and bandwidth", parts=(tabled, said))
