"""What is told of profiles with clients, out of what was observed."""

import dataclasses
import math
import random
from pathlib import Path
from statistics import NormalDist

import pytest

from cli.main import USAGE, main
from core.histogram import Histogram, bucket_of
from storage_tests.client_sweep import ClientSweep, SweepPhase, SweepRun, SweepSettings, fall_off
from storage_tests.client_sweep import run_of as sweep_of
from storage_tests.clients import ClientDone
from storage_tests.devices import Usage
from storage_tests.insert_drift import InsertGroup, InsertRun
from storage_tests.insert_drift import run_of as insertion_of
from storage_tests.profile import Targets
from storage_tests.tally import Counted

OBSERVED = {"repeat": 0, "order": 0, "started_at": 0.0, "worker_cpu": 0.1}


def _counted(calls: int, ns: int) -> Counted:
    return Counted(label="whole write", calls=calls, bytes=1024 * calls, errors=0, total_ns=calls * ns, max_ns=ns,
                   cells=((bucket_of(ns), calls),))  # fmt: skip


def _group(seconds: float, done: int, *, refused: int = 0, used: int = 0) -> InsertGroup:
    return InsertGroup(
        seconds=seconds, done=done, bytes=1024 * done, refused=refused, failed=0, late_s=0.001,
        counted=(_counted(done, round(seconds * 1e9 / done)),), usage=Usage(used_bytes=used, used_inodes=used // 4096),
    )  # fmt: skip


def _insertion(groups: list[InsertGroup]) -> InsertRun:
    return InsertRun(
        **OBSERVED, elapsed_s=sum(group.seconds for group in groups), groups=tuple(groups), said=(),
        before=Usage(used_bytes=0, used_inodes=0), after=Usage(used_bytes=groups[-1].done * 8192, used_inodes=0),
    )  # fmt: skip


def test_a_rate_is_that_of_the_groups_without_what_lay_between() -> None:
    run = insertion_of(_insertion([_group(2.0, 100), _group(3.0, 100, used=819_200)]))
    assert (run.files, run.files_per_s) == (200, 40.0)
    assert [group.files_per_s for group in run.groups] == [50.0, pytest.approx(100 / 3)]
    assert run.groups[1].used_bytes == 819_200
    assert run.bytes_a_file == 4096
    assert run.inodes_a_file is None  # nobody told of any
    assert run.latency["whole write"].calls == 200
    assert run.rate_drift is None


def test_a_directory_that_slows_with_its_size_drifts() -> None:
    wobble = [0.01 * (number * 7 % 5) for number in range(30)]
    slow = insertion_of(_insertion([_group(1 + 0.05 * number + wobble[number], 100) for number in range(30)]))
    even = insertion_of(_insertion([_group(1 + wobble[number], 100) for number in range(30)]))
    assert slow.rate_drift is not None
    assert slow.rate_drift.found
    assert slow.rate_drift.trend < -0.5
    assert slow.latency_drift is not None
    assert slow.latency_drift.trend > 0.5
    assert even.rate_drift is not None
    assert not even.rate_drift.found


def test_a_median_that_crosses_from_one_bucket_to_the_next_does_not_drift() -> None:
    """A bucket is 6 % wide: a change of 1 % must not be shown as one of 6."""
    dice, groups = random.Random(1), []
    spread = [math.exp(0.2 * NormalDist().inv_cdf((place + 0.5) / 500)) for place in range(500)]
    for number in range(40):
        times, middle = Histogram(), 1_114_112 * (0.995 + number * 0.01 / 39) * dice.lognormvariate(0, 0.001)
        for factor in spread:
            times.record(round(middle * factor))
        counted = dataclasses.replace(_counted(500, 1_114_112), cells=tuple(sorted(times.cells.items())))
        groups.append(dataclasses.replace(_group(1.0, 500), counted=(counted,)))
    run = insertion_of(_insertion(groups))
    assert len({group.p50_us for group in run.groups}) == 2
    assert run.latency_drift is not None
    assert not run.latency_drift.found


def test_groups_that_were_not_taken_whole_do_not_drift() -> None:
    """A refused group is slow or fast for another reason; it is counted all the same."""
    groups = [_group(1.0 + 0.01 * (n * 7 % 5), 100) for n in range(20)] + [_group(9.0, 10, refused=90)] * 5
    run = insertion_of(_insertion(groups))
    assert run.refused == 450
    assert run.rate_drift is not None
    assert run.rate_drift.values == 20
    assert not run.rate_drift.found


def _phase(deed: str, clients: list[ClientDone]) -> SweepPhase:
    return SweepPhase(deed=deed, clients=tuple(clients), counted=(), bytes_by_second=(), said=("reset",))


def _client(began: float, ended: float, size: int, **counts: int) -> ClientDone:
    return ClientDone(began_s=began, ended_s=ended, bytes=size, **{"done": 1, "refused": 0, "failed": 0} | counts)


def test_each_client_has_its_own_rate_and_all_together_one() -> None:
    written = _phase(
        "write",
        [_client(0, 2, 200), _client(1, 2, 300), _client(0, 4, 400), _client(0, 0.1, 0, done=0, refused=1)],
    )
    gone = _phase("remove", [_client(0, 0.5, 0), _client(0, 1, 0)])
    run = sweep_of(SweepRun(**OBSERVED, elapsed_s=5.0, phases=(written, gone)))
    write, remove = run.phase("write"), run.phase("remove")
    assert (write.least, write.most) == (100, 300)
    assert write.mean == pytest.approx(500 / 3)
    assert write.aggregate == 225
    assert (write.first_done_s, write.last_done_s, write.late_s) == (0.1, 4, 1)
    assert write.overlap == pytest.approx(7.1 / 4)
    assert (remove.aggregate, remove.mean) == (2.0, 1.5)
    assert (run.refused, run.failed, run.said) == (1, 0, ("reset",))


def test_fall_off_is_what_an_added_client_costs() -> None:
    assert fall_off([1, 11, 21], [100.0, 80.0, 60.0]) == pytest.approx(2.0)
    assert fall_off([4, 4], [1.0, 2.0]) is None


@pytest.mark.parametrize(("size", "window"), [(100_000_000, 30.0), (10**9, 30.0), (1_000_000, 30.0), (8_000_000, 1.0)])
def test_the_pair_of_a_spread_start_is_offered_as_much_a_second(size: int, window: float) -> None:
    """Else more clients would overlap there than on the storage, and each have less: a ceiling that is none."""
    sweep = ClientSweep(SweepSettings(size=size, window=window), Targets(paths=(Path("/mnt/f"),)))
    pair = sweep.on_null().settings
    assert pair.size / pair.window == pytest.approx(size / window)
    assert pair.size <= 16_000_000
    assert pair.window <= 5.001
    assert sweep.on_null().targets == sweep.targets


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("insert-drift", "--filer", "nas-1g", "--listen", "127.0.0.1"),
            "--listen: the load of insert-drift runs on this host only",
        ),
        (
            ("insert-drift", "--filer", "nas-1g", "--workers", "2"),
            "share its arbiter, which is in the memory of one host",
        ),
        (("dedup", "--listen", "127.0.0.1"), "orders to members contain no commands"),
        (("client-sweep", "--workers", "2", "--set", "size=1000"), "--workers counts members of a crew"),
    ],
)
def test_a_load_that_members_cannot_make_is_refused(
    words: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "target").mkdir()
    env = {"EDBENCH_SCRATCH": str(tmp_path / "scratch"), "EDBENCH_STORAGE": str(tmp_path / "storage")}
    assert main(["bench", "storage", *words, "--path", str(tmp_path / "target"), "--fill"], env) == USAGE
    *waits, refused = capsys.readouterr().err.strip().splitlines()
    assert said in refused
    assert all("answer" in line for line in waits), (
        "a busy machine reports that the storage answers late, and nothing else"
    )
