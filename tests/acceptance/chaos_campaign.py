"""`python tests/chaos`: some thirty runs with faults of most families, as a person asks for them (`make test-chaos`).

Not named `test_…`, so that the ordinary run leaves it out: it takes minutes, and CI runs it by itself. Of the order:
each process is given two tests to begin with, and those of the first are the long campaign and what takes seconds."""

import json
from pathlib import Path

from installation import Bench

# Those that need neither root nor long waits.
_FAULTS = (
    "processes,database,broker,connections-cut,half-open,storage-eio,storage-enospc,storage-close,storage-short,"
    "source-shrunk,source-removed,poison-segfault,clock-back,fork-refused"
)
_KINDS = "two-pass,single-pass,requeued,cancelled"
_OTHERS = ("two-databases", "sharded", "paused", "passwords", "deleted", "processing", "export", "extraction")
_RUNS = 25


def test_a_campaign_of_faults_loses_nothing(bench: Bench, tiny: Path) -> None:
    """Every run ends by itself or with one `resume` and verifies with zero differences, and nothing is left running."""
    reported = bench.home / "chaos.jsonl"
    line = ("--corpus", str(tiny), "--faults", _FAULTS, "--kind", _KINDS, "--seed", "1", "--json", str(reported))
    done = bench.chaos(*line, "--runs", str(_RUNS), check=None)
    runs = [json.loads(row) for row in reported.read_text().splitlines()]
    assert not [run["repeat"] for run in runs if run["faults"]], done.stdout + done.stderr
    assert (done.returncode, len(runs)) == (0, _RUNS)
    assert sum(bool(run["struck"]) for run in runs) > _RUNS // 2


def test_what_cannot_be_had_is_refused_before_anything_starts(bench: Bench, tiny: Path) -> None:
    bench.env["EDBENCH_DATABASES"] = "db1=postgresql+psycopg2://somebody:secret@somewhere/db1"
    assert "its own" in bench.chaos("--corpus", str(tiny), check=2).stderr
    del bench.env["EDBENCH_DATABASES"]
    assert "must be a corpus" in bench.chaos("--corpus", str(bench.home), check=2).stderr
    assert "slot-killed" in bench.chaos("--corpus", str(tiny), "--faults", "rain", check=2).stderr


def test_a_job_of_each_other_kind_survives_a_killed_slot(bench: Bench, tiny: Path) -> None:
    reported = bench.home / "chaos.jsonl"
    line = ("--corpus", str(tiny), "--faults", "slot-killed", "--kind", ",".join(_OTHERS), "--seed", "449")
    bench.chaos(*line, "--runs", str(len(_OTHERS)), "--json", str(reported))
    assert {json.loads(row)["kind"] for row in reported.read_text().splitlines()} == set(_OTHERS)
