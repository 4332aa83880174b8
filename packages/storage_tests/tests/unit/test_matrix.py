"""What is told of a matrix, out of what fio said."""

from typing import Any

import pytest

from experiments.result.schema import Estimate
from storage_tests.fio import Done, FioRun, Ran, Way, elapsed_s, run_of
from storage_tests.matrix import OPS, Matrix, MatrixLoad, caches_text

MIB = 1 << 20
NOTHING = Way(ios=0, bytes=0, runtime_ms=0, mean_ns=0.0, max_ns=0, bins={})


def way(nbytes: int, ms: int, ns: float) -> Way:
    """So many bytes in one I/O; `ms` fio's run time, `ns` what was spent in the call."""
    return Way(ios=1, bytes=nbytes, runtime_ms=ms, mean_ns=ns, max_ns=int(ns), bins={str(int(ns)): 1})


def seen(ops: dict[str, list[Way]], *, synced: bool = True) -> FioRun:
    """Of each operation what each thread did."""
    jobs = tuple(
        Done(name=f"{op}-{number}", runtime_ms=one.runtime_ms, cpu=0.0, by_second=(),
             read=NOTHING if "write" in op else one, write=one if "write" in op else NOTHING)
        for op, ways in ops.items() for number, one in enumerate(ways)
    )  # fmt: skip
    ran = Ran(version="fio-3.33", job_file="", began=0.0, jobs=jobs)
    return FioRun(repeat=0, order=0, started_at=0.0, elapsed_s=1.0, worker_cpu=0.1, fio=ran, synced=synced, asked=MIB)


def alike(one: Way) -> dict[str, list[Way]]:
    """Every operation by one thread."""
    return {op: [one] for op in OPS}


def test_a_rate_is_that_of_all_threads_over_the_slowest() -> None:
    run = run_of(seen(alike(way(MIB, 100, 9e7)) | {"read": [way(MIB, 500, 4e8), way(MIB, 1000, 9e8)]}))
    assert run.ops["read"].mb_per_s == pytest.approx(2 * MIB / 1.0 / 1e6)
    assert not any(one.coarse or one.cut for one in run.ops.values())


def test_a_short_reading_is_timed_by_its_calls_and_a_synced_writing_by_its_whole() -> None:
    short = alike(way(MIB, 2, 5e5))
    run = run_of(seen(short))
    assert {op: one.seconds for op, one in run.ops.items()} == {
        "write": 0.002,
        "rewrite": 0.002,
        "read": 0.0005,
        "reread": 0.0005,
    }
    assert [op for op, one in run.ops.items() if one.coarse] == list(OPS)
    assert run_of(seen(short, synced=False)).ops["write"].seconds == 0.0005


def test_what_takes_less_than_a_millisecond_takes_one() -> None:
    job = Done(name="read-0", runtime_ms=0, cpu=0.0, by_second=(), read=way(MIB, 1, 3e5), write=NOTHING)
    assert elapsed_s([job]) == 0.001


def test_what_moved_less_than_asked_is_cut() -> None:
    """By time, or since the writing before it was."""
    run = run_of(seen(alike(way(MIB, 100, 9e7)) | {"reread": [way(MIB // 2, 1000, 9e8)]}))
    assert [op for op, one in run.ops.items() if one.cut] == ["reread"]


def point(read_s: float, ratio: float) -> Any:
    """A cell with that ratio."""
    read, again = (
        way(MIB, round(read_s * 1000), read_s * 1e9),
        way(MIB, round(read_s * 1000 / ratio), read_s * 1e9 / ratio),
    )
    run: FioRun = run_of(seen(alike(read) | {"reread": [again]}))
    median = Estimate(median=ratio, low=None, high=None, coverage=None, n=1)
    return Matrix.ABOUT.point(at=MatrixLoad(MIB, 65536, 1), figures={"cache_ratio": median}, limited=False, limits=(),
                       repeats=(run,))  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([(2.0, 1.0), (2.0, 1.1)], "no cache answered: re-read ÷ read is 1.05"),
        ([(2.0, 1.0), (2.0, 40.0)], "A CACHE ANSWERED at 1 of 2 cells"),
        ([(0.01, 1.5)], "no cache answered"),  # too short for so little
        ([(0.01, 3.0)], "A CACHE ANSWERED at 1 of 1 cells"),
    ],
)
def test_a_cache_that_answered_is_called_out(cells: list[tuple[float, float]], message: str) -> None:
    assert caches_text([point(*cell) for cell in cells]).startswith(message)


def test_a_cell_is_named_in_binary_units() -> None:
    load = MatrixLoad(8 * MIB, 65536, 2)
    assert str(load) == "2 threads, 64 KiB records, 8 MiB files"
    assert load.shown() == {"file": "8 MiB", "record": "64 KiB", "threads": 2}
