"""The code base stops growing. The bounds are loose: none is a reason to split, join or shorten a single file.

A module is a concept that a reader looks for by name; a new file has two users or a public concept. A function is
extracted when it has a second caller, a name that says more than its body, or a test of its own. A package of any
number of modules is fine. Lower a bound when the figure is far below it; raise one where a feature needs the room and
the commit message says why."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import house

BOUNDS = {
    "product lines": 131_100,
    "product statements": 86_000,
    "product modules": 760,
    "product folders": 100,
    "lines of a module, largest": 850,
    "lines of a function, 90th percentile": 30,
    "lines of a function, largest": 150,
    "functions with more than 8 parameters": 10,
    "docstrings with a word to replace, %": 2,
    "docstrings that begin with neither verb nor name, %": 2,
    "tests lines": 87_000,
    "benchmarks lines": 3_000,
    "scripts lines": 1_500,
}
EXAMPLE = '''"""Told."""


class A:
    def method(self, a, b, c, d, e, f, g, /, *rest):
        """Print it."""
        return a


def few(*, a): pass
'''


@pytest.fixture(scope="module")
def measured() -> dict[str, float]:
    return dict(house.house())


@pytest.mark.parametrize("figure", BOUNDS)
def test_the_code_base_does_not_grow(figure: str, measured: dict[str, float]) -> None:
    assert measured[figure] <= BOUNDS[figure]


def test_figures_of_an_example(tmp_path: Path) -> None:
    """Eight parameters are not too many; `self` is none, `*rest` is one."""
    (tmp_path / "a.py").write_text(EXAMPLE)
    (tmp_path / "b.py").write_text("x = 1\n")
    found = house.figures([tmp_path / "a.py", tmp_path / "b.py"], re.compile("[Tt]old"))
    assert (found["product lines"], found["product statements"], found["product folders"]) == (11, 8, 1)
    assert (found["functions"], found["lines of a function, largest"], found["lines of a module, median"]) == (
        2,
        3,
        5.5,
    )
    assert found["functions with more than 8 parameters"] == 0
    assert (found["docstrings"], found["docstrings with a word to replace, %"]) == (2, 50)
    assert found["docstrings that begin with neither verb nor name, %"] == 0
    (tmp_path / "a.py").write_text(EXAMPLE.replace("*rest", "*rest, h").replace("Print it.", "What it prints."))
    found = house.figures([tmp_path / "a.py"], re.compile("x"))
    assert found["functions with more than 8 parameters"] == 1
    assert found["docstrings that begin with neither verb nor name, %"] == 50


def test_the_product_is_what_is_installed() -> None:
    product = house.product()
    tops = {path.relative_to(house.ROOT).parts[0] for path in product}
    assert not {path for path in product if "tests" in path.relative_to(house.ROOT).parts}
    assert {"core", "worker", "packages", "cli"} <= tops
    assert not {"tests", "benchmarks", "scripts"} & tops
