"""The main job, as the README shows it."""

import csv
import io
import json
import os
import subprocess
from typing import Any

import pytest
from installation import COMMAND_SECONDS, EDBENCH, Bench
from schema_check import refuse_unlike_schema

TWO_MS = """
name = "two-ms"
scale = 2.0
[metadata]
servers = 4
service_us.default = 1000.0
[data]
servers = 4
service_us.default = 1000.0
"""


def test_a_job_finds_exactly_what_the_manifest_states(bench: Bench) -> None:
    """Whatever mode it is run in: in one pass, by several workers, which are forked from one process, with a folder each and flushed
    tasks, and on an emulated filer: there every call lasts as long as the filer says, and the result names it first of all. The
    job's id is the last line that is printed. Nothing is left running, and later commands see the job until it is deleted."""
    (bench.home / "slow.toml").write_text(TWO_MS)
    modes = ("--single-pass", "--layout", "per-worker", "--fsync", "task", "--filer", "slow.toml", "--trace")
    out = bench.end(bench.discover("--workers", "3", "--slots", "1", *modes))
    assert not bench.leftovers()
    found = bench.result()
    job = found["job_id"]
    refuse_unlike_schema("discover", found)
    assert out.splitlines()[-1].strip() == job
    assert found["state"] == "completed_with_exceptions"
    assert found["children"]["expected"] == found["children"]["emitted"] + found["children"]["failed"]
    assert found["passes"] == 1
    assert {"scan", "open", "read", "write", "rename", "close"} <= found["calls"].keys()
    assert found["calls"]["write"]["bytes"] >= found["discovered_bytes"] - found["raw_bytes"]
    assert found["labels"][0] == "EMULATED FILER two-ms, scale 1/2"
    summary = out[out.index("EMULATED FILER") :]
    assert summary.index("two-ms") < summary.index("elapsed")
    assert (found["filer"]["name"], found["filer"]["scale"]) == ("two-ms", 2.0)
    assert all(call["p50_us"] > 1_900 for call in found["calls"].values())
    stations = found["filer"]["stations"]
    calls = sum(call["count"] for call in found["calls"].values())
    assert stations["metadata"]["calls"] + stations["data"]["calls"] == pytest.approx(calls, rel=0.02)
    assert 0 < stations["metadata"]["utilisation"] <= 1
    assert found["filer"]["series"]
    with bench.attached():
        assert bench.verify()["differences"] == 0
        assert job in bench.edbench("job", "list").stdout.replace("\n", "")
        assert "expected" in bench.edbench("job", "show", job).stdout
        _look_at(bench, job)
        bench.edbench("job", "delete", job)
        assert json.loads(bench.ask("job", "list", "-o", "json").stdout) == []
        bench.ask("job", "show", job, check=2)
    assert not list((bench.storage / "jobs").iterdir())
    assert not bench.leftovers()


def _look_at(bench: Bench, job: str) -> None:
    """Every command that shows something of a finished job; a trace that is written again is the same."""
    again = json.loads(bench.ask("trace", "record", job, "-o", "json").stdout)
    assert again == [bench.result()["trace"] | {"job": job}]
    truth: dict[str, Any] = json.loads((bench.corpus / "dataset.json").read_text())
    assert "0 missing, 0 extra, 0 wrong" in bench.ask("verify", job[:8]).stdout
    lines = bench.ask("review", "items", job, "-o", "jsonl").stdout.splitlines()
    items = [json.loads(line) for line in lines]
    assert len(items) == bench.result()["items"] == truth["items"]
    assert (
        len(list(csv.reader(io.StringIO(bench.ask("review", "items", "last", "-o", "csv").stdout))))
        == truth["items"] + 1
    )
    wanted = ("-o", "jsonl", "--text", "ok", "--type", "message/rfc822")
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
    """No job "completes" over nothing. With no setting at all everything is written to the directory that the command runs in.
    The very first job makes the database."""
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
    assert "0 missing, 0 extra, 0 wrong" in edbench("verify", "last", "--internal").stdout
    assert sorted(p.name for p in bench.home.iterdir()) == [".edbench", "edbench-storage", "r.json", "source"]
