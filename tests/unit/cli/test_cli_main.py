"""The commands' names, help and exit statuses."""

import csv
import datetime
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from every_command import every_command, every_registered
from pydantic import TypeAdapter
from schema_check import refuse_unlike_schema

from cli.main import FAILED, INTERRUPTED, OK, USAGE, _meaning, commands, main
from cli.output import print_document
from cli.tree import TUNING, Entry
from core.errors import BrokerFault, Interrupted, RunFailed, UsageError
from sql.browse import Search

REPOSITORY = Path(__file__).parents[3]
NAMES = [entry.name for entry in commands()]
# Packages that take long to import: a command that works with one imports it when it comes to that.
HEAVY = {
    *("celery", "cryptography", "docker", "fastapi", "kombu", "matplotlib", "mimesis", "numpy"),
    *("prometheus_client", "pyarrow", "redis", "reportlab", "tantivy", "whoosh"),
}
DATABASE = {"sqlalchemy"}
# Modules that a start may import; a fifth above what it does. What takes a start beyond should rather come when it is used.
MOST_FOR_HELP, MOST_FOR_INSPECT = 180, 405
_WIDTH = 80


@pytest.mark.parametrize("words", [words for words, _ in every_command()], ids=" ".join)
def test_help_has_an_example(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "-h"], {}) == OK
    shown = " ".join(capsys.readouterr().out.split())
    example = {each: registered.example for each, registered, _ in every_registered()}[words]
    assert f"Example: {' '.join(example.split())}" in shown
    typed = shlex.split(example)
    assert typed[: 1 + len(words)] == ["edbench", *words]
    dict(every_command())[words].make_context(words[-1], typed[1 + len(words) :])


@pytest.mark.parametrize(
    "entry", [None, *(entry for entry in commands() if entry.group)], ids=lambda one: one and one.name
)
def test_the_help_of_a_group_fits_on_a_terminal(entry: Entry | None, capsys: pytest.CaptureFixture[str]) -> None:
    words = [] if entry is None else [entry.name]
    assert main([*words, "--help"], {}) == OK
    lines = capsys.readouterr().out.splitlines()
    listed = lines[lines.index("Commands:") + 1 :]
    names = (
        [one.name for one in commands()]
        if entry is None
        else [each[1] for each, _ in every_command() if each[0] == entry.name]
    )
    assert [line.split()[0] for line in listed[: len(names)]] == names
    assert all(len(line) <= _WIDTH and "…" not in line for line in lines)


def test_an_option_has_one_help_text() -> None:
    """In all commands: only the values that it takes and its default may differ."""
    texts: dict[str, dict[str, str]] = {}
    for words, command in every_command():
        for option in command.params:
            if option.param_type_name == "option":
                texts.setdefault(option.opts[0], {})[option.help.partition("  [default")[0]] = " ".join(words)
    assert {name: found for name, found in texts.items() if len(found) > 1} == {}


def test_a_help_text_is_written_once() -> None:
    """Commands share it; two copies would differ some day."""
    texts = {option.help for _, command in every_command() for option in command.params}
    folders = {module.partition(".")[0] for entry in commands() for module in entry.modules}
    folders |= {"controller", "core", "dataset_gen", "experiments"}
    roots = [
        REPOSITORY / name if (REPOSITORY / name).is_dir() else REPOSITORY / "packages" / name / name
        for name in sorted(folders)
    ]
    source = "".join(file.read_text(encoding="utf-8") for root in roots for file in root.rglob("*.py"))
    assert [text for text in texts if source.count(f'"{text.partition("  [")[0]}') > 1] == []


def test_help_texts_start_with_a_capital_and_end_with_a_full_stop() -> None:
    """Of commands and options: sentences, the first word a verb; arguments are named by nouns. A default is shown once."""
    wrong = []
    for words, command in every_command():
        for option in command.params:
            if option.param_type_name == "option":
                text, _, default = option.help.partition("  [default")
                if not (text[:1].isupper() and text.endswith(".")) or (default and option.default):
                    wrong.append((*words, option.opts[0], text))
    assert wrong == []


