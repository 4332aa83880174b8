"""Drawing and writing of the report's figures: one size, one type, labels with units, no display needed.

A figure becomes SVG inside the page and a PNG file. The same figure gives the same text on every run: identifiers come
from a salt, not from chance, and there is no date. The canvas is asked, not `savefig`: that draws a figure that has to
be laid out twice, and only the second time into the file."""

from __future__ import annotations

import functools
import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.report.parts import Html, escaped
from experiments.report.style import ALL, FAINT, GRID, INK, PAPER, line_style, marker, series_colour

if TYPE_CHECKING:  # half a second to import: only where something is drawn
    from matplotlib.axes import Axes as Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType
else:  # for annotations elsewhere
    Axes = Any

WIDTH = 9.2  # inches
HEIGHT = 3.1
MOST_DRAWN = 600  # samples of a line: about one for each pixel
_STYLE: dict[RcKeyType, Any] = {
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans", "Helvetica", "Arial"],
    "font.size": 9.0,
    "text.parse_math": False,  # a name with two dollar signs is a name
    "text.color": INK.light,
    "axes.edgecolor": FAINT.light,
    "axes.labelcolor": INK.light,
    "axes.titlecolor": INK.light,
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID.light,
    "grid.linewidth": 0.6,
    "xtick.color": FAINT.light,
    "ytick.color": FAINT.light,
    "xtick.labelcolor": INK.light,
    "ytick.labelcolor": INK.light,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "figure.facecolor": PAPER.light,
}


@functools.cache
def _parameters() -> dict[RcKeyType, Any]:
    """Return every parameter except the backend: matplotlib's defaults, then our style. matplotlib checks and sorts all
    of them each time one is read: doing this for every figure took a tenth of drawing."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        found: dict[RcKeyType, Any] = dict(mpl.rcParams.copy())
    found.pop("backend", None)
    return found


@contextmanager
def drawing() -> Iterator[None]:
    """Apply the report's style; restore the caller's matplotlib settings afterwards."""
    import matplotlib as mpl

    with mpl.rc_context(_parameters()):
        yield


@contextmanager
def figure_of(
    columns: int = 1, rows: int = 1, *, height: float = HEIGHT, share_x: bool = False, share_y: bool = False
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield a figure of the report's width with its axes in reading order, to be drawn in the report's style inside the
    block."""
    from matplotlib.figure import Figure

    with drawing():
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False, sharex=share_x, sharey=share_y)
        yield figure, [axes for line in grid for axes in line]


def from_zero(axes: Axes, *, whole: bool = False) -> None:
    """Let the y axis start at zero, with plain numbers and thousands separators; `whole`: it counts something."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    top = float(axes.dataLim.y1)
    axes.set_ylim(0, top * 1.08 if top > 0 and math.isfinite(top) else 1)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10], integer=whole))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))


def written(
    axis: Axis, write: Callable[[float], str], *, most: int | None = None, subs: Sequence[float] = (1.0,)
) -> None:
    """Write the major ticks of an axis with `write` and no minor ones. `most`: of a logarithmic one, at most so many
    ticks, at these multiples of powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if most is not None:
        axis.set_major_locator(LogLocator(base=10, subs=subs, numticks=most))
    axis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))
    axis.set_minor_formatter(NullFormatter())


def plain(value: float) -> str:
    """Write 12000 as 12,000 and 0.25 as 0.25: no exponent and no float noise."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.6g}"


def counts_on_x(axes: Axes, values: Sequence[int], label: str) -> None:
    """Set exactly the given counts as ticks of the x axis."""
    ticks = sorted(set(values))
    axes.set_xticks(ticks, _apart(ticks))
    axes.set_xlabel(label)
    room = 0.06 * max(1, ticks[-1] - ticks[0])
    axes.set_xlim(ticks[0] - room if len(ticks) > 1 else ticks[0] - 1, ticks[-1] + (room if len(ticks) > 1 else 1))


def _apart(ticks: Sequence[int]) -> list[str]:
    """Return labels of the ticks; one that would touch the previous label is left out."""
    labels, labelled = [], ticks[0] - (ticks[-1] - ticks[0])
    for tick in ticks:
        clear = tick == ticks[0] or tick - labelled >= 0.045 * (ticks[-1] - ticks[0])
        labels.append(str(tick) if clear else "")
        labelled = tick if clear else labelled
    return labels


def time_unit(seconds: float) -> tuple[float, str]:
    """Return the seconds in one unit of a time axis of that length, and the unit's name."""
    for length, name in ((3600.0, "hours"), (60.0, "minutes")):
        if seconds > 3 * length:
            return length, name
    return 1.0, "seconds"


