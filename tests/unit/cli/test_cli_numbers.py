"""Numbers on the command line: every option of every command that takes one, found by looking at the commands themselves."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from every_command import every_command
from typer.exceptions import TyperException

from cli.main import USAGE, _meaning, main
from cli.tree import Registered
from core.errors import EdbenchError, UsageError
from core.settings import parse_bytes

_KINDS = {"int", "float"}
_MOST_SAID = 300


@functools.cache
def _numbers() -> tuple[tuple[tuple[str, ...], Any, Any], ...]:
    """Of each command the options that are numbers."""
    return tuple(
        (words, command, option)
        for words, command in every_command()
        for option in command.params
        if option.type.name.partition(" ")[0] in _KINDS
    )


def _outside(kind: Any) -> Iterator[str]:
    """What is no such number, or just beyond its bounds."""
    yield from ("nan", "inf", "-inf", "1e999", "-1e999", "9" * 100, f"-{'9' * 100}", "", "one", "0x10", "1;2")
    if kind.name.startswith("float"):
        yield from (repr(math.nextafter(kind.min, -math.inf)), repr(math.nextafter(kind.max, math.inf)))
    else:
        yield from (str(kind.min - 1), str(kind.max + 1), "1.5")


def test_commands_take_numbers_of_both_kinds() -> None:
    found = {(words, option.opts[0], option.type.name.partition(" ")[0]) for words, _, option in _numbers()}
    assert {(("corpus", "generate"), "--scale", "float"), (("corpus", "generate"), "--seed", "int")} <= found
    assert {(("bench", "knee"), "--wait", "float"), (("bench", "storage"), "--scale", "float")} <= found
    assert len(found) > 60


def test_every_number_has_a_least_and_a_most() -> None:
    open_ended = [
        (" ".join(words), option.opts[0])
        for words, _, option in _numbers()
        if not all(isinstance(getattr(option.type, end, None), int | float) for end in ("min", "max"))
    ]
    assert open_ended == []


def test_every_number_that_makes_no_sense_is_refused_in_one_line() -> None:
    """Named by its option, with exit status 2, before anything is looked at: also `nan`, which is in every range."""
    taken = []
    for words, command, option in _numbers():
        for value in _outside(option.type):
            argument = f"{option.opts[0]}={value}"
            try:
                command.make_context(words[-1], [argument])
            except (EdbenchError, TyperException) as error:
                line, status = _meaning(error)
                if status != USAGE or option.opts[0] not in line or "\n" in line or len(line) > _MOST_SAID:
                    taken.append((" ".join(words), argument, line[:_MOST_SAID]))
            else:
                taken.append((" ".join(words), argument, "was taken"))
    assert taken == []


def test_what_is_within_is_taken() -> None:
    for words, command, option in _numbers():
        for value in (option.type.min, option.type.max):
            taken = option.process_value(typer.Context(command), repr(value))
            assert taken == value, (words, option.opts[0])


def _counting(_ctx: typer.Context, much: float = 1.0) -> None:
    """Takes a number without any bounds."""


def test_a_number_without_bounds_is_finite_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    command = Registered("count", _counting, "edbench count", (), {}).load()
    assert command.make_context("count", ["--much=1e300"]).params["much"] == 1e300
    for value in ("nan", "inf", "-inf"):
        with pytest.raises(UsageError, match=rf"^--much is {value}; give a finite number$") as refused:
            command.make_context("count", [f"--much={value}"])
        assert refused.value.field == "much"
    assert main(["review", "near-dup", "last", "--threshold", "nan"], {}) == USAGE
    assert capsys.readouterr().err == "edbench: --threshold is nan; give a finite number\n"


@pytest.mark.parametrize("text", ["999999999999999TB", "9223373TB", "1e3GB", "nanGB", "-1GB", "infB", "1 000GB", "GB"])
def test_sizes_are_held_to_what_can_be_counted(text: str) -> None:
    with pytest.raises(UsageError, match="--filer-cache"):
        parse_bytes(text, "--filer-cache")
    assert parse_bytes("9223372TB", "x") < 1 << 63


@pytest.mark.parametrize(
    ("argv", "option"),
    [
        (["bench", "plan", "--filer-cache", "1e99TB"], "--filer-cache"),
        (["bench", "plan", "--filer-cache", "0B", "--client-memory", "999999999999999TB"], "--client-memory"),
        (["bench", "plan", "--filer-cache", "0B", "--workers=-1"], "--workers"),
        (["bench", "r1", "--corpus", "c", "--workers", "30,10"], "--workers"),
        (["bench", "r1", "--corpus", "c", "--workers", "10"], "--workers"),
        (["corpus", "profiles", "reference", "--scale", "1e300"], "--scale"),
    ],
)
def test_numbers_in_texts_are_refused_by_their_options(
    argv: list[str], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv, {}) == USAGE
    said = capsys.readouterr().err
    assert option in said
    assert len(said.splitlines()) == 1
