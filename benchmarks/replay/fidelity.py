"""Whether a replay at recorded speed gives what was recorded: a job on the emulated filer, and its trace played there."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.bench_home import BenchHome

FILER = "titan"
_SCALE = "0.0003"  # of the reference corpus: some 8,000 calls, under a minute on that filer
_SLOTS = 2  # more than processors, and a recorded call also has the time in which its slot waited for one


def measure(home: BenchHome) -> dict[str, dict[str, Any]]:
    """Figures by name: value, unit, target, at_most, note. The replay has as many clients as the job had slots."""
    corpus = home.directory / "recorded"
    home.run("corpus", "generate", str(corpus), "--profile", "reference", "--scale", _SCALE, "--seed", "1")
    job = home.discover(corpus, "--workers", "1", "--slots", str(_SLOTS), "--filer", FILER, "--trace")
    target = home.directory / "replayed"
    target.mkdir()
    file = home.directory / "replay.json"
    home.run(
        "trace",
        "replay",
        "--repeats",
        "1",
        str(job["trace"]["path"]),
        "--path",
        str(target),
        "--filer",
        FILER,
        "-o",
        "json",
        "--output-file",
        str(file),
    )
    result = json.loads(file.read_text())
    rows = {row["what"]: row for row in result["fidelity"]["rows"]}
    point = result["points"][0]
    run = point["repeats"][0]
    note = (
        f"{run['calls']:,} calls of {point['at']['clients']} clients on {FILER}; not as recorded: "
        f"{sum(run['differences'].values()):,}; {'limited by the replayer' if point['limited'] else 'not limited'}"
    )
    return {
        "replay_calls_per_s": _figure(rows["calls a second"], 5, note),
        "replay_p50": _figure(rows["all calls p50"], 10, "service time of all calls"),
        "replay_p99": _figure(rows["all calls p99"], 10, "service time of all calls"),
    }


def _figure(row: dict[str, Any], target: float, note: str) -> dict[str, Any]:
    compared = f"recorded {row['recorded']:,.1f}, replayed {row['replayed']:,.1f} {row['unit']}; {note}"
    return {
        "value": abs(row["difference"]) * 100,
        "unit": "% off the recorded",
        "target": target,
        "at_most": True,
        "note": compared,
    }
