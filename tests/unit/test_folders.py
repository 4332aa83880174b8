"""A folder fits on one page."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ROOMS = [name.rstrip("*") for name in PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]]
_MOST = 34  # modules in one folder, `__init__` included: cli/ has one per command group and a few they share


def test_no_folder_has_too_many_modules() -> None:
    """What is found by reading a list is found at a glance; the tests are held to it as the product is."""
    modules = (
        path for room in (*ROOMS, "plugins", "tests", "benchmarks", "scripts") for path in (ROOT / room).rglob("*.py")
    )
    sizes = Counter(str(path.parent.relative_to(ROOT)) for path in modules)
    assert "tests/unit/formats" in sizes
    assert {folder: size for folder, size in sizes.items() if size > _MOST} == {}
