"""A job of one worker with the filer's own counters beside: calls, what the client sent, what the servers did, by phase."""

from __future__ import annotations

import contextlib
import gzip
import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.bench_home import EDBENCH
from benchmarks.results.bench import Bench, NotOfThis, StepFailed

_EVERY = "0.25"
_NAME = "counted"
_FIRST_S = 60.0  # for the first look at the counters


def made(bench: Bench) -> dict[str, Any]:
    """Growth of every counter within each phase; raises NotOfThis, StepFailed."""
    counting = bench.place.counting
    if counting is None:
        if bench.storage.kind == "filer":
            raise StepFailed("the filer's own command is not installed here (Debian: moosefs-cli)")
        raise NotOfThis("no servers that count what they are asked")
    if counting.begin:
        bench.run(list(counting.begin))
    files = {side: bench.work / f"counters-{side}.jsonl" for side in ("client", "server")}
    with contextlib.ExitStack() as collectors:
        for side, (kind, command) in (("client", counting.client), ("server", counting.server)):
            collectors.enter_context(_collected(kind, command, files[side]))
        asked = (
            "--corpus",
            str(bench.source),
            "--workers",
            "1",
            "--slots",
            "1",
            "--repeats",
            "1",
            "--seed",
            "1",
            "--cold",
        )
        page = bench.edbench("bench", "scale-up", *asked, *bench.cache, there=True)
    package = bench.keep(_NAME, page)
    moments = {side: _moments(file) for side, file in files.items()}
    return {
        "kinds": {"client": counting.client[0], "server": counting.server[0]},
        "every_s": float(_EVERY),
        "phases": [
            {"phase": phase, "began": began, "ended": ended}
            | {side: _growth(told, began, ended) for side, told in moments.items()}
            for phase, began, ended in _phases(package)
        ],
    }


@contextlib.contextmanager
def _collected(kind: str, command: tuple[str, ...], out: Path) -> Iterator[None]:
    out.unlink(missing_ok=True)
    asked = [str(EDBENCH), "counters", "collect", kind, "--output-file", str(out), "--every", _EVERY, "--", *command]
    process = subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + _FIRST_S
    try:
        while not out.exists() or out.read_text().count("\n") < 2:
            try:
                if time.monotonic() > until:
                    raise StepFailed(f"collect-counters {kind}: nothing was counted within {_FIRST_S:.0f} s")
                process.wait(0.1)
                said = (process.stderr.read() if process.stderr else "").strip()
                raise StepFailed(f"collect-counters {kind}: {said.rpartition(chr(10))[2][:200]}")
            except subprocess.TimeoutExpired:
                continue
        yield
    finally:
        process.terminate()  # every line is written at once
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _phases(package: Path) -> list[tuple[str, float, float]]:
    """Of the one run, by the database's clock, which is this host's."""
    (run,) = (package / "raw/runs").glob("*.json.gz")
    (job,) = json.loads(gzip.decompress(run.read_bytes()))["observed"]["jobs"]
    table = job["tables"]["phase_spans"]
    places = [table["columns"].index(name) for name in ("phase", "started", "finished")]
    return [(str(row[places[0]]), float(row[places[1]]), float(row[places[2]])) for row in table["rows"]]


def _moments(file: Path) -> list[tuple[float, Mapping[str, float]]]:
    lines = [json.loads(line) for line in file.read_text().splitlines()[1:]]
    return [(float(line["at"]), line["values"]) for line in lines]


def _growth(moments: list[tuple[float, Mapping[str, float]]], began: float, ended: float) -> dict[str, int]:
    """Between two moments that were looked at counts are taken to grow evenly: phases follow each other at once, and nothing is in two."""
    names = dict.fromkeys(name for _, counts in moments for name in counts)
    grown = {name: round(_at(moments, name, ended) - _at(moments, name, began)) for name in names}
    return {name: count for name, count in grown.items() if count > 0}


def _at(moments: list[tuple[float, Mapping[str, float]]], name: str, when: float) -> float:
    before = [(at, counts.get(name, 0.0)) for at, counts in moments if at <= when][-1:]
    after = [(at, counts.get(name, 0.0)) for at, counts in moments if at > when][:1]
    if not before or not after:
        return (before or after)[0][1]
    ((since, low),), ((until, high),) = before, after
    return low + (high - low) * (when - since) / (until - since)
