"""What the product imports is what pyproject.toml names, and not what something else happens to bring along."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = [ROOT, *(file.parent for file in ROOT.glob("packages/*/pyproject.toml"))]
PROJECTS = {place: tomllib.loads((place / "pyproject.toml").read_text(encoding="utf-8")) for place in PLACES}
PACKAGES = {
    place: {name.rstrip("*") for name in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    for place, project in PROJECTS.items()
}
LATER = {"compression"}  # in the standard library from 3.14 on; before, a package that is named


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _typing_only(tree: ast.AST) -> set[ast.AST]:
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    return {inner for block in blocks for statement in block.body for inner in ast.walk(statement)}


def _imported(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    left_out = _typing_only(tree)
    found = set()
    for node in ast.walk(tree):
        if node in left_out:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_every_import_is_declared(place: Path) -> None:
    """A package that arrives only through another one goes when that one no longer needs it."""
    named = {_plain(re.split(r"[\[<>=~;! ]", line)[0]) for line in PROJECTS[place]["project"]["dependencies"]}
    ours = PACKAGES[place].union(*(PACKAGES[other] for other in PLACES if PROJECTS[other]["project"]["name"] in named))
    distributions = packages_distributions()
    missing = {
        f"{path.relative_to(ROOT)}: {module}"
        for package in PACKAGES[place]
        for path in (place / package).rglob("*.py")
        for module in _imported(path) - ours - sys.stdlib_module_names - LATER
        if not named & {_plain(name) for name in distributions.get(module, [])}
    }
    assert missing == set()