def draw_line(axes: Axes, samples: Sequence[tuple[float, float]], number: int, label: str, length: float) -> None:
    """Draw the n-th line over time, seconds in units of `length`; a line too short to be seen gets dots.

    A long one is drawn from means of neighbours, or the page of a day's run would be megabytes; the CSV has it all."""
    shown = thinned(samples)
    axes.plot(
        [at / length for at, _ in shown],
        [value for _, value in shown],
        color=series_colour(number),
        linestyle=line_style(number),
        marker=marker(number) if len(shown) <= 3 else None,
        markersize=4,
        label=label,
    )


def thinned(samples: Sequence[tuple[float, float]], most: int = MOST_DRAWN) -> list[tuple[float, float]]:
    """Return at most so many samples, each the mean of as many neighbours; the last one has the remaining samples."""
    size = -(-len(samples) // most) if samples else 1
    groups = [samples[start : start + size] for start in range(0, len(samples), size)]
    return [(sum(at for at, _ in group) / len(group), sum(v for _, v in group) / len(group)) for group in groups]


def over_time(axes: Axes, unit: str, label: str, *, start: str = "the first claim") -> None:
    """Set up axes of lines over time: the time since a start, and a count from zero."""
    axes.set_xlabel(f"time since {start} ({unit})")
    axes.set_ylabel(label)
    axes.set_xlim(left=0)
    from_zero(axes)


def legend_right(axes: Axes) -> None:
    """Place the legend to the right of the plot, where it hides no data."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), alignment="left", borderaxespad=0.2)


PNG_DPI = 160
_ID = re.compile(r'\bid="([^"]+)"')
_REFERENCE = re.compile(r'(?:xlink:)?href="#([^"]+)"')
_URL = re.compile(r"url\(#([^)]+)\)")
_PROLOGUE = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_OPENING = re.compile(r"<svg[^>]*>")
_VIEW_BOX = re.compile(r'viewBox="([^"]+)"')
_COMMENT = re.compile(r"\s*<!--.*?-->", re.DOTALL)


def figure_svg(figure: Figure, name: str, description: str) -> Html:
    """Return the figure as an `<svg>` element for the page; `name` makes its ids unique, `description` is for screen
    readers."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    out = io.StringIO()
    figure.set(facecolor="none", edgecolor="none")
    with drawing(), mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        FigureCanvasSVG(figure).print_svg(out, metadata={"Date": None})  # type: ignore[no-untyped-call]
    figure.set_layout_engine("none")  # already laid out: the PNG has the same layout as the page
    text = _COMMENT.sub("", _METADATA.sub("", _PROLOGUE.sub("", out.getvalue())))
    text = _ID.sub(lambda m: f'id="{name}-{m[1]}"', text)
    text = _REFERENCE.sub(lambda m: f'href="#{name}-{m[1]}"', text)
    text = _URL.sub(lambda m: f"url(#{name}-{m[1]})", text)
    for colour in ALL:
        text = text.replace(colour.light, f"var(--{colour.variable})")
    box = _VIEW_BOX.search(text)
    if box is None:
        raise ValueError("matplotlib wrote an SVG without viewBox")
    width = float(box[1].split()[2])
    opening = f'<svg viewBox="{box[1]}" width="{width * 96 / 72:.0f}" role="img" aria-label="{escaped(description)}">'
    return Html(_OPENING.sub(lambda _: opening, text, count=1).strip())


def write_png(figure: Figure, path: Path) -> None:
    """Write the figure as a PNG in the light colours. Raises OSError."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure.set(facecolor=PAPER.light, dpi=PNG_DPI)
    with drawing():
        FigureCanvasAgg(figure).print_png(path, metadata={"Software": None})  # type: ignore[no-untyped-call]
