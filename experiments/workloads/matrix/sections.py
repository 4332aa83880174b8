"""The sections of profile `matrix`: a heat map for each operation, and one of re-read ÷ read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from experiments.report import words
from experiments.report.parts import Cell, Plot, Section, Series, note
from experiments.report.plots import drawing, new_figure
from experiments.workloads.matrix.result import COARSE_S, OPS, MatrixPoint, MatrixResult, binary
from experiments.workloads.matrix.telling import CACHED, CACHED_COARSE, caches_said

_COLUMNS = 3
_DARK, _LIGHT = "#101317", "#fbfcfd"  # on light and on dark cells, in both modes of the page
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


def _panel(
    axes: Axes, values: Mapping[tuple[int, int], float], colours: LogNorm, write: Callable[[float], str]
) -> None:
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
