"""The report's colours, in light and dark, and how a figure's colours become the page's.

A figure is drawn once in the light colours (the PNG keeps them); in the page each colour is a CSS variable, so that one
figure serves light, dark and print. The first six series colours follow Okabe and Ito (Color Universal Design, 2008):
people with any of the three kinds of colour blindness can distinguish them. Six more follow for charts with many
series. Line styles differ as well.
"""

from __future__ import annotations

from dataclasses import dataclass


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
    """The light colour of a figure's n-th series; they repeat after twelve, with another line style."""
    return SERIES[number % len(SERIES)].light


def line_style(number: int) -> str:
    """The line style that belongs to the n-th series: neighbours differ even without colour."""
    return LINE_STYLES[(number + number // len(SERIES)) % len(LINE_STYLES)]


def marker(number: int) -> str:
    """The marker that belongs to the n-th series."""
    return MARKERS[number % len(MARKERS)]


def variables(dark: bool) -> str:
    """CSS declarations of every colour."""
    return "".join(f"--{colour.variable}:{colour.dark if dark else colour.light};" for colour in ALL)