def test_tuning_options_are_advanced(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", "--help"], {}) == OK
    common, _, advanced = capsys.readouterr().out.partition("Advanced:")
    assert "--workers" in common
    assert "--lease-seconds" in advanced
    assert {option.name for _, command in every_command() for option in command.params} >= TUNING


def test_every_command_prints_in_every_format_to_any_file() -> None:
    """But for those that run until Ctrl-C. No option of an earlier convention is left."""
    for words, command in every_command():
        options = {opt: option for option in command.params for opt in option.opts}
        assert options.keys().isdisjoint({"--json", "--jsonl", "--csv"}), words
        if words in RUNNING:
            assert options.keys().isdisjoint({"-o", "--output-file"}), words
        else:
            assert list(options["-o"].type.choices) == ["table", "json", "jsonl", "csv"], words
            assert options["-o"] is options["--output"], words
            assert {"--output-file", "--csv-raw"} <= options.keys(), words


RUNNING = {("serve",), ("worker",)}
# The schema of what a command prints with -o json, in docs/schemas.
SCHEMAS = {
    ("discover",): "discover", ("verify",): "verify", ("doctor",): "doctor", ("inspect",): "inspect",
    ("formats",): "formats", ("token",): "token", ("scale",): "scale", ("storage", "clean"): "leftovers",
    ("corpus", "generate"): "corpus", ("corpus", "describe"): "corpus", ("corpus", "check"): "corpus-check",
    ("corpus", "profiles"): "corpus-profiles",
    ("job", "list"): "job-list", ("job", "show"): "job", ("job", "custody"): "custody",
    **{("job", name): "job-state" for name in ("pause", "cancel", "delete")},
    **{("job", name): "discover" for name in ("resume", "requeue")},
    **{("review", name): name for name in ("search", "items", "item", "terms", "tag", "dedupe", "languages", "denist", "threads")},
    ("review", "near-dup"): "near",
    **{("produce", name): "discover" for name in ("text", "images", "export")},
    **{("produce", name): f"production-{name}" for name in ("check", "import")},
    **{("counters", name): "counters" for name in ("collect", "import")},
    **{
        ("bench", name): "result"
        for name in ("scale-up", "scale-out", "knee", "tune", "sweep", "job-types", "day", "r1", "storage")
    },
    ("bench", "plan"): "plan",
    ("trace", "record"): "trace-record", ("trace", "replay"): "result", ("trace", "info"): "trace-info",
    ("trace", "export"): "trace-export", ("trace", "import"): "trace-file", ("trace", "merge"): "trace-file",
    ("result", "check"): "result-check", ("result", "describe"): "result-file", ("result", "sign"): "result-file",
    ("result", "compare"): "compare", ("simulate",): "simulation",
}  # fmt: skip


def test_every_json_document_has_a_schema() -> None:
    assert {words for words, _ in every_command()} - RUNNING <= SCHEMAS.keys()  # of some, the package is not installed
    assert {f"{name}.json" for name in SCHEMAS.values()} <= {
        path.name for path in (REPOSITORY / "docs/schemas").iterdir()
    }


@pytest.mark.parametrize(
    ("argv", "schema"),
    [
        (["corpus", "profiles"], "corpus-profiles"),
        (["corpus", "profiles", "reference"], "corpus-profiles"),
        (["formats"], "formats"),
        (["bench", "storage"], "storage-tests"),
        (["bench", "storage", "stream", "--describe"], "storage-tests"),
    ],
)
def test_documents_are_as_their_schemas_say(argv: list[str], schema: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And the other formats have the same: a line of JSON for each record, CSV with a name for each column."""
    assert main([*argv, "-o", "json"], {}) == OK
    refuse_unlike_schema(schema, document := json.loads(capsys.readouterr().out))
    assert main([*argv, "-o", "jsonl"], {}) == OK
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == (document if isinstance(document, list) else [document])
    assert main([*argv, "-o", "csv"], {}) == OK
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    if isinstance(document, list):
        assert [row["name"] for row in rows] == [each["name"] for each in document]
    else:
        assert {row["name"]: row["value"] for row in rows}["name"] == document["name"]


@pytest.mark.parametrize(
    ("value", "fields", "rows", "lines"),
    [
        ({"a": 1, "b": {"c": [1, 2], "d": [{"e": True}]}}, (), "name,value\na,1\nb.c,1; 2\nb.d.0.e,true\n", 1),
        ([{"a": None}, {"b": "=1"}], (), "a,b\n,\n,'=1\n", 2),
        (iter([{"path": ["a", "b"], "x": {"y": 1}}]), ("path", "x"), 'path,x\na / b,"{""y"": 1}"\n', 1),
        ([], ("a",), "a\n", 0),
    ],
)
def test_one_mechanism_prints_all_formats(
    value: Any, fields: tuple[str, ...], rows: str, lines: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A record is `name,value`, records are rows; records in a record are flat, and so are lists of them."""
    records = value if isinstance(value, dict) else list(value)
    print_document(records if isinstance(value, dict) else iter(records), "csv", fields)
    assert capsys.readouterr().out == rows
    print_document(records, "jsonl")
    assert len(capsys.readouterr().out.splitlines()) == lines
    print_document(records if isinstance(value, dict) else iter(records), "json")
    assert json.loads(capsys.readouterr().out) == records


def test_a_moment_is_written_alike_in_every_format_and_by_the_api(capsys: pytest.CaptureFixture[str]) -> None:
    at = datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC)
    search = Search(name="n", query="q", saved_at=at, saved_by="ann")
    assert TypeAdapter(Search).dump_python(search, mode="json")["saved_at"] == "2026-01-02T03:04:00Z"
    for output in ("json", "jsonl", "csv"):
        print_document([search], output, ("name", "saved_at"))
        assert "2026-01-02T03:04:00Z" in capsys.readouterr().out


def test_a_usage_error_names_the_help_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    for argv, command in (
        (["job", "show"], "edbench job show"),
        (["job", "shw"], "edbench job"),
        (["discover", ".", "--no-such"], "edbench discover"),
        (["nonsense"], "edbench"),
    ):
        assert main(argv, {}) == USAGE
        assert capsys.readouterr().err.endswith(f"Try '{command} --help'.\n")


def test_a_prediction_names_the_package_that_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in an installation without packages/simulate: nothing is measured."""
    (tmp_path / "corpus" / "anna").mkdir(parents=True)
    (tmp_path / "corpus" / "anna" / "a.txt").write_text("words")
    monkeypatch.setattr("cli.day.extension_modules", lambda group: [])
    places = ["--corpus", str(tmp_path / "corpus"), "--storage", str(tmp_path / "storage")]
    assert main(["bench", "day", *places, "--filer", "nas-1g", "--from", "result.json"], {}) == USAGE
    refusal = "--from needs the package edbench-simulate, which is not installed here; omit it to measure only"
    assert capsys.readouterr().err.splitlines()[-1] == f"edbench: {refusal}"


def test_a_shell_completes_commands_and_options() -> None:
    for line, word, wanted in (
        ("edbench jo", "1", "job"),
        ("edbench job li", "2", "list"),
        ("edbench discover --wor", "2", "--workers"),
    ):
        env = os.environ | {"_EDBENCH_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": word}
        ended = subprocess.run(
            [sys.executable, "-m", "cli"], cwd=REPOSITORY, env=env, capture_output=True, text=True, check=True
        )
        assert wanted in ended.stdout.split()


def test_a_document_goes_to_a_file_as_a_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.json"
    assert main(["corpus", "profiles", "reference", "-o", "json", "--output-file", str(file)], {}) == OK
    assert json.loads(file.read_text())["name"] == "reference"
    assert main(["corpus", "profiles", "no-such", "-o", "json", "--output-file", str(tmp_path / "x.json")], {}) == USAGE
    assert capsys.readouterr().out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["p.json"]


def test_a_document_goes_through_a_pipe_or_a_link_that_stays(tmp_path: Path) -> None:
    """As root, /dev/null and /dev/stdout were replaced by a file."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to("p.json")
    words = ["corpus", "profiles", "reference", "-o", "json", "--output-file"]
    with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)) as reader:
        assert main([*words, str(pipe)], {}) == main([*words, str(link)], {}) == OK
        assert json.load(reader) == json.loads((tmp_path / "p.json").read_text())
    assert pipe.is_fifo()
    assert link.is_symlink()


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
    show = "from cli.main import main; main(['--help'], {})"
    assert len(_modules(show)) <= MOST_FOR_HELP
    loaded = _modules(f"{show}; main(['--version'], {{}})")
    assert _packages(loaded).isdisjoint({*HEAVY, *DATABASE, "psycopg2", "pydantic", "rich", "controller"})


