"""Several databases as a user has them: simultaneous jobs (report R1's way), and one corpus shared out."""

import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from installation import Bench, until
from schema_check import refuse_unlike_schema
from traced import check_trace


@pytest.fixture
def bench(bench: Bench, two_databases: Path) -> Bench:
    """An installation of this test's own, with two databases."""
    bench.furniture = two_databases
    return bench


@pytest.mark.usefixtures("attached")
def test_simultaneous_jobs_are_paused_resumed_and_reported_as_one(bench: Bench, small: Path) -> None:
    options = ("--databases", "2", "--source-copies", "--workers", "1", "--slots", "2", "--trace")
    process, hold = bench.discover_held("expand", 1, *options, corpus=small)
    (copies,) = (bench.storage / "corpora").iterdir()
    assert sorted(path.name for path in copies.iterdir()) == ["db1", "db2"]
    pause = bench.start("job", "pause", "last")
    for name in ("db1", "db2"):
        until(lambda name=name: bench.query("SELECT 1 FROM job WHERE state <> 'running'", name), "it is asked to pause")
    hold.let_go()
    assert bench.end(pause).splitlines()[-1].endswith(" paused")
    assert "paused by another command" in bench.end(process)
    listed = json.loads(bench.ask("job", "list", "-o", "json").stdout)
    refuse_unlike_schema("job-list", listed)
    assert [row["state"] for row in listed] == ["paused", "paused"]
    assert copies.is_dir()

    done = bench.edbench("job", "resume", "last", *bench.to_result)
    assert not copies.exists()
    out = done.stderr + done.stdout
    found = bench.result()
    group = found["job_id"]
    assert out.splitlines()[-1].strip() == group
    assert (found["databases"], found["source_copies"], found["kind"]) == (2, 2, "simultaneous")
    first, second = found["jobs"]
    assert [first["database"], second["database"]] == ["db1", "db2"]
    assert first["items"] == second["items"] > 0
    assert found["longest_job_s"] == max(first["elapsed_s"], second["elapsed_s"])
    starts, ends = zip(first["span_s"], second["span_s"], strict=True)
    assert found["elapsed_s"] == pytest.approx(max(ends) - min(starts), abs=0.001)
    assert found["elapsed_s"] >= found["longest_job_s"] - 0.001  # both are rounded
    assert found["discovered_bytes"] == first["discovered_bytes"] + second["discovered_bytes"]
    rate = found["discovered_bytes"] / found["elapsed_s"] * 3.6e-6
    assert found["gb_per_hour_discovered"] == pytest.approx(rate, rel=0.01)  # both are rounded
    assert found["calls"]["open"]["count"] == sum(job["calls"]["open"]["count"] for job in found["jobs"])
    for job in found["jobs"]:
        assert job["labels"]
        assert job["state"] == "completed_with_exceptions"
        assert "".join(job["trace"]["path"].split()) in "".join(out.split())  # however it was broken into lines
        check_trace(job)
    _look_at(bench, found, _a_term(small))
    bench.edbench("job", "delete", group)
    assert "no job yet" in bench.ask("job", "list").stderr
    assert not list((bench.storage / "jobs").iterdir())


def _look_at(bench: Bench, found: dict[str, Any], term: str) -> None:
    """Every command tells of the group as of one, and each job stands in it."""
    group, (first, second) = found["job_id"], found["jobs"]
    again = json.loads(bench.ask("trace", "record", group, "-o", "json").stdout)
    of_calls = ("job", "path", "calls", "lost")  # the copies of the source, which a trace describes too, are gone
    assert [tuple(one[key] for key in of_calls) for one in again] == [
        (job["job_id"], *(job["trace"][key] for key in of_calls[1:])) for job in found["jobs"]
    ]
    checked = bench.verify()
    assert checked["differences"] == 0
    assert [part["manifest_items"] for part in checked["jobs"]] == [first["items"]] * 2
    shown = bench.ask("job", "list").stdout
    assert all(text in shown for text in (group, first["job_id"], second["job_id"], "group of 2"))
    (line,) = [line.split() for line in shown.splitlines() if line.startswith(group)]
    assert f"{first['items'] + second['items']:,}" in line
    items = [json.loads(line) for line in bench.ask("review", "items", group, "-o", "jsonl").stdout.splitlines()]
    assert Counter((item["database"], item["job"]) for item in items) == {
        (job["database"], job["job_id"]): job["items"] for job in found["jobs"]
    }
    hits = json.loads(bench.ask("review", "search", group, term, "-o", "json").stdout)
    assert {(hit["database"], hit["job"]) for hit in hits} == {(j["database"], j["job_id"]) for j in found["jobs"]}
    document = json.loads(bench.ask("job", "show", group, "-o", "json").stdout)
    assert [job["items"] for job in document["jobs"]] == [first["items"], second["items"]]
    assert document["sum"]["items"] == first["items"] + second["items"]
    (line,) = [line.split() for line in bench.ask("job", "show", group).stdout.splitlines() if line.startswith("sum")]
    assert f"{first['items'] + second['items']:,}" in line
    refused = bench.ask("job", "delete", first["job_id"], check=2)
    assert f"edbench job delete {group}" in refused.stderr


@pytest.mark.usefixtures("attached")
def test_a_sharded_corpus_survives_the_death_of_one_server(bench: Bench) -> None:
    """One corpus's custodians over two databases, one of them killed in the middle: together they have every item
    once, and the keeper has started that server again while the other never stopped."""
    hold = bench.hold("index", 0)  # the jobs are not over too soon
    process = bench.discover("--databases", "2", "--shard", "--workers", "2", "--slots", "2", "--lease-seconds", "3")
    done = "SELECT 1 FROM task WHERE phase = 'expand' AND state = 'done'"
    until(lambda: bench.query(done, "db2") or hold.reached() or process.poll() is not None, "it is in the middle")
    before = bench.addresses()
    hold.let_go()
    os.kill(before.server_of("db2").pid, signal.SIGKILL)
    until(lambda: bench.addresses().server_of("db2").pid != before.server_of("db2").pid, "the server is started again")
    assert bench.addresses().server_of("db1").pid == before.server_of("db1").pid
    bench.end(process)
    found = bench.result()
    assert found["kind"] == "sharded"
    assert all(job["items"] > 0 for job in found["jobs"])
    with bench.attached():
        checked = bench.verify()
        assert json.loads(bench.ask("review", "search", "last", _a_term(bench.corpus), "-o", "json").stdout)
        refused = bench.ask("produce", "export", "last", "--out", str(bench.home / "out"), check=2).stderr.replace(
            "\n", " "
        )
    assert all(f"{job['database']}: " in refused and job["job_id"] in refused for job in found["jobs"]), refused
    assert "create a job for each" in refused
    assert not (bench.home / "out").exists()
    assert (checked["differences"], checked["doubled"], checked["missing"]) == (0, 0, 0)
    assert checked["items"] == checked["manifest_items"] == found["items"]


def _a_term(corpus: Path) -> str:
    rows = pq.read_table(corpus / "manifest.parquet")["terms"].to_pylist()
    return f'"{next(term for row in rows for term in row or [])}"'
