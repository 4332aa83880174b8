"""The main job, as the README shows it."""

from __future__ import annotations

import json

import pytest
from installation import Bench

KEYS = {
    "job_id", "state", "workers", "slots", "index_engine", "passes", "elapsed_s", "raw_bytes", "discovered_bytes",
    "expansion", "index_bytes", "gb_per_hour_raw", "gb_per_hour_discovered", "items", "items_per_second", "containers",
    "exceptions", "children", "phases", "calls",
}  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [("--workers", "2"), ("--workers", "1"), ("--workers", "2", "--single-pass"), ("--workers", "2", "--layout", "per-worker", "--fsync", "task")],
    ids=["two-pass", "one-worker", "single-pass", "per-worker-fsync"],
)  # fmt: skip
def test_a_job_finds_exactly_what_the_manifest_says(bench: Bench, options: tuple[str, ...]) -> None:
    """Every mode gives zero differences, the numbers of --json, and the job id as the last line."""
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


def test_later_commands_see_the_job(bench: Bench) -> None:
    """The embedded services keep their data, so search, items, job and delete work in commands of their own."""
    bench.end(bench.discover("--workers", "2"))
    job = bench.result()["job_id"]
    assert job in bench.edbench("jobs").stdout.replace("\n", "")
    assert "expected" in bench.edbench("job", job).stdout
    lines = [json.loads(line) for line in bench.edbench("items", job, "--jsonl").stdout.splitlines()]
    assert len(lines) == bench.result()["items"]
    term = next(t for t in _terms(bench) if t)
    hits = json.loads(bench.edbench("search", job, term, "--json").stdout)
    assert hits
    bench.edbench("delete", job)
    assert not list(bench.storage.rglob(f"jobs/{job.replace('-', '')}"))
    assert bench.edbench("job", job, check=None).returncode == 2


def _terms(bench: Bench) -> list[str]:
    import pyarrow.parquet as pq

    return [t for row in pq.read_table(bench.corpus / "manifest.parquet")["terms"].to_pylist() for t in row or []]


def test_an_empty_directory_is_a_completed_job(bench: Bench) -> None:
    """Nothing to do is no failure."""
    empty = bench.home / "empty"
    empty.mkdir()
    bench.end(bench.discover("--workers", "1", corpus=empty))
    assert bench.result()["state"] == "completed"
    assert bench.result()["items"] == 0


def test_a_source_that_does_not_exist_is_refused_before_anything_starts(bench: Bench) -> None:
    """Exit status 2, one line, nothing started."""
    done = bench.edbench("discover", str(bench.home / "nowhere"), check=2)
    assert len(done.stderr.strip().splitlines()) == 1
    assert "nowhere" in done.stderr
    assert not (bench.scratch / "logs").exists()
