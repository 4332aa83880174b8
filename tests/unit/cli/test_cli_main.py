"""The commands' names, help and exit statuses."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cli.commands import COMMANDS
from cli.main import FAILED, INTERRUPTED, OK, USAGE, _meaning, main
from cli.on_demand import LazyCommand, load
from core.errors import BrokerFault, Interrupted, RunFailed, UsageError

REPOSITORY = Path(__file__).parents[3]
NAMES = [entry.name for entry in COMMANDS]
# Packages that take long to import and that listing and following jobs can do without.
HEAVY = ("alembic", "docker", "matplotlib", "mimesis", "numpy", "pyarrow", "reportlab", "tantivy", "whoosh")
_MENTION = re.compile(r"\bedbench (?!COMMAND)([a-z]+(?:-[a-z]+)*)\b")


@pytest.mark.parametrize("entry", [entry for entry in COMMANDS if not entry.group], ids=lambda entry: entry.name)
def test_help_has_an_example(entry: LazyCommand, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command shows how it is used, and the example is a command line of that very command."""
    assert main([entry.name, "--help"], {}) == OK
    assert "Example:" in capsys.readouterr().out
    assert shlex.split(entry.example)[:2] == ["edbench", entry.name]


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_the_list_says_what_the_command_says(entry: LazyCommand) -> None:
    """The help that stands in the table, so that nothing need be imported, is the command's own."""
    own = str(load(entry).help).partition("\n\n")[0]
    assert " ".join(own.split()) == entry.help


def _imported_by(code: str) -> set[str]:
    """Top-level packages that a fresh interpreter has after this code."""
    show = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    ended = subprocess.run(
        [sys.executable, "-c", f"{code}\n{show}"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    return set(ended.stdout.splitlines()[-1].split())


def test_the_list_of_commands_imports_none_of_them() -> None:
    """`edbench --help` and `--version` come at once: neither the database's nor any heavy package is loaded."""
    loaded = _imported_by("from cli.main import main; main(['--help'], {}); main(['--version'], {})")
    assert loaded.isdisjoint({*HEAVY, "sqlalchemy", "psycopg2", "redis", "celery", "rich", "controller"})


def test_cheap_commands_stay_cheap() -> None:
    """Commands that only ask the database do not load what draws, packs, generates or indexes."""
    loaded = _imported_by("import cli.jobs.listing, cli.jobs.lifecycle, cli.jobs.items, cli.jobs.discover")
    assert loaded.isdisjoint(HEAVY)


def test_the_readme_and_the_commands_agree() -> None:
    """Every command is in the README, and the README names none that does not exist."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL))
    assert set(_MENTION.findall(code)) == set(NAMES)


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """`edbench` alone lists what it can do."""
    assert main([], {}) == OK
    shown = capsys.readouterr().out
    assert all(name in shown for name in NAMES)


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


# What reads formats, and what only other commands or other files need.
READERS = {"lxml", "pypdfium2", "selectolax", "pycdlib", "cryptography", "isal", "pypff", "inflate64", "bcj"}
ELSEWHERE = {*HEAVY, "sqlalchemy", "psycopg2", "redis", "celery", "fastapi", "asyncio", "multiprocessing"}


def test_inspecting_a_text_loads_no_other_reader(tmp_path: Path) -> None:
    """In the command as in the process that reads: readers are loaded by the media types that are met."""
    (tmp_path / "a.txt").write_text("words")
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.4\n")
    command = "from cli.main import main; assert main(['inspect', {!r}], {{}}) == 0"
    reading = (
        "import os; from pathlib import Path; from core.records import JobOptions; "
        "from worker.inspect.file import Loose, inspect_files; "
        "inspect_files([Loose(path={0!r}, relative=os.path.basename({0!r}))], JobOptions(), Path({1!r}))"
    )
    text, pdf = (os.fsencode(tmp_path / name) for name in ("a.txt", "b.pdf"))
    for code in (command.format(os.fsdecode(text)), reading.format(text, str(tmp_path / "spool"))):
        assert _imported_by(code) & (READERS | ELSEWHERE) == set()
    assert "pypdfium2" in _imported_by(reading.format(pdf, str(tmp_path / "other")))
