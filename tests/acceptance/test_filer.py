"""A job on an emulated filer, as a user runs it."""

from __future__ import annotations

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


def test_an_impossible_filer_is_refused_before_anything_starts(bench: Bench) -> None:
    (bench.home / "bad.toml").write_text('name = "bad"\n[metadata]\nservers = -1\n')
    done = bench.ask("discover", str(bench.corpus), "--filer", "bad.toml", check=2)
    assert "metadata.servers is -1" in done.stderr.replace("\n", " ")
    assert not bench.scratch.exists()
