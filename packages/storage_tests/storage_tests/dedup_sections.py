"""The report's own sections of profile `dedup`: what was expected and what the storage achieved, by type of data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from experiments.report import words
from experiments.report.parts import Cell, Column, Plot, Section, Series, note, tabled
from experiments.report.plots import drawing, legend_beside, new_figure, written
from experiments.report.style import series_colour
from experiments.report.views import middle, named
from storage_tests.dedup_data import CDC as CDC_BYTES
from storage_tests.dedup_data import FIXED, ratio_text

if TYPE_CHECKING:
    from storage_tests.dedup import DedupResult, DedupRun

CUTS = (*(f"{size >> 10}K" for size in FIXED), "CDC")


def sections(result: DedupResult) -> list[Section]:
    """In reading order."""
    return [_ratios(result), _space(result), _load(result)]


_Row = tuple[str, "DedupRun"]
_NAME: Column[_Row] = Column("data", "data", lambda row: row[0], text=True)


def _rows(result: DedupResult) -> list[_Row]:
    return [(named(point, result), middle(point.repeats)) for point in result.points]


def _of_cut(cut: str, row: _Row) -> float | None:
    return _expected(row[1], cut)


def _ratios(result: DedupResult) -> Section:
    def packed(run: DedupRun) -> float | None:
        cdc = run.cut("CDC")
        return None if cdc is None else cdc.with_compression

    columns: tuple[Column[_Row], ...] = (
        _NAME,
        *(Column(f"expected_{cut.lower()}", cut, partial(_of_cut, cut), ratio_text) for cut in CUTS),
        Column("expected_cdc_compressed", "CDC, compressed", lambda row: packed(row[1]), ratio_text),
        Column("storage", "the storage", lambda row: row[1].ratio, ratio_text, missing=ratio_text(None)),
        Column("stated", "it states", lambda row: row[1].stated, ratio_text, missing=""),
    )
    shown = tabled("ratios", columns, _rows(result))
    said = note(
        f"4K, 8K, 128K: chunks that begin at multiples of their size in each file. CDC: content-defined chunks of about"
        f" {CDC_BYTES >> 10} KiB (FastCDC). Compressed: each different chunk by itself with zlib. These are computed from the"
        " data, without the space that a storage needs to find chunks again. The storage: bytes written ÷ growth of the used"
        " space meanwhile, of all users; what it reduces later is not included."
    )
    return Section(anchor="ratios", title="Expected, and made by the storage", parts=(_plot(result), shown, said))


def _plot(result: DedupResult) -> Plot:
    """Ratios over several powers of ten: dots on a logarithmic axis."""
    rows = _rows(result)
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
    said = note(
        "Space is what the file system reports (statvfs) after a sync, or the storage's own command; by the files' blocks:"
        " what stat reports, which includes holes and, on some file systems, compression."
    )
    return Section(anchor="space", title="Space before and after", parts=(shown, said))


def _load(result: DedupResult) -> Section:
    columns: tuple[Column[_Row], ...] = (
        _NAME,
        Column("mb_per_s", "MB/s", lambda row: row[1].bytes / row[1].elapsed_s / 1e6, words.figure),
        Column("writers_cpu", "CPU, writers", lambda row: row[1].worker_cpu, words.percent),
        Column("host_busy", "CPU, all", lambda row: row[1].host_busy, words.percent),
        Column("load1", "load (1 min)", lambda row: row[1].load1, words.figure),
    )
    shown = tabled("load", columns, _rows(result))
    said = note(
        "Of this host, while it wrote. Report R5's loads (25 with random data, 10 with zeros) are those of the appliance, which cannot"
        " be observed from here; local storage uses the same CPU. Generating the data takes CPU time too: the"
        " null baseline shows how much can be generated at most."
    )
    return Section(anchor="load", title="Load and bandwidth", parts=(shown, said))
