"""The emulated filer: whether it saturates where it says, bends nothing where it should not, and lets slots overlap."""

from __future__ import annotations

import dataclasses
import math
import multiprocessing
import os
import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks.bench_home import BenchHome
from core.filer import FilerModel, load_filer
from core.filer.arbiter import Arbiter, ArbiterCounts
from core.filer.emulation import EmulatedFiler
from core.filer.pacing import Pacer
from core.filer.use import SHARED_MEMORY
from core.operations import Op

FEW, MANY = 4, 32  # slots below and above the knee of `_model`
_MODEL = 'name = "bench"\n[metadata]\nservers = 8\nservice_us.default = 8000.0\n[mix]\nstat = 1.0\n'
_ZERO = 'name = "bench"\n[mix]\nstat = 1.0\n'
_TWO_MS = """name = "two-ms"
[metadata]
servers = 64
service_us.default = 2000.0
[data]
servers = 64
service_us.default = 2000.0
"""
_BOOKINGS = 20_000


@dataclasses.dataclass(frozen=True, slots=True)
class Load:
    """What a number of slots got out of an emulated filer, each asking again as soon as it is served."""

    calls_per_s: float
    mean_wait_ms: float
    cpu_share: float  # of all processors of the host, by these slots


def measure(home: BenchHome, corpus: Path, pairs: int = 3, seconds: float = 3.0) -> dict[str, dict[str, Any]]:
    """Figures by name: value, unit, target, at_most, note. Removes what it makes in shared memory."""
    model = _written(home.directory, "bench", _MODEL)
    ceiling = model.ceiling_calls_per_s
    few, many = _load(model, FEW, seconds), _load(model, MANY, seconds)
    double = _load(dataclasses.replace(model, scale=model.scale / 2), MANY, seconds)
    zero = _load(_written(home.directory, "zero", _ZERO), FEW, 1.0)
    off = abs(many.calls_per_s / ceiling - 1) * 100
    note = f"{MANY} slots get {many.calls_per_s:.0f} of {ceiling:.0f} calls/s, CPU {many.cpu_share:.0%}"
    wait = f"{FEW} slots wait {few.mean_wait_ms:.2f} ms, {MANY} slots {many.mean_wait_ms:.2f} ms"
    return {
        "filer_booking": _figure(_booking_us(model), "us", 10, True, "one call through the arbiter, nobody else"),
        "filer_saturation_error": _figure(off, "% of the ceiling", 5, True, note),
        "filer_host_cpu": _figure(many.cpu_share * 100, "%", 60, True, f"of {os.cpu_count()} processors at saturation"),
        "filer_wait_rise": _figure(many.mean_wait_ms - few.mean_wait_ms, "ms", 1, False, wait),
        "filer_doubled": _figure(
            double.calls_per_s / many.calls_per_s, "x", 1.9, False, "calls/s at twice the ceiling"
        ),
        "filer_zero_wait": _figure(
            zero.mean_wait_ms, "ms", 0, True, f"no service time, {zero.calls_per_s:.0f} calls/s"
        ),
        "filer_8_workers": _overlap(home, corpus, pairs),
    }


def _figure(value: float, unit: str, target: float, at_most: bool, note: str) -> dict[str, Any]:
    return {"value": value, "unit": unit, "target": target, "at_most": at_most, "note": note}


def _written(directory: Path, name: str, text: str) -> FilerModel:
    file = directory / f"{name}.toml"
    file.write_text(text)
    model = load_filer(str(file))
    assert model is not None
    return model


def _place(name: str) -> Path:
    return SHARED_MEMORY / f"edbench-filer-bench-{os.getpid()}-{name}"


def _booking_us(model: FilerModel) -> float:
    arbiter = Arbiter(_place("booking"), model)
    start = time.perf_counter()
    for _ in range(_BOOKINGS):
        arbiter.book(Op.STAT, 0, 0)
    each = (time.perf_counter() - start) / _BOOKINGS
    arbiter.close_and_remove()
    return each * 1e6


def _slot(place: Path, model: FilerModel, until: float) -> None:
    arbiter = Arbiter(place, model)
    filer = EmulatedFiler(arbiter, Pacer())
    while time.monotonic() < until:
        filer.serve(Op.STAT, 0, time.monotonic_ns())
    arbiter.close()


def _load(model: FilerModel, slots: int, seconds: float) -> Load:
    """Counted from the moment all slots are at it until shortly before the first ends."""
    place = _place("load")
    arbiter = Arbiter(place, model)
    start = time.monotonic() + 1.0
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_slot, args=(place, model, start + seconds + 0.2)) for _ in range(slots)]
    for process in processes:
        process.start()
    used = time.process_time()
    time.sleep(max(0.0, start - time.monotonic()))
    began, before, cpu = time.monotonic(), arbiter.snapshot(), _cpu([p.pid for p in processes])
    time.sleep(seconds)
    took, after = time.monotonic() - began, arbiter.snapshot()
    busy = _cpu([p.pid for p in processes]) - cpu + time.process_time() - used
    for process in processes:
        process.join()
    arbiter.close_and_remove()
    return _between(before, after, took, busy)


def _between(before: ArbiterCounts, after: ArbiterCounts, took: float, busy: float) -> Load:
    was, now = before.stations["metadata"], after.stations["metadata"]
    calls = now.calls - was.calls
    wait = (now.waited_ns - was.waited_ns) / calls / 1e6 if calls else math.nan
    return Load(calls / took, wait, busy / took / (os.cpu_count() or 1))


def _cpu(pids: list[int | None]) -> float:
    """Processor seconds of these processes, exact to 10 ms each."""
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def _overlap(home: BenchHome, corpus: Path, pairs: int) -> dict[str, Any]:
    """Slots that wait for the filer must overlap: 8 single-slot workers against 1, at 2 ms a call."""
    file = home.directory / "two-ms.toml"
    file.write_text(_TWO_MS)
    ratios, elapsed = [], []
    for _ in range(pairs):
        seconds = {}
        for workers in (1, 8):
            result = home.discover(corpus, "--workers", str(workers), "--slots", "1", "--filer", str(file))
            home.run("job", "delete", str(result["job_id"]))
            seconds[workers] = float(result["elapsed_s"])
        ratios.append(seconds[1] / seconds[8])
        elapsed.append(seconds)
    note = "2 ms a call, one slot a worker; " + ", ".join(f"{e[1]:.1f} s : {e[8]:.1f} s" for e in elapsed)
    return _figure(statistics.median(ratios), "x of 1 worker", 4, False, note)
