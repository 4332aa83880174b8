"""The commands of `edbench experiment`."""

from __future__ import annotations

import shlex

import pytest

from cli.experiments.group import EXPERIMENTS
from cli.main import OK, USAGE, main
from cli.options import numbers
from core.errors import UsageError


@pytest.mark.parametrize("name", [name for name, _, _ in EXPERIMENTS])
def test_help_has_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every experiment shows how it is used, and says what is recommended for repeats."""
    assert main(["experiment", name, "--help"], {}) == OK
    shown = capsys.readouterr().out
    example = next(example for known, _, example in EXPERIMENTS if known == name)
    assert shlex.split(example)[:3] == ["edbench", "experiment", name]
    assert "Example:" in shown
    assert "5 or more are recommended" in " ".join(shown.split())


def test_numbers_are_whole_and_at_least_one() -> None:
    """Lists of points are read as people write them; anything else names the option."""
    assert numbers("1, 2,8", "--workers") == [1, 2, 8]
    for wrong in ("", ",", "1,x", "1;2", "-1", "1.5", "9999"):
        with pytest.raises(UsageError, match="--workers"):
            numbers(wrong, "--workers")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["experiment", "nonsense"], "No such command"),
        (["experiment", "scale-up"], "Missing option"),
        (["experiment", "scale-up", "--corpus", ".", "--repeats", "0"], "--repeats"),
        (["compare", "/no/such/result"], "give a result.json"),
    ],
)
def test_usage_errors_are_one_line(argv: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 2 and a line that says what to do."""
    assert main(argv, {}) == USAGE
    assert says in capsys.readouterr().err
