"""`edbench chaos`: some thirty runs with faults of most families, as a person asks for them (`make test-chaos`).

Not named `test_…`, so that the ordinary run leaves it out: it takes minutes, and CI runs it by itself. Of the order: each of
three processes is given two tests to begin with, one that takes minutes and one that takes seconds.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from installation import Bench
from once import MakeOnce

from dataset_gen.corpus import generate_corpus

# Those that need neither root nor long waits.
_FAULTS = (
    "processes,database,broker,connections-cut,half-open,storage-eio,storage-enospc,storage-close,storage-short,"
    "source-shrunk,source-removed,poison-segfault,clock-back,fork-refused"
)
# Kinds, seed, runs: 25 together. They strike with 27 of the 30 faults, as the seeds deal them out.
_CAMPAIGNS = (("two-pass,cancelled", 38, 13), ("single-pass,requeued", 5, 12))
_OTHERS = ("two-databases,paused,deleted,passwords", "sharded,replay,processing,export")


@pytest.fixture(scope="module")
def tiny(once: MakeOnce) -> Path:
    """Some hundred items of every format, with every kind of planned fault."""
    return once(
        "tiny corpus", lambda place: generate_corpus(place, "reference", 0.00005, 7, 1, lambda done, total: None)
    )


def _campaign(bench: Bench, tiny: Path, kinds: str, seed: int, runs: int) -> None:
    """Every run ends by itself or with one `resume` and verifies with zero differences; the same command again finds all of
    them done, and nothing is left running."""
    told = bench.home / "chaos.json"
    corpus = ("--corpus", str(tiny), "--faults", _FAULTS, "--kind", kinds)
    line = ("chaos", *corpus, "--seed", str(seed), "--runs", str(runs))
    first = bench.edbench(*line, "--json", str(told), check=None)
    summary = json.loads(told.read_text())
    assert not summary["failures"], first.stdout + first.stderr
    assert (first.returncode, summary["runs"], summary["survived"]) == (0, runs, runs)
    assert sum(row["runs"] for row in summary["table"] if row["phase"] != "-") > runs // 2
    again = bench.edbench(*line)
    assert "survived," not in again.stderr  # no run was done again


def test_a_campaign_of_faults_loses_nothing(bench: Bench, tiny: Path) -> None:
    """Over jobs from their creation to their end, or to that which their owner makes."""
    _campaign(bench, tiny, *_CAMPAIGNS[0])


def test_a_corpus_without_a_manifest_is_refused(bench: Bench) -> None:
    """It cannot be verified against."""
    assert "manifest" in bench.edbench("chaos", "--corpus", str(bench.home), check=2).stderr


def test_a_campaign_over_other_kinds_loses_nothing(bench: Bench, tiny: Path) -> None:
    """In one pass, and with exceptions gone over again."""
    _campaign(bench, tiny, *_CAMPAIGNS[1])


def test_services_of_others_are_refused(bench: Bench, tiny: Path) -> None:
    """They are not killed."""
    bench.env["EDBENCH_DATABASES"] = "db1=postgresql+psycopg2://somebody:secret@somewhere/db1"
    assert "its own" in bench.edbench("chaos", "--corpus", str(tiny), check=2).stderr


def _each_once(bench: Bench, tiny: Path, kinds: str) -> None:
    """A slot is killed in a job of each of four kinds: seed 25 deals them out so."""
    told = bench.home / "chaos.json"
    line = ("chaos", "--corpus", str(tiny), "--faults", "slot-killed", "--kind", kinds, "--seed", "25", "--runs", "4")
    bench.edbench(*line, "--json", str(told), check=None)
    summary = json.loads(told.read_text())
    assert not summary["failures"]
    ran = [json.loads(row) for row in Path(summary["journal"]).read_text().splitlines()]
    assert {row["kind"] for row in ran if "kind" in row} == set(kinds.split(","))


def test_a_job_of_each_other_kind_survives_a_killed_slot(bench: Bench, tiny: Path) -> None:
    """Those that the campaigns above leave out."""
    _each_once(bench, tiny, _OTHERS[0])


def test_a_fault_that_is_not_known_is_refused(bench: Bench, tiny: Path) -> None:
    """With those that there are."""
    assert "slot-killed" in bench.edbench("chaos", "--corpus", str(tiny), "--faults", "rain", check=2).stderr


def test_a_job_that_writes_survives_a_killed_slot(bench: Bench, tiny: Path) -> None:
    """Over two databases, a replay, and what is made of a discovery's items."""
    _each_once(bench, tiny, _OTHERS[1])