def test_a_command_brings_what_it_works_with_when_it_works() -> None:
    """The help of any command, and a usage error, come at once: what draws, packs, generates, serves, indexes or asks a database
    is imported later."""
    modules = {module for entry in commands() for module in entry.modules}
    loaded = _packages(_modules(f"import sys, {', '.join(modules)}"))
    assert loaded.isdisjoint(HEAVY | DATABASE)


@pytest.mark.parametrize(
    ("code", "without"),
    [
        (
            "import cli.job, controller.jobs.groups, controller.browse.counts, cli.review, controller.browse.items, "
            "controller.browse.item_filter",
            {*DATABASE, "pydantic"},
        ),
        (
            "from cli.main import main; main(['corpus', 'profiles', 'reference', '--scale', '0.01'], {})",
            {"numpy", "pyarrow", "sqlalchemy", "reportlab", "pydantic", "psycopg2"},
        ),
    ],
    ids=["jobs and items", "corpus profiles"],
)
def test_what_is_listed_comes_without_what_is_not(code: str, without: set[str]) -> None:
    """A list of jobs or items is no document of the API, a job's counts are not its figures, and to describe a corpus takes
    none of those that write one."""
    assert _packages(_modules(f"import sys; {code}")).isdisjoint({*HEAVY - {"cryptography", "mimesis"}, *without})


