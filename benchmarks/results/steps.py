"""What is measured on a storage, in this order. A step leaves a package, an entry of the record, or both."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.results import counted, tools
from benchmarks.results.bench import Bench
from experiments.result.codec import read_result

BOUNDS = "read=20ms,write=40ms"
OUTSTANDING = 16  # of block-8k, case 1
_DRIFT_GROUPS = 12  # at least: fewer say nothing of a drift
CALIBRATION, MOST, LOOP, KNEE, COUNTED = "discovery-1-2", "discovery-4", "closed-loop", "knee", "counted"
EMPTY, BLOCK, DRIFT, SWEEP, MATRIX = "metadata", "block-8k", "insert-drift", "client-sweep", "matrix"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """`make` gives what is added to the record under `key`, beside the package that it keeps."""

    name: str
    make: Callable[[Bench], Any]
    key: str = ""  # of the record; empty: it is all in the package
    s3: bool = False  # also on an endpoint


def steps() -> tuple[Step, ...]:
    """The replay says how long a job would take there, then the job is run.
    Where the time is over, the last ones are what is left out."""
    return (
        Step(name=LOOP, make=_closed_loop),
        Step(name=CALIBRATION, make=_discovery(CALIBRATION, "1,2")),
        Step(name=MOST, make=_discovery(MOST, "4")),
        Step(name=EMPTY, make=_profile(EMPTY, "insert-drift", _empty_files), s3=True),
        Step(name="tools-metadata", make=tools.metadata, key="beside"),
        Step(name=SWEEP, make=_profile(SWEEP, "client-sweep", _sweep), s3=True),
        Step(name="tools-sweep", make=tools.sweep, key="beside"),
        Step(name=MATRIX, make=_profile(MATRIX, "matrix", _matrix)),
        Step(name="tools-matrix", make=tools.matrix, key="beside"),
        Step(name=COUNTED, make=counted.made, key="counters"),
        Step(name=DRIFT, make=_profile(DRIFT, "insert-drift", _drift), s3=True),
        Step(name=BLOCK, make=_profile(BLOCK, "block-8k", _block)),
        Step(name="tools-block", make=tools.block, key="beside"),
        Step(name=KNEE, make=_knee),
    )


def _discovery(name: str, workers: str) -> Callable[[Bench], None]:
    def make(bench: Bench) -> None:
        asked = ("--corpus", str(bench.source), "--workers", workers, "--slots", "1", "--seed", "1", "--cold")
        page = bench.edbench(
            "bench", "scale-up", *asked, "--repeats", str(bench.sizes.repeats), *bench.cache, there=True
        )
        bench.keep(name, page)

    return make


def _closed_loop(bench: Bench) -> None:
    clients = ",".join(map(str, bench.sizes.clients))
    asked = ("--path", str(bench.empty("replay")), "--clients", clients, "--pace", "job", "--seed", "1")
    bench.keep(LOOP, bench.edbench("trace", "replay", "--repeats", "1", str(bench.trace), *asked, *bench.cache))


def _knee(bench: Bench) -> None:
    asked = ("--path", str(bench.empty("replay")), "--pace", "max", "--max-p99", BOUNDS)
    most = ("--max-clients", str(bench.sizes.most_clients), "--seed", "1")
    bench.keep(KNEE, bench.edbench("trace", "replay", "--repeats", "1", str(bench.trace), *asked, *most, *bench.cache))


def _profile(name: str, profile: str, settings: Callable[[Bench], dict[str, object]]) -> Callable[[Bench], None]:
    def make(bench: Bench) -> None:
        given = [word for key, value in settings(bench).items() for word in ("--set", f"{key}={value}")]
        s3 = bench.place.s3
        where = ("--s3", f"{s3}/{name}") if s3 else ("--path", str(bench.empty(name)))
        page = bench.edbench("bench", "storage", "--repeats", "1", profile, *where, *given, "--seed", "1", *bench.cache)
        bench.keep(name, page)

    return make


def _empty_files(bench: Bench) -> dict[str, object]:
    files = bench.sizes.empty_files
    return {"size": 0, "files": files, "group": max(1, files // 12), "clients": "1,8", "directories": "own"}


def _drift(bench: Bench) -> dict[str, object]:
    """As many as are wanted, or as last so long at the rate that empty ones had; whole groups, and some of them."""
    sizes = bench.sizes
    files = min(sizes.drift_files, _empty_rate(bench) * sizes.drift_s)
    groups = max(_DRIFT_GROUPS, round(files / sizes.drift_group))
    return {"files": groups * sizes.drift_group, "group": sizes.drift_group, "clients": "8", "directories": "shared"}


def _empty_rate(bench: Bench) -> float:
    """Files a second of eight clients, as measured before; without end where they were not."""
    package = bench.state / "packages" / EMPTY
    if not package.is_dir():
        return math.inf
    points = read_result(package).points
    return max(point.figures["files_per_s"].median for point in points)


def _block(bench: Bench) -> dict[str, object]:
    sizes = bench.sizes
    through = {} if bench.direct else {"direct": "false", "engine": "io_uring"}
    return {
        "cases": "1,6", "outstanding": OUTSTANDING, "most_outstanding": 32, "path_size": sizes.block_bytes,
        "seconds": sizes.block_s, "ramp_seconds": sizes.block_ramp_s, **through,
    }  # fmt: skip


def _sweep(bench: Bench) -> dict[str, object]:
    clients = ",".join(map(str, bench.sizes.objects))
    return {"clients": clients, "start": "together", "size": bench.sizes.object_bytes}


def _matrix(bench: Bench) -> dict[str, object]:
    sizes = bench.sizes
    files = ",".join(f"{mib}MiB" for mib in sizes.matrix_mib)
    threads = ",".join(map(str, sizes.matrix_threads))
    return {"threads": threads, "records": "64KiB,1MiB", "files": files, "seconds": sizes.matrix_s}
