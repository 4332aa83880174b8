"""Regular expressions match the same text on every supported interpreter.

Before CPython 3.11.5 (gh-106052) a possessive repeat of a group (`(?:…)*+`, `(?:…)++`) keeps what its last, failing
iteration consumed: it matches wrongly, and words are lost without any exception. With a last branch that consumes
nothing and fails, `(?:…|(?!))*+`, the position is restored. Debian 12's Python is 3.11.2."""

import importlib
import pkgutil
import random
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["build-backend"]["module-name"]
_GROUP = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+")


_FAILING = {str(list(_parser.parse("(?!)"))), "[(ASSERT_NOT, (1, []))]", "[(FAILURE, ())]"}


def _unsafe(parsed: Any) -> Iterator[str]:
    """Possessive repeats of groups below a parsed pattern that do not end in a branch that fails."""
    for operation, argument in parsed:
        if operation is _constants.POSSESSIVE_REPEAT and not _compiler._simple(argument[2]):
            branches = argument[2][0][1][1] if argument[2][0][0] is _constants.BRANCH else [argument[2]]
            if not branches[-1] or str(list(branches[-1])) not in _FAILING:
                yield str(argument[2])
        yield from _below(argument)


def _below(argument: Any) -> Iterator[str]:
    if isinstance(argument, _parser.SubPattern):
        yield from _unsafe(argument)
    elif isinstance(argument, (list, tuple)):
        for inner in argument:
            yield from _below(inner)


def _patterns(values: Iterable[object]) -> Iterator[re.Pattern[Any]]:
    for value in values:
        if isinstance(value, re.Pattern):
            yield value
        elif isinstance(value, (list, tuple, set)):
            yield from _patterns(value)
        elif isinstance(value, dict):
            yield from _patterns(value.values())


def test_the_check_sees_an_unsafe_group() -> None:
    for pattern in (r"(?:ab?c)++", r"(?:a(?:bb|c)*+)?", r"(x|(?>(?:y|zz)*+))"):
        assert list(_unsafe(_parser.parse(pattern)))
    for pattern in (r"(?:ab?c|(?!))++", r"[^x]*+", r"(?:a(?:bb|c|(?!))*+)?"):
        assert not list(_unsafe(_parser.parse(pattern)))


@pytest.mark.parametrize("name", PRODUCT)
def test_possessive_groups_restore_the_position(name: str) -> None:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, f"{name}."):
        if not module.name.endswith("__main__"):
            for pattern in _patterns(vars(importlib.import_module(module.name)).values()):
                assert not list(_unsafe(_parser.parse(pattern.pattern, pattern.flags))), (module.name, pattern.pattern)
    for path in (ROOT / name).rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert all(line[: found.start()].endswith("(?!)") for found in _GROUP.finditer(line)), (path, line)


def test_a_branch_that_fails_makes_possessive_groups_atomic() -> None:
    chance = random.Random(5)

    def piece(depth: int) -> str:
        if depth == 0 or chance.random() < 0.5:
            return chance.choice(["a", "b", "c", "[ab]", "[^a]", "a?", "b*", "[ab]*+"])
        inner = "|".join(
            "".join(piece(depth - 1) for _ in range(chance.randint(1, 3))) for _ in range(chance.randint(1, 3))
        )
        return f"(?:{inner}){chance.choice(['', '*', '+', '?'])}"

    for _ in range(300):
        inner = "|".join("".join(piece(2) for _ in range(chance.randint(1, 3))) for _ in range(chance.randint(1, 3)))
        often, after = chance.choice("*+?"), chance.choice(["", "a", "b", "c"])
        written = re.compile(f"(?:{inner}|(?!)){often}+{after}")
        atomic = re.compile(f"(?>(?:{inner}){often}){after}")
        for _ in range(5):
            text = "".join(chance.choices("abc", k=chance.randint(0, 9)))
            assert [m.span() for m in written.finditer(text)] == [m.span() for m in atomic.finditer(text)], (
                written.pattern
            )