def test_a_search_brings_its_engine_and_no_more() -> None:
    work = "controller.search.found, controller.search.opened, search.tantivy_engine"
    loaded = _packages(_modules(f"import cli.review, {work}"))
    assert loaded.isdisjoint({*HEAVY - {"tantivy"}, *DATABASE, "pydantic"})


def test_little_comes_before_the_services_are_started() -> None:
    loaded = _modules("import cli.main, cli.job, cli.review, core.services.keeper")
    assert _packages(loaded).isdisjoint({*HEAVY, *DATABASE, "psycopg2", "msgspec", "pydantic", "rich", "ssl"})


def test_without_a_command_the_help_is_shown_and_the_version_when_it_is_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([], {}) == OK
    shown = capsys.readouterr().out
    assert all(name in shown for name in NAMES)
    assert main(["--version"], {}) == OK
    assert re.fullmatch(r"edbench \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("argv", "shows"),
    [
        (["nonsense"], "No such command"),
        (["bench", "nonsense"], "No such command"),
        (["bench", "scale-up"], "Missing option"),
        (["bench", "scale-up", "--corpus", ".", "--repeats", "0"], "--repeats"),
        (["result", "compare", "/no/such/result"], "give a result.json"),
        (["bench", "plan", "--filer-cache", "1e99TB"], "--filer-cache"),
        (["bench", "plan", "--filer-cache", "0B", "--client-memory", "999999999999999TB"], "--client-memory"),
        (["bench", "plan", "--filer-cache", "0B", "--workers=-1"], "--workers"),
        (["bench", "r1", "--corpus", "c", "--workers", "30,10"], "--workers"),
        (["bench", "r1", "--corpus", "c", "--workers", "10"], "--workers"),
        (["corpus", "profiles", "reference", "--scale", "1e300"], "--scale"),
        (["discover"], "Missing argument"),
        (["discover", ".", "--workers", "0"], "--workers"),
        (["discover", "/no/such/directory"], "does not exist"),
        (["discover", ".", "--index-engine", "nope"], "--index-engine"),
        (["review", "items", "x", "--csv-raw"], "requires -o csv"),
        (["verify", "x", "-o", "json", "--output-file", "/no/such/directory/file"], "does not exist"),
        (["worker", "--broker", "10.0.0.1:6379"], "redis://10.0.0.1:6379"),
        (["worker", "--broker", "redis://10.0.0.1:0"], "redis://10.0.0.1:6379"),
        (["worker", "--broker", "redis://10.0.0.1:65536"], "redis://10.0.0.1:6379"),
    ],
)
def test_usage_errors_are_one_line_and_status_2(
    argv: list[str], shows: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv, {}) == USAGE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("edbench: ")
    assert shows in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize(
    ("argv", "env"),
    [
        (["worker", "--broker", "redis://u:s3cret@h:99999"], {}),
        (["worker", "--broker", "redis:/u:s3cret@h:6390"], {}),
        (["worker", "--broker", "redis://u:s3 cret@h"], {}),
        (["job", "list"], {"EDBENCH_DATABASES": "postgresql+psycopg2://u:s3cret@h/db"}),
        (["job", "list"], {"EDBENCH_DATABASES": "postgresql+psycopg2://u:s3cret@h/db", "EDBENCH_DEBUG": "1"}),
    ],
)
def test_no_password_of_a_url_is_repeated(
    argv: list[str], env: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv, env) == USAGE
    shown = capsys.readouterr().err
    assert "cret" not in shown
    assert "…@h" in shown


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
        assert "internal error" in line


