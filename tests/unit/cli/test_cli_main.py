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
# Packages that take long to import: a command that works with one imports it when it comes to that.
HEAVY = {
    *(
        "alembic",
        "celery",
        "cryptography",
        "docker",
        "fastapi",
        "kombu",
        "matplotlib",
        "mimesis",
        "numpy",
        "prometheus_client",
    ),
    *("pyarrow", "redis", "reportlab", "simpy", "tantivy", "whoosh"),
}
DATABASE = {"sqlalchemy"}
# Commands that are nothing without a database, and do nothing before.
ASKING = {"cli.jobs.import_counters", "cli.jobs.lifecycle", "cli.jobs.requeue"}
# Modules that a start may import; a fifth above what it does. What takes a start beyond should rather come when it is used.
MOST_FOR_HELP, MOST_FOR_INSPECT = 180, 405
_MENTION = re.compile(r"\bedbench (?!COMMAND)([a-z]+(?:-[a-z]+)*)\b")


@pytest.mark.parametrize("entry", [entry for entry in COMMANDS if not entry.group], ids=lambda entry: entry.name)
def test_help_has_an_example(entry: LazyCommand, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command shows how it is used, and the example is a command line of that very command."""
    assert main([entry.name, "--help"], {}) == OK
    assert "Example:" in capsys.readouterr().out
    assert shlex.split(entry.example)[:2] == ["edbench", entry.name]


@pytest.mark.parametrize(
    "entry", [one for entry in COMMANDS for one in (entry, *entry.parts)], ids=lambda entry: entry.name
)
def test_the_list_says_what_the_command_says(entry: LazyCommand) -> None:
    """The help that stands in the table, so that nothing need be imported, is the command's own."""
    own = str(load(entry).help).partition("\n\n")[0]
    assert " ".join(own.split()) == entry.help


def _modules(code: str) -> set[str]:
    """What a fresh interpreter has imported after this code."""
    show = "import sys; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", f"{code}\n{show}"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    return set(ended.stdout.splitlines()[-1].split())


def _packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def test_the_list_of_commands_imports_none_of_them() -> None:
    """`edbench --help` and `--version` come at once: neither the database's nor any heavy package is loaded."""
    loaded = _modules("from cli.main import main; main(['--help'], {})")
    assert len(loaded) <= MOST_FOR_HELP
    assert _packages(loaded).isdisjoint({*HEAVY, *DATABASE, "psycopg2", "pydantic", "rich", "controller"})
    told = _modules("from cli.main import main; main(['--version'], {})")
    assert _packages(told).isdisjoint({*HEAVY, *DATABASE, "psycopg2", "pydantic", "rich", "controller"})


def test_a_command_brings_what_it_works_with_when_it_works() -> None:
    """The help of any command, and what it says of a wrong option, come at once: what draws, packs, generates, serves or
    indexes is imported later, and the database's libraries by those commands alone that are nothing without."""
    modules = {entry.where.partition(":")[0] for entry in COMMANDS}
    assert modules >= ASKING
    code = "import sys, {}; print(*sys.modules)"
    assert _packages(_modules(code.format(", ".join(modules)))).isdisjoint(HEAVY)
    assert _packages(_modules(code.format(", ".join(modules - ASKING)))).isdisjoint(DATABASE)


@pytest.mark.parametrize(
    ("code", "without"),
    [
        ("import cli.jobs.listing, cli.jobs.listed", {*DATABASE, "pydantic"}),
        ("import cli.jobs.items, cli.jobs.printed", {*DATABASE, "pydantic"}),
        ("import cli.jobs.listing, cli.jobs.shown", {*DATABASE, "pydantic"}),
        (
            "from dataset_gen.describe import outline; from dataset_gen.profile import load_profile; "
            "outline(load_profile('reference'), 0.01)",
            {"numpy", "pyarrow", "reportlab"},
        ),
        (
            "from cli.main import main; main(['profile', 'describe', 'reference', '--scale', '0.01'], {})",
            {"numpy", "pyarrow", "sqlalchemy", "reportlab", "pydantic", "psycopg2"},
        ),
    ],
    ids=["jobs", "items", "job", "outline", "profile describe"],
)
def test_what_is_listed_comes_without_what_is_not(code: str, without: set[str]) -> None:
    """A list of jobs or items is no document of the API, a job's counts are not its figures, and to describe a corpus takes
    none of those that write one."""
    assert _packages(_modules(f"import sys; {code}")).isdisjoint({*HEAVY - {"cryptography", "mimesis"}, *without})


def test_a_search_brings_its_engine_and_no_more() -> None:
    """Neither SQLAlchemy nor what documents, numbers in rows or the other engine take."""
    loaded = _packages(_modules("import cli.jobs.search, cli.jobs.found"))
    assert loaded.isdisjoint({*HEAVY - {"tantivy"}, *DATABASE, "pydantic"})


@pytest.mark.parametrize(
    "code", ["import cli.main, cli.jobs.listing, cli.jobs.search, cli.jobs.items", "import core.services.keeper"]
)
def test_little_comes_before_the_services_are_started(code: str) -> None:
    """What talks to them, and what a command works with, comes while they start: whoever asks for jobs waits for them."""
    loaded = _modules(f"import sys; {code}")
    assert _packages(loaded).isdisjoint({*HEAVY, *DATABASE, "psycopg2", "msgspec", "pydantic", "rich", "ssl"})


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
        (["worker", "join", "10.0.0.1:6390"], "redis://10.0.0.1:6390"),
        (["worker", "join", "redis://10.0.0.1:0"], "redis://10.0.0.1:6390"),
        (["worker", "join", "redis://10.0.0.1:65536"], "redis://10.0.0.1:6390"),
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


@pytest.mark.parametrize(
    ("argv", "env"),
    [
        (["worker", "join", "redis://u:s3cret@h:99999"], {}),
        (["worker", "join", "redis:/u:s3cret@h:6390"], {}),
        (["worker", "join", "redis://u:s3 cret@h"], {}),
        (["worker", "join", "redis://h:6390", "redis://u:s3cret@h:6390"], {}),
        (["jobs"], {"EDBENCH_DATABASES": "postgresql+psycopg2://u:s3cret@h/db"}),
        (["jobs"], {"EDBENCH_DATABASES": "postgresql+psycopg2://u:s3cret@h/db", "EDBENCH_DEBUG": "1"}),
    ],
)
def test_no_password_of_a_url_is_repeated(
    argv: list[str], env: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """What a command says stands in logs and is sent to whoever is to help."""
    assert main(argv, env) == USAGE
    said = capsys.readouterr().err
    assert "cret" not in said
    assert "…@h" in said


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
ZONES = {"tzlocal", "zoneinfo", "tzdata"}  # of dates that are not in UTC
ELSEWHERE = {*HEAVY, *DATABASE, "psycopg2", "pydantic", "asyncio", "multiprocessing", "traces"}


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
        loaded = _modules(code)
        assert _packages(loaded) & (READERS | ELSEWHERE | ZONES) == set()
        assert "worker.indexes.base" not in loaded
        assert len(loaded) <= MOST_FOR_INSPECT
    assert "pypdfium2" in _packages(_modules(reading.format(pdf, str(tmp_path / "other"))))
    # The process that reads tells the others what its formats are called.
    assert "pypdfium2" not in _packages(_modules(command.format(os.fsdecode(pdf))))


def test_what_draws_the_summary_comes_while_others_read(tmp_path: Path) -> None:
    """It is imported when the first processes are at work, and not by these."""
    place = tmp_path / "a.txt"
    place.write_text("words")
    code = (
        "import os, sys; from worker.inspect import tree; load = tree._initialise; "
        "tree._initialise = lambda *how: (os.write(2, str('rich' in sys.modules).encode()), load(*how))[0] and None; "
        f"from cli.main import main; main(['inspect', {str(place)!r}], {{}}); print('rich' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert (ended.stderr, ended.stdout.splitlines()[-1]) == ("False", "True")


def test_the_end_is_short_and_in_good_order() -> None:
    """With the command's status, behind everything else that is to be done at the end, and with nothing unsaid."""
    code = (
        "import atexit, sys, cli.main as command; from cli.__main__ import start; "
        "command.run = lambda: (atexit.register(print, 'last'), print('said'), 3)[2]; "
        "atexit.register(print, 'taken apart'); start()"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (3, "said\nlast\n")
