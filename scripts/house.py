"""Print the size of the code base: `make house`. tests/unit/test_house.py has a bound for each figure that must not grow."""

from __future__ import annotations

import ast
import importlib.util
import re
import statistics
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MANY_PARAMETERS = 8
NO_BEGINNING = re.compile(  # of a docstring: what it is about comes later, or never
    r"(What|Of|Those|These|As|How|Where|When|Why|By|For|In|At|With|Which|So|From|To|Until|That|Without|It|Its|Their|If|Because"
    r"|Before|After|On|Not|Whatever|Whoever|Wherever|Once|Here|There|Into|Between|But|And|Since|While|Whose|Who|Raises)\b"
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def product(root: Path = ROOT) -> list[Path]:
    """Return modules that are installed: the packages of pyproject.toml and those of packages/, without their tests."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    packages = [root / name for name in project["tool"]["uv"]["build-backend"]["module-name"]]
    found = (path for folder in (*packages, root / "packages") for path in folder.rglob("*.py"))
    return sorted(set(found).difference(*of_tests(root).values()))


def of_tests(root: Path) -> dict[str, list[Path]]:
    """Return the modules of tests: those of each package, and all others."""
    folders = sorted(root.glob("packages/*/tests"))
    own = {f"tests of {folder.parent.name}": sorted(folder.rglob("*.py")) for folder in folders}
    return own | {"tests of the pipeline": sorted((root / "tests").rglob("*.py"))}


def lines(paths: Iterable[Path]) -> list[int]:
    """Return the number of lines of each file."""
    return [len(path.read_text(encoding="utf-8").splitlines()) for path in paths]


def figures(modules: list[Path], words: Any) -> dict[str, float]:
    """Return the figures of these modules by name; `words` is a compiled expression that finds the words to replace."""
    nodes = [node for path in modules for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    functions = [node for node in nodes if isinstance(node, Function)]
    lengths = [(node.end_lineno or 0) - node.lineno + 1 for node in functions]
    owners = [node for node in nodes if isinstance(node, Function | ast.ClassDef | ast.Module)]
    docstrings = [text for owner in owners if (text := ast.get_docstring(owner))]
    sizes = lines(modules)
    return {
        "product lines": sum(sizes),
        "product statements": sum(isinstance(node, ast.stmt) for node in nodes),
        "product modules": len(modules),
        "product folders": len({path.parent for path in modules}),
        "lines of a module, median": statistics.median(sizes),
        "lines of a module, largest": max(sizes),
        "functions": len(functions),
        "lines of a function, median": statistics.median(lengths),
        "lines of a function, 90th percentile": statistics.quantiles(lengths, n=10)[-1],
        "lines of a function, largest": max(lengths),
        f"functions with more than {MANY_PARAMETERS} parameters": sum(
            _parameters(f) > MANY_PARAMETERS for f in functions
        ),
        "docstrings": len(docstrings),
        "docstrings with a word to replace, %": 100 * statistics.fmean(bool(words.search(text)) for text in docstrings),
        "docstrings that begin with neither verb nor name, %": 100
        * statistics.fmean(bool(NO_BEGINNING.match(text)) for text in docstrings),
    }


def _parameters(function: Function) -> int:
    """Return the number of parameters, without `self` or `cls`."""
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg) if one]
    return len([name for name in names if name not in ("self", "cls")])


def words_to_replace() -> Any:
    """Return the expression of tests/unit/test_words.py, which lists the words."""
    spec = importlib.util.spec_from_file_location("test_words", ROOT / "tests" / "unit" / "test_words.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.WORDS


def house() -> Iterator[tuple[str, float]]:
    """Yield all figures: of the product, then the lines of what is not installed."""
    yield from figures(product(), words_to_replace()).items()
    for name, paths in of_tests(ROOT).items():
        yield f"{name}, lines", sum(lines(paths))
    yield "tests lines", sum(sum(lines(paths)) for paths in of_tests(ROOT).values())
    for folder in ("benchmarks", "scripts"):
        yield f"{folder} lines", sum(lines((ROOT / folder).rglob("*.py")))


if __name__ == "__main__":
    for name, value in house():
        print(f"{name:52}{value:>10,.1f}".removesuffix(".0"))
