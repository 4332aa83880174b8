"""A job on an emulated filer, and on a site around one, as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from installation import Bench

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


@pytest.mark.usefixtures("attached")
def test_a_job_on_an_emulated_filer_says_so_first(bench: Bench) -> None:
    """Every call lasts as long as the filer says, the result names it first of all, and nothing else changes."""
    (bench.home / "slow.toml").write_text(TWO_MS)
    out = bench.end(bench.discover("--workers", "1", "--slots", "2", "--filer", "slow.toml"))
    found = bench.result()
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
    assert bench.verify()["differences"] == 0


SITE = """
name = "tiny"
filer = "slow.toml"
data_scale = 7
[worker]
cores = 2
[[host]]
cores = 2
[[database]]
servers = 2
transaction_us = 500.0
row_us = 500.0
"""


@pytest.mark.usefixtures("attached")
def test_a_job_on_an_emulated_site_books_its_database_and_its_processors(bench: Bench, tiny: Path) -> None:
    """Through the command: each task claims, learns what is to be done and finishes at the emulated server, its slots' work is
    served by the emulated cores, and what is printed and kept says which site it was, not that it was a filer."""
    (bench.home / "slow.toml").write_text(TWO_MS)
    (bench.home / "site.toml").write_text(SITE)
    out = bench.end(bench.discover("--workers", "1", "--slots", "2", "--site", "site.toml", corpus=tiny))
    found = bench.result()
    assert found["labels"][0] == "EMULATED SITE tiny, data 1/7, time x 1"
    assert "EMULATED SITE" in out
    assert "EMULATED FILER" not in out
    ((tasks,),) = bench.query("SELECT count(*) FROM task")
    stations = found["filer"]["stations"]
    assert stations["database 1"]["calls"] >= 3 * tasks
    assert all(stations[name]["utilisation"] > 0 for name in ("database 1", "host 1"))
    assert found["filer"]["site_waits"]["booked_s"] > 0


def test_more_workers_than_a_site_has_shares_are_refused(bench: Bench) -> None:
    """Worker 257 would have had the share of another; before anything starts."""
    done = bench.ask("discover", str(bench.corpus), "--site", "laptop-nas", "--workers", "257", check=2)
    assert "at most 256 are possible" in done.stderr.replace("\n", " ")
    assert not bench.scratch.exists()


def test_an_impossible_filer_is_refused_before_anything_starts(bench: Bench) -> None:
    """One line, exit status 2, and no services."""
    (bench.home / "bad.toml").write_text('name = "bad"\n[metadata]\nservers = -1\n')
    done = bench.ask("discover", str(bench.corpus), "--filer", "bad.toml", check=2)
    assert "metadata.servers is -1" in done.stderr.replace("\n", " ")
    assert not bench.scratch.exists()
