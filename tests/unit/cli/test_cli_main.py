"""The commands' names, help and exit statuses."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from cli.main import COMMANDS, FAILED, INTERRUPTED, OK, USAGE, _meaning, main
from core.errors import BrokerFault, Interrupted, RunFailed, UsageError

REPOSITORY = Path(__file__).parents[3]
NAMES = [function.__name__ for function, _ in COMMANDS]
GROUPS = ["experiment"]  # commands with commands below them
_MENTION = re.compile(r"\bedbench (?!COMMAND)([a-z]+)\b")


@pytest.mark.parametrize("name", NAMES)
def test_help_has_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command shows how it is used, and the example is a command line of that very command."""
    assert main([name, "--help"], {}) == OK
    shown = capsys.readouterr().out
    example = next(example for function, example in COMMANDS if function.__name__ == name)
    assert "Example:" in shown
    assert shlex.split(example)[:2] == ["edbench", name]


def test_the_readme_and_the_commands_agree() -> None:
    """Every command is in the README, and the README names none that does not exist."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL))
    assert set(_MENTION.findall(code)) == {*NAMES, *GROUPS}


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """`edbench` alone lists what it can do."""
    assert main([], {}) == OK
    shown = capsys.readouterr().out
    assert all(name in shown for name in (*NAMES, *GROUPS))


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """A bug report begins with it."""
    assert main(["--version"], {}) == OK
    assert re.fullmatch(r"edbench \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["nonsense"], "No such command"),
        (["discover"], "Missing argument"),
        (["discover", ".", "--workers", "0"], "--workers"),
        (["discover", "/no/such/directory"], "does not exist"),
        (["discover", ".", "--index-engine", "nope"], "--index-engine"),
        (["items", "x", "--jsonl", "--csv"], "exclude each other"),
        (["verify", "x", "--json", "/no/such/directory/file"], "does not exist"),
    ],
)
def test_usage_errors_are_one_line_and_status_2(argv: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong in one line on standard error, nothing on standard output, nothing started."""
    assert main(argv, {}) == USAGE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("edbench: ")
    assert says in shown.err
    assert shown.err.count("\n") == 1


def test_a_bad_variable_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Settings are checked with the variable's name."""
    assert main(["jobs"], {"EDBENCH_SLOTS": "many"}) == USAGE
    assert "EDBENCH_SLOTS" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("u"), USAGE),
        (RunFailed("r"), FAILED),
        (BrokerFault("b"), FAILED),
        (Interrupted("i"), INTERRUPTED),
        (KeyboardInterrupt(), INTERRUPTED),
        (PermissionError(13, "Permission denied", "/x"), FAILED),
        (ZeroDivisionError("z"), FAILED),
    ],
)
def test_endings_have_their_status(error: BaseException, status: int) -> None:
    """2 usage, 1 failed run, 130 interrupted; a bug of ours is named as such."""
    line, found = _meaning(error)
    assert found == status
    assert line
    if isinstance(error, ZeroDivisionError):
        assert "a bug" in line


def test_tracebacks_only_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    """EDBENCH_DEBUG=1 shows where an error came from."""
    assert main(["discover", "/no/such/directory"], {"EDBENCH_DEBUG": "1"}) == USAGE
    assert "Traceback" in capsys.readouterr().err
