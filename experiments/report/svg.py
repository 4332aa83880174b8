"""Converts a matplotlib figure to SVG inside the page and to a PNG file.

The same figure gives the same text on every run: identifiers come from a salt, not from chance, and there is no date.

The canvas is asked, not `savefig`: that draws a figure that has to be laid out twice, and only the second time into the file.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from experiments.report.markup import Html, escaped
from experiments.report.palette import ALL, PAPER
from experiments.report.plots import drawing

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
    """The figure as an `<svg>` element for the page; `name` makes its ids its own, `description` is read aloud."""
    out = io.StringIO()
    figure.set(facecolor="none", edgecolor="none")
    with drawing(), mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        FigureCanvasSVG(figure).print_svg(out, metadata={"Date": None})  # type: ignore[no-untyped-call]
    figure.set_layout_engine("none")  # it is laid out: the PNG is as the page
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
    """The figure as a PNG in the light colours. Raises OSError."""
    figure.set(facecolor=PAPER.light, dpi=PNG_DPI)
    with drawing():
        FigureCanvasAgg(figure).print_png(path, metadata={"Software": None})  # type: ignore[no-untyped-call]