def test_tracebacks_only_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", "/no/such/directory"], {"EDBENCH_DEBUG": "1"}) == USAGE
    assert "Traceback" in capsys.readouterr().err


# What reads formats, and what only other commands or other files need.
READERS = {"lxml", "pypdfium2", "selectolax", "pycdlib", "cryptography", "isal", "pypff", "inflate64", "bcj"}
ZONES = {"tzlocal", "zoneinfo", "tzdata"}  # of dates that are not in UTC
ELSEWHERE = {*HEAVY, *DATABASE, "psycopg2", "pydantic", "asyncio", "multiprocessing", "traces"}


def test_inspecting_a_text_loads_no_other_reader(tmp_path: Path) -> None:
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
        assert "search.engine" not in loaded
        assert len(loaded) <= MOST_FOR_INSPECT
    assert "pypdfium2" in _packages(_modules(reading.format(pdf, str(tmp_path / "other"))))
    # The process that reads tells the others what its formats are called.
    assert "pypdfium2" not in _packages(_modules(command.format(os.fsdecode(pdf))))


def test_what_draws_the_summary_comes_while_others_read(tmp_path: Path) -> None:
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


def test_a_worker_gets_the_paths_of_the_directory_where_it_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs in that of the modules."""
    given: dict[str, str] = {}
    here = Path.cwd()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "chdir", lambda _: None)
    monkeypatch.setattr(os, "execve", lambda _path, _words, env: given.update(env))
    (tmp_path / "login").write_text("worker:secret")
    main(["worker"], {"EDBENCH_SCRATCH": "scratch", "EDBENCH_LOGIN_FILE": "login"})
    monkeypatch.undo()
    assert Path.cwd() == here
    assert given["EDBENCH_STORAGE"] == str(tmp_path / "edbench-storage")
    assert given["EDBENCH_SCRATCH"] == str(tmp_path / "scratch")
    assert given["EDBENCH_LOGIN_FILE"] == str(tmp_path / "login")
