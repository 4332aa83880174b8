"""Profiles dedup and analysis-replay, run whole: result, package, report, and nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from memory_traces import write_trace
from profile_runs import carried_out
from replay_traces import reading_trace

from core.errors import UsageError
from storage_tests.owner import MARKER, claimed
from storage_tests.profile import Targets, made

pytest.importorskip("replay")


ROOT = Path(__file__).parents[4]
_DEADLINE_S = 120.0


def test_dedup_writes_each_type_and_states_what_became_of_it(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for number in range(4):
        (own / str(number)).write_bytes(bytes(range(256)) * 2_000)
    used = tmp_path / "used"
    used.write_text('#!/bin/sh\necho "$(cat "$0.count") bytes are in use"\n')
    reduce = tmp_path / "reduce"
    reduce.write_text(f'#!/bin/sh\ntest -d "$1" && echo 1500000 >{used}.count\n')
    for script in (used, reduce):
        script.chmod(0o755)
    Path(f"{used}.count").write_text("1000000\n")
    given = [
        "data=zeros,own",
        "size=1MiB",
        "writers=1",
        f"source={own}",
        f"used={used}",
        f"reduce={reduce}",
        "stated=own=4",
    ]
    (tmp_path / "under test").mkdir()
    result, directory = carried_out("dedup", Targets(paths=(tmp_path / "under test",)), given, tmp_path)
    assert result.workload == "dedup"
    runs = {point.at.data: point.repeats[0] for point in result.points}
    assert set(runs) == {"zeros", "own"}
    assert all(run.bytes == one.bytes for run in runs.values() for one in run.expected)
    assert runs["own"].bytes == 4 * 512_000
    assert round(runs["own"].cut("4K").ratio) >= 4  # type: ignore[union-attr]
    assert runs["own"].stated == 4.0
    assert runs["zeros"].cut("128K").ratio == 8.0  # type: ignore[union-attr]
    reduced = [run for run in runs.values() if run.used_bytes]  # whichever was first: the others found it reduced
    assert [(run.used_bytes, run.ratio) for run in reduced] == [(500_000, reduced[0].bytes / 500_000)]
    assert all(run.null_elapsed_s is not None for run in runs.values())
    assert {"ratios.csv", "reduction.csv", "space.csv", "load.csv"} <= {
        file.name for file in (directory / "series").iterdir()
    }


def test_a_killed_dedup_leaves_nothing_to_the_next(tmp_path: Path) -> None:
    under_test = tmp_path / "under test"
    under_test.mkdir()
    command = [sys.executable, "-m", "cli", "bench", "storage", "--repeats", "1", "dedup", "--path", str(under_test), "--set", "data=zeros",
               "--set", "size=48MB", "--set", "settle=0", "--fill"]  # fmt: skip
    environment = os.environ | {
        "EDBENCH_STORAGE": str(tmp_path / "storage"),
        "EDBENCH_SCRATCH": str(tmp_path / "scratch"),
    }
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as killed:
        try:
            end = time.monotonic() + _DEADLINE_S
            while not _files(under_test) and time.monotonic() < end and killed.poll() is None:
                time.sleep(0.02)
        finally:
            killed.send_signal(signal.SIGKILL)
    with claimed(under_test) as own:
        assert {path.name for path in under_test.iterdir()} == {MARKER, own.name}
        assert list(own.iterdir()) == []
    assert list(under_test.iterdir()) == []


def _files(path: Path) -> bool:
    """Whether a writer has begun."""
    return any(True for _ in path.glob("*/*/series 1/zeros/*/*"))


def test_a_trace_is_played_over_one_and_two_paths(tmp_path: Path) -> None:
    """Every call of every clone, by the replay engine; more paths than the trace can be divided among are refused."""
    trace = write_trace(reading_trace(streams=2, files=3), tmp_path / "calls.edbtrace")
    paths = (tmp_path / "one", tmp_path / "two")
    for path in paths:
        path.mkdir()
    given = [f"trace={trace}", "clients=4"]
    result, directory = carried_out("analysis-replay", Targets(paths=paths), given, tmp_path)
    assert result.workload == "analysis-replay"
    assert [(point.at.paths, point.at.clients) for point in result.points] == [(1, 4), (2, 4)]
    recorded = sum(len(stream) for stream in reading_trace(streams=2, files=3).streams)
    for point in result.points:
        (run,) = point.repeats
        assert (run.calls, run.differences, run.data_sets) == (2 * recorded, 0, 2)
        assert run.null_elapsed_s is not None
        assert len(run.tuned) == point.at.paths
    assert {"calls_per_s-by-paths.csv", "queues.csv"} <= {file.name for file in (directory / "series").iterdir()}
    many = tuple(tmp_path / f"path{number}" for number in range(20))
    with pytest.raises(UsageError, match="divided among"):
        made("analysis-replay", Targets(paths=many), [f"trace={trace}"], small=True).check()
