"""Numbers on the command line: every option of every command that takes one, found by looking at the commands themselves."""

import functools
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from every_command import every_command
from typer.exceptions import TyperException

from cli.discover import refuse_scaling
from cli.main import USAGE, _meaning, main
from cli.options import numbers
from cli.tree import Registered
from core.errors import EdbenchError, UsageError
from core.settings import parse_bytes
from experiments.orders import DEFAULT_REPEATS

_KINDS = {"int", "float"}
_MOST_SHOWN = 300


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
                if status != USAGE or option.opts[0] not in line or "\n" in line or len(line) > _MOST_SHOWN:
                    taken.append((" ".join(words), argument, line[:_MOST_SHOWN]))
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
    ("options", "message"),
    [
        # Also a source of directories: a filer that is not mounted leaves such a one, and its job would be complete at once.
        ((), "contains no file"),
        (("--shard",), "--databases 2"),
        (("--source-copies",), "--databases 2"),
        (("--databases", "2", "--shard", "--source-copies"), "exclude each other"),
        (("--ocr-languages", "eng"), "requires --ocr"),
        (("--ocr", "--ocr-languages", "../eng"), "write eng or eng+deu"),
    ],
)
def test_they_are_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], message: str
) -> None:
    """Promise: exit status 2 and one line that says what to do; no services are started."""
    (tmp_path / "source" / "ann" / "mail").mkdir(parents=True)
    env = {"EDBENCH_SCRATCH": str(tmp_path / "scratch"), "EDBENCH_STORAGE": str(tmp_path / "storage")}
    assert main(["discover", str(tmp_path / "source"), *options], env) == USAGE
    error = capsys.readouterr().err
    assert (message in error, len(error.strip().splitlines())) == (True, 1), error
    assert not (tmp_path / "scratch").exists()


def test_workers_of_other_processes_are_not_counted_by_the_command() -> None:
    """Inside a container `--workers 6` would change nothing: it is refused, and so is `--slots`."""
    for workers, slots in ((6, None), (None, 2)):
        with pytest.raises(UsageError, match=r"does not start the workers .* edbench scale 6"):
            refuse_scaling(workers, slots)
    refuse_scaling(None, None)


def test_a_corpus_that_is_not_on_the_storage_under_test_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    storage = Path("/dev/shm")
    if not os.path.ismount(storage) or storage.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("/dev/shm is no file system of its own here")
    login = "postgresql+psycopg2://u:p@h/d"
    env = {"EDBENCH_DATABASES": f"db1={login}", "EDBENCH_BROKER": "redis://:p@h", "EDBENCH_STORAGE": str(storage)}
    assert main(["corpus", "generate", str(tmp_path / "corpus"), "--scale", "0.0001"], env) == USAGE
    error = capsys.readouterr().err
    assert "not on the storage under test (memory (tmpfs)" in error
    assert len(error.strip().splitlines()) == 1
    assert not (tmp_path / "corpus").exists()


def test_defaults_of_repeats_agree_and_their_help_recommends_a_number() -> None:
    repeats = [option for _, command in every_command() for option in command.params if option.name == "repeats"]
    assert {(option.default, option.help) for option in repeats} == {(DEFAULT_REPEATS, repeats[0].help)}
    assert "5 or more are recommended" in repeats[0].help
    assert len(repeats) >= 7


def test_numbers_are_whole_and_at_least_one() -> None:
    """Lists of points are read as people write them; anything else names the option."""
    assert numbers("1, 2,8", "--workers") == [1, 2, 8]
    for wrong in ("", ",", "1,x", "1;2", "-1", "1.5", "9999"):
        with pytest.raises(UsageError, match="--workers"):
            numbers(wrong, "--workers")
