"""Static files: the house palette, nothing from elsewhere, small, and packaged."""

import itertools
import math
import re
from pathlib import Path

import pytest

from experiments.report.style import SERIES, variables
from web.app import STATIC

FILES = sorted(path for path in STATIC.rglob("*") if path.is_file())
FIRST_LOAD = 200_000  # bytes, of everything together; a page needs only some of it


def test_the_palette_is_that_of_the_reports() -> None:
    text = re.sub(r"\s", "", (STATIC / "palette.css").read_text())
    light, dark = text.split("@mediascreenand(prefers-color-scheme:dark)")
    assert variables(dark=False) in light
    assert variables(dark=True) in dark


@pytest.mark.parametrize("dark", [False, True])
def test_twelve_series_have_colours_that_differ(dark: bool) -> None:
    """By more than a shade: the distance is that of the channels, of which each has 256 levels."""
    rgb = [[int((colour.dark if dark else colour.light)[n : n + 2], 16) for n in (1, 3, 5)] for colour in SERIES]
    assert len(rgb) == 12
    pairs = itertools.combinations(rgb, 2)
    assert min(math.dist(one, other) for one, other in pairs) > 45


@pytest.mark.parametrize("path", [p for p in FILES if p.suffix in (".css", ".js")], ids=lambda path: path.name)
def test_nothing_is_asked_from_elsewhere(path: Path) -> None:
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    assert not re.search(r"https?://|@import|\beval\(|new Function\(", text)


@pytest.mark.parametrize("path", [p for p in FILES if p.parent.name == "js"], ids=lambda path: path.name)
def test_scripts_never_make_markup_of_text(path: Path) -> None:
    assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|outerHTML\s*=[^=]", path.read_text())


def test_all_of_it_together_is_a_small_first_load() -> None:
    assert sum(path.stat().st_size for path in FILES) < FIRST_LOAD


def test_uplot_comes_with_its_licence() -> None:
    assert "MIT" in (STATIC / "vendor/uPlot.LICENSE").read_text()
