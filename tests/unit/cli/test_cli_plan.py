"""`edbench bench plan` from outside, with the rates of a result."""

import json
import shlex
from pathlib import Path

import pytest
from experiment_runs import a_result, a_run
from schema_check import refuse_unlike_schema

from cli.main import OK, USAGE, main
from experiments.result.codec import write_result
from experiments.workloads.discovery.figures import CallUse, PhaseUse
from experiments.workloads.discovery.result import PointSpec

FIGURES = {
    "raw_bytes": 600_000_000,
    "discovered_bytes": 10**9,
    "index_bytes": 10**8,
    "items": 100,
    "calls_complete": True,
}
EXPAND = PhaseUse(
    database="db1", phase="expand", start_s=0.0, elapsed_s=5.0, tasks=4, busy_s=9.0, task_s=(1.0, 2.0), cpu_s={},
    calls={"read": CallUse(calls=10, bytes=10**8, seconds=1.0), "create": CallUse(calls=50, bytes=0, seconds=0.5),
           "rename": CallUse(calls=50, bytes=0, seconds=0.1)},
)  # fmt: skip


@pytest.fixture
def result(tmp_path: Path) -> Path:
    runs = {
        PointSpec(1, workers, 4): [
            a_run(36.0 / workers, result=FIGURES, phases=(EXPAND,), order=workers, started_at=60.0 * workers)
        ]
        for workers in (1, 4)
    }
    write_result(a_result(runs, hosts=[{"processors": 4}]), tmp_path / "result")
    return tmp_path / "result"


def test_a_plan_is_printed_and_written(result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, storage = tmp_path / "p.json", tmp_path / "a filer"
    arguments = ["--filer-cache", "2GB", "--client-memory", "8GB", "--hours", "20", "--from", str(result)]
    assert (
        main(["bench", "plan", *arguments, "--storage", str(storage), "-o", "json", "--output-file", str(file)], {})
        == OK
    )
    shown = capsys.readouterr().out
    assert "100.0 GB/hour with 1 worker; 400.0 GB/hour with 4 workers" in shown
    plain = json.loads(file.read_text())
    refuse_unlike_schema("plan", plain)
    assert plain["workers"] == [1, 2, 4]
    assert plain["discovered_bytes"] >= plain["needed_bytes"]
    assert plain["seconds"] == pytest.approx(sum(one["times"] * one["each_s"] for one in plain["time"]), abs=0.1)
    assert all(line in shown for line in plain["commands"])
    assert plain["commands"][0].endswith(" EDBENCH_FILER_CACHE=2GB")
    generate, study = (shlex.split(line) for line in plain["commands"][2:4])
    assert study[study.index("--corpus") + 1] == generate[3]
    assert str(storage) in generate[3]
    for line in (generate, study):
        assert main([*line[1:], "--help"], {}) == OK


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--hours", "1"],
            "--hours 1 is too short: 480 GB discovered (3 x (128 GB of the clients' memory + 32.0 GB of the filer's cache))",
        ),
        (["-o", "json", "--output-file", "/nowhere/p.json"], "--output-file"),
        (["--from", "/nowhere"], "/nowhere"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    arguments: list[str], message: str, result: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = ["--filer-cache", "32GB", "--client-memory", "128GB", "--from", str(result)]
    assert main(["bench", "plan", *usual, *arguments], {}) == USAGE
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert message in lines[0]


def test_a_cache_that_was_not_declared_is_asked_for(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "plan", "--from", str(result)], {}) == USAGE
    assert "--filer-cache" in capsys.readouterr().err
    usual = ["--from", str(result), "--hours", "99", "--client-memory", "40GB", "--storage", str(result / "none")]
    assert main(["bench", "plan", *usual], {"EDBENCH_FILER_CACHE": "2GB"}) == OK
    assert "2.00 GB of the filer's cache" in capsys.readouterr().out


def test_a_result_without_calls_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_result(a_result({PointSpec(1, 1, 4): [a_run(result=FIGURES)]}), tmp_path)
    assert main(["bench", "plan", "--from", str(tmp_path), "--filer-cache", "0B"], {}) == USAGE
    assert "no records of calls" in capsys.readouterr().err
