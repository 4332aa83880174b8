"""The report's colours and style sheet: light, dark and print from one set of variables.

A figure is drawn once in the light colours (the PNG keeps them); in the page each colour is a CSS variable, so that one
figure serves light, dark and print. The first six series colours follow Okabe and Ito (Color Universal Design, 2008):
people with any of the three kinds of colour blindness can distinguish them. Six more follow for charts with many
series. Line styles differ as well."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.report.parts import Html, tag


@dataclass(frozen=True, slots=True)
class Colour:
    """A colour of the report under its CSS variable."""

    variable: str
    light: str
    dark: str


INK = Colour("ink", "#1b1e23", "#e8eaed")
FAINT = Colour("faint", "#5c6370", "#a3abb8")
GRID = Colour("grid", "#dfe3e8", "#363c46")
PAPER = Colour("paper", "#ffffff", "#15181d")
PANEL = Colour("panel", "#f5f7f9", "#1d2128")
WARN = Colour("warn", "#8a2d00", "#ffb08a")

SERIES = (
    Colour("s0", "#0072b2", "#56b4e9"),
    Colour("s1", "#d55e00", "#ff8c42"),
    Colour("s2", "#009e73", "#3ccfa4"),
    Colour("s3", "#b5548d", "#e6a3cb"),
    Colour("s4", "#c98a00", "#f0c04a"),
    Colour("s5", "#7a7f87", "#c3c9d2"),
    Colour("s6", "#5a3fb0", "#ab9cf7"),
    Colour("s7", "#7a4a2b", "#c99b7a"),
    Colour("s8", "#00a3c4", "#00c8e0"),
    Colour("s9", "#6f8f00", "#a9c92f"),
    Colour("s10", "#a3121f", "#ff6f6f"),
    Colour("s11", "#22272e", "#ffffff"),
)
LINE_STYLES: tuple[str, ...] = ("-", "--", "-.", ":")
MARKERS: tuple[str, ...] = ("o", "s", "^", "D", "v", "P")

ALL = (INK, FAINT, GRID, PAPER, PANEL, WARN, *SERIES)


def series_colour(number: int) -> str:
    """Return the light colour of a figure's n-th series; they repeat after twelve, with another line style."""
    return SERIES[number % len(SERIES)].light


def line_style(number: int) -> str:
    """Return the line style of the n-th series: neighbours differ even without colour."""
    return LINE_STYLES[(number + number // len(SERIES)) % len(LINE_STYLES)]


def marker(number: int) -> str:
    """Return the marker of the n-th series."""
    return MARKERS[number % len(MARKERS)]


def variables(dark: bool) -> str:
    """Return CSS declarations of every colour."""
    return "".join(f"--{colour.variable}:{colour.dark if dark else colour.light};" for colour in ALL)


_RULES = """
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem 1.25rem 4rem;max-width:60rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI","Helvetica Neue",Arial,sans-serif}
.verdict{font-size:1.3rem;font-weight:650;line-height:1.35;margin:0 0 1rem;padding:.9rem 1.1rem;background:var(--panel);
border-left:.35rem solid var(--s0);overflow-wrap:anywhere}
.verdict.doubt{border-left-color:var(--s1)}
h1{font-size:1.15rem;font-weight:600;margin:0 0 .3rem}
h2{font-size:1.25rem;margin:2.6rem 0 .6rem;padding-top:.8rem;border-top:1px solid var(--grid)}
p{margin:.5rem 0}
.note,.missing,.facts,figcaption .file{color:var(--faint);font-size:.875rem}
.missing{font-style:italic}
.warnings{border:1px solid var(--s1);padding:.3rem 1rem .5rem;margin:1rem 0}
.warnings h2{border:0;margin:.3rem 0 0;padding:0;font-size:1rem;color:var(--warn)}
ul{margin:.3rem 0;padding-left:1.2rem}
nav{font-size:.875rem;margin:1rem 0}
nav a{margin-right:.9rem;display:inline-block}
a{color:var(--s0)}
figure{margin:1rem 0 1.4rem}
figure svg{display:block;max-width:100%;height:auto}
figure svg text{font-family:system-ui,-apple-system,"Segoe UI","Helvetica Neue",Arial,"DejaVu Sans",sans-serif!important}
figcaption{margin-top:.35rem}
.table{overflow-x:auto;margin:.8rem 0}
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.2rem .6rem .3rem 0}
th,td{text-align:left;padding:.28rem .7rem;border-bottom:1px solid var(--grid);vertical-align:top}
th{font-weight:600;border-bottom-color:var(--faint)}
td{overflow-wrap:break-word}
.number{text-align:right}
.interval{display:block;color:var(--faint);font-size:.8rem}
td.number{white-space:nowrap}
tr.marked td{background:var(--panel)}
table.wide{font-size:.78rem}
table.wide th,table.wide td{padding:.28rem .38rem}
code{font-size:.92em}
@media screen and (max-width:40rem){
body{padding:1rem .75rem 3rem}
.verdict{font-size:1.05rem}
figure{overflow-x:auto}
figure svg{max-width:none;min-width:34rem}
figcaption{position:sticky;left:0}
}
@media print{
body{max-width:none;padding:0;font-size:10pt}
nav{display:none}
figure,tr,.warnings,.verdict{break-inside:avoid}
h2,caption{break-after:avoid}
.table{overflow:visible}
table{font-size:8pt}
th,td{padding:.15rem .35rem}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
@page{size:A4;margin:15mm}
}
"""


def document(title: str, *body: Html) -> str:
    """Return a self-contained page, well-formed as XML and as HTML: the style sheet has neither `<` nor `&`."""
    sheet = (
        f":root{{color-scheme:light dark;{variables(dark=False)}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{variables(dark=True)}}}}}{_RULES}"
    )
    head = tag(
        "head",
        Html('<meta charset="utf-8"/>'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1"/>'),
        tag("title", title),
        tag("style", Html(sheet)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', *body), lang='en')}\n"
