"""The main job, as the README shows it."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from typing import Any

import pytest
from installation import COMMAND_SECONDS, EDBENCH, Bench

KEYS = {
    "job_id", "state", "workers", "slots", "index_engine", "passes", "elapsed_s", "raw_bytes", "discovered_bytes",
    "expansion", "index_bytes", "gb_per_hour_raw", "gb_per_hour_discovered", "items", "items_per_second", "containers",
    "exceptions", "children", "phases", "calls",
}  # fmt: skip


def _discovered(bench: Bench, *options: str) -> str:
    """A job that finds exactly what the manifest says; its id, which is the last line that is printed."""
    out = bench.end(bench.discover(*options))
    found = bench.result()
    assert found.keys() >= KEYS
    assert out.splitlines()[-1].strip() == found["job_id"]
    assert found["state"] == "completed_with_exceptions"
    assert found["children"]["expected"] == found["children"]["emitted"] + found["children"]["failed"]
    assert found["passes"] == (1 if "--single-pass" in options else 2)
    assert {"scan", "open", "read", "write", "rename", "close"} <= found["calls"].keys()
    assert found["calls"]["write"]["bytes"] >= found["discovered_bytes"] - found["raw_bytes"]
    assert bench.verify()["differences"] == 0
    assert not bench.leftovers()
    return str(found["job_id"])


@pytest.mark.parametrize(
    "options",
    [
        ("--workers", "3", "--slots", "1", "--single-pass"),
        ("--workers", "1", "--layout", "per-worker", "--fsync", "task"),
    ],
    ids=["single-pass", "one-worker-per-worker-fsync"],
)
def test_a_job_finds_exactly_what_the_manifest_says(bench: Bench, options: tuple[str, ...]) -> None:
    """Every mode gives zero differences, the numbers of --json, and the job id as the last line; two passes with two
    workers below. Several workers are forked from one process."""
    _discovered(bench, *options)


def test_later_commands_see_the_job(bench: Bench) -> None:
    bench.furniture = None  # the very first job
    job = _discovered(bench, "--workers", "2")
    with bench.attached():
        assert job in bench.edbench("job", "list").stdout.replace("\n", "")
        assert "expected" in bench.edbench("job", "show", job).stdout
        _look_at(bench, job)
        bench.edbench("job", "delete", job)
        assert json.loads(bench.ask("job", "list", "-o", "json").stdout) == []
    assert not list((bench.storage / "jobs").iterdir())
    assert not bench.leftovers()
    bench.edbench("job", "show", job, check=2)


def _look_at(bench: Bench, job: str) -> None:
    """Every command that shows something of a finished job."""
    truth: dict[str, Any] = json.loads((bench.corpus / "dataset.json").read_text())
    assert "0 missing, 0 extra, 0 wrong" in bench.ask("verify", job[:8]).stdout
    lines = bench.ask("review", "items", job, "-o", "jsonl").stdout.splitlines()
    items = [json.loads(line) for line in lines]
    assert len(items) == bench.result()["items"] == truth["items"]
    assert (
        len(list(csv.reader(io.StringIO(bench.ask("review", "items", "last", "-o", "csv").stdout))))
        == truth["items"] + 1
    )
    wanted = ("-o", "jsonl", "--where", "date>1970", "--type", "message/rfc822")
    mail = bench.ask("review", "items", "last", *wanted).stdout.splitlines()
    assert 0 < len(mail) <= sum(item["media_type"] == "message/rfc822" for item in items)
    assert set(mail) <= set(lines)
    term = next(t for t in _terms(bench) if t)
    assert json.loads(bench.edbench("review", "search", job, term, "-o", "json").stdout)
    name = items[0]["custodian"].split("_")[0]
    assert json.loads(bench.ask("review", "search", "last", f"custodian:{name}", "-o", "json").stdout)
    assert json.loads(bench.ask("job", "show", "last", "-o", "json").stdout)["kinds"] == truth["kinds"]


def _terms(bench: Bench) -> list[str]:
    import pyarrow.parquet as pq

    return [t for row in pq.read_table(bench.corpus / "manifest.parquet")["terms"].to_pylist() for t in row or []]


def test_an_empty_source_is_refused_and_everything_is_where_the_command_runs(bench: Bench) -> None:
    """No job "completes" over nothing; without a manifest `verify` requires --internal. With no setting at all everything
    is written to the directory that the command runs in."""
    source = bench.home / "source"
    source.mkdir()
    env = {k: v for k, v in os.environ.items() if not k.startswith("EDBENCH_")}

    def edbench(*arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [EDBENCH, *arguments], env=env, cwd=bench.home, capture_output=True, text=True, timeout=COMMAND_SECONDS
        )
        assert done.returncode == status, (done.stdout, done.stderr)
        return done

    discover = ("discover", "source", "--workers", "1", "--slots", "1", "-o", "json", "--output-file", "r.json")
    refused = edbench(*discover, status=2).stderr
    assert (len(refused.splitlines()), "is empty" in refused) == (1, True)
    (source / "note.txt").write_text("a word")
    edbench(*discover)
    assert (bench.result()["state"], bench.result()["items"], bench.result()["exceptions"]) == ("completed", 1, {})
    edbench("verify", "last", status=2)
    assert "0 missing, 0 extra, 0 wrong" in edbench("verify", "last", "--internal").stdout
    assert sorted(p.name for p in bench.home.iterdir()) == [".edbench", "edbench-storage", "r.json", "source"]


def test_a_source_that_does_not_exist_is_refused_before_anything_starts(bench: Bench) -> None:
    done = bench.edbench("discover", str(bench.home / "nowhere"), check=2)
    assert len(done.stderr.strip().splitlines()) == 1
    assert "nowhere" in done.stderr
    assert not (bench.scratch / "logs").exists()
