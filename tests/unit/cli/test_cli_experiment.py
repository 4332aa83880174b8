"""The commands of `edbench bench`."""

from __future__ import annotations

import pytest
from every_command import options

from cli.main import OK, USAGE, main
from cli.options import numbers
from core.errors import UsageError
from experiments.orders import DEFAULT_REPEATS

REPEATING = (
    *(("bench", name) for name in ("scale-up", "scale-out", "knee", "job-types", "day", "r1", "storage")),
    ("trace", "replay"),
)


@pytest.mark.parametrize("name", ["scale-up", "scale-out", "knee", "job-types", "day", "r1", "storage"])
def test_help_recommends_a_number_of_repeats(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", name, "--help"], {}) == OK
    assert "5 or more are recommended" in " ".join(capsys.readouterr().out.split())


def test_defaults_of_repeats_agree() -> None:
    """But for `bench plan`, which chooses the number by the time that there is."""
    defaults = {words: command["repeats"].default for words in REPEATING if (command := options(*words))}
    assert set(defaults.values()) == {DEFAULT_REPEATS}


def test_numbers_are_whole_and_at_least_one() -> None:
    """Lists of points are read as people write them; anything else names the option."""
    assert numbers("1, 2,8", "--workers") == [1, 2, 8]
    for wrong in ("", ",", "1,x", "1;2", "-1", "1.5", "9999"):
        with pytest.raises(UsageError, match="--workers"):
            numbers(wrong, "--workers")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["bench", "nonsense"], "No such command"),
        (["bench", "scale-up"], "Missing option"),
        (["bench", "scale-up", "--corpus", ".", "--repeats", "0"], "--repeats"),
        (["result", "compare", "/no/such/result"], "give a result.json"),
    ],
)
def test_usage_errors_are_one_line(argv: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 2 and a line that says what to do."""
    assert main(argv, {}) == USAGE
    assert says in capsys.readouterr().err
