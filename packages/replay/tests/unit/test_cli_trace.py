"""`edbench trace`: tables, pictures, files, and refusals in one line."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from memory_traces import write_trace
from replay_traces import reading_trace
from schema_check import refuse_unlike_schema
from trace_samples import call, directory, sample_trace, written_and_moved

from cli.main import OK, USAGE, main
from core.operations import Op

LOGS = Path(__file__).parents[1] / "support" / "strace_logs"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    write_trace(written_and_moved(), tmp_path / "a.edbtrace")
    return tmp_path / "a.edbtrace"


def run(*words: object) -> int:
    return main(["trace", *map(str, words)], {})


def test_info_prints_what_a_trace_holds(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("info", trace) == OK
    shown = capsys.readouterr().out
    for wanted in (
        "2 streams, 15 calls",
        "in flight:",
        "think time:",
        "calls by phase",
        "bytes of a read",
        "depth of files",
    ):
        assert wanted in shown
    assert "LOST: 2 calls" in shown
    assert "fsync" in shown
    assert "mkdir" not in shown


def test_info_as_json(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("info", trace, "-o", "json") == OK
    shown = json.loads(capsys.readouterr().out)
    assert (shown["schema"], shown["calls"]) == ("edbench-trace-info/1", 15)
    assert shown["bytes"] == trace.stat().st_size
    refuse_unlike_schema("trace-info", shown)


def test_info_writes_a_page_that_needs_nothing_but_itself(trace: Path, tmp_path: Path) -> None:
    assert run("info", trace, "--html", tmp_path / "t.html") == OK
    text = (tmp_path / "t.html").read_text(encoding="utf-8")
    page = ET.fromstring(text.partition("\n")[2])
    titles = ["".join(title.itertext()) for title in page.iter("h2")]
    assert titles == [
        "Calls by operation", "Calls per second over time", "Calls in flight over time", "Bytes of a read and of a write",
        "Think time", "Sizes of the files", "Depth of the files", "Latency by operation",
    ]  # fmt: skip
    assert len([element for element in page.iter() if element.tag.endswith("svg")]) == 7
    assert "src=" not in text
    assert "<script" not in text


def test_a_trace_of_nothing_has_a_page_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, streams in enumerate(([], [[call(Op.STAT, 0, 0)]])):
        write_trace(sample_trace([directory()], streams), tmp_path / f"{number}")
        assert run("info", tmp_path / f"{number}", "--html", tmp_path / f"{number}.html") == OK
        ET.fromstring((tmp_path / f"{number}.html").read_text(encoding="utf-8").partition("\n")[2])
    assert "0 calls" in capsys.readouterr().out


@pytest.mark.parametrize(("form", "files", "losses"), [("fio", 7, 3), ("elbencho", 1, 3), ("jsonl", 1, 1)])
def test_an_export_states_what_it_loses(
    form: str, files: int, losses: int, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("export", trace, tmp_path / "out", "--format", form) == OK
    shown = capsys.readouterr().out.splitlines()
    assert len([line for line in shown if line.startswith(str(tmp_path / "out"))]) == files
    assert len([line for line in shown if line.startswith("lost: ")]) >= losses
    assert shown[-1].startswith("use: ")


def test_an_import_states_what_it_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = LOGS / "shell.log"
    assert run("import", log, "--under", "/tmp/demo", "--cwd", "/tmp/demo", "--to", tmp_path / "t") == OK
    shown = capsys.readouterr()
    assert "11 streams, 61 calls" in shown.out
    assert "symlinkat, recorded as the creation of an empty file 1" in shown.err
    assert "fadvise64 3" in shown.err


def test_two_become_one(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Twice the streams and calls."""
    assert run("merge", trace, trace, "--to", tmp_path / "both") == OK
    assert "4 streams, 30 calls" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "shows"),
    [
        (["info", "{here}/none"], "none"),
        (["info", "{here}/cut"], "cut short"),
        (["info", "{here}/foreign"], "not a trace"),
        (["info", "{trace}", "--html", "{here}/no/where.html"], "--html"),
        (["export", "{here}/cut", "{here}/x"], "cut short"),
        (["export", "{trace}", "{here}", "--format", "fio"], "not empty"),
        (["export", "{trace}", "{here}/x", "--format", "vhs"], "vhs"),
        (["import", "{here}/foreign", "--to", "{here}/x"], "strace"),
        (["import", "{here}/none", "--to", "{here}/x"], "none"),
        (["import", "{here}/foreign", "--to", "{here}/foreign"], "another name"),
        (["merge", "{trace}", "--to", "{here}/x"], "two or more traces"),
        (["merge", "{trace}", "{here}/cut", "--to", "{here}/x"], "cut short"),
        (["merge", "{trace}", "{trace}", "--to", "{trace}"], "another name"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], shows: str, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cut").write_bytes(trace.read_bytes()[:-40])
    (tmp_path / "foreign").write_text("nothing of the kind\n")
    before = {path.name for path in tmp_path.iterdir()}
    assert run(*(word.format(here=tmp_path, trace=trace) for word in words)) == USAGE
    shown = capsys.readouterr()
    assert shows in shown.err
    assert shown.err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == before


@pytest.fixture
def trace_of_cli_replay(tmp_path: Path) -> Path:
    path = tmp_path / "t.edbtrace"
    write_trace(reading_trace(), path)
    return path


def _refusal(tmp_path: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line; nothing was started or made."""
    before = sorted(path for path in tmp_path.rglob("*"))
    env = {"EDBENCH_SCRATCH": str(tmp_path / "scratch"), "EDBENCH_STORAGE": str(tmp_path / "storage")}
    assert main(["trace", "replay", *arguments], env) == USAGE
    error = capsys.readouterr().err
    assert len(error.strip().splitlines()) == 1
    assert sorted(path for path in tmp_path.rglob("*")) == before
    return error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--pace", "fast"), "job, schedule, max"),
        (("--path", "/no/such/directory"), "/no/such/directory"),
        (("--clients", "two"), "--clients"),
        (("--clients", "0"), "0 clients"),
        (("--clients", "1,10000"), "from 1 to 4096"),
        (("--clients", "2,4", "--max-p99", "read=1ms"), "exclude each other"),
        (("--max-p99", "read"), "OP=TIME"),
        (("--max-p99", "seek=1ms"), "unknown op 'seek'"),
        (("--peak", "100"), "--peak requires --levels"),
        (("--levels", "10", "--pace", "x2"), "--levels sets the pace"),
        (("--levels", "10", "--pace", "job"), "--levels sets the pace"),
        (("--levels", "10", "--max-p99", "read=1ms"), "--levels sets the pace"),
        (("--levels", "10", "--clients", "1,2"), "--levels takes one --filer"),
        (("--filer", "no-such"), "no-such"),
        (("--filer", "none,no-such"), "no-such"),
        (("--filer", "titan,"), "names such as"),
        (("--filer", "none,titan", "--max-p99", "read=1ms"), "one --filer"),
    ],
)
def test_options(
    tmp_path: Path,
    trace_of_cli_replay: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    message: str,
) -> None:
    (tmp_path / "target").mkdir()
    assert message in _refusal(tmp_path, capsys, str(trace_of_cli_replay), "--path", str(tmp_path / "target"), *options)
