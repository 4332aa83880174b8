"""controller.observe.call_time: what of the time inside calls is service, queue and waiting for a processor."""

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from controller.observe.call_time import split
from controller.observe.metrics import ControllerMetrics
from controller.observe.place_kind import caches_itself
from core.mounts import parse_mountinfo, storage_label
from core.operations import Op
from monitoring.aggregate import CallSum
from sql.session import Database

US = 1_000


def calls(count: int, ns: int) -> CallSum:
    """So many of one duration."""
    found = CallSum(calls=count, total_ns=count * ns, max_ns=ns)
    for _ in range(count):
        found.histogram.record(ns)
    return found


# Second 10: 98 opens of 0.4 ms. Second 11: two of 20 ms.
STEPS = {10: {Op.OPEN: calls(98, 400 * US)}, 11: {Op.OPEN: calls(2, 20_000 * US)}}


def worker(**growth: tuple[float, float, float]) -> dict[str, list[tuple[int, dict[str, Any]]]]:
    """Two slots' counters at the ends of seconds 9, 10 and 11."""
    zero = {"slot_wait_s": [0.0, 0.0]}
    return {
        "w": [(9 + n, zero | {f"slot_{key}_s": [1.0, value[n]] for key, value in growth.items()}) for n in range(3)]
    }


def test_the_slow_calls_are_the_processors() -> None:
    """Of calls of an emulated filer that serves in 0.4 ms: those that took 20 ms waited for a processor, the others did
    not. The p99 is marked, the p50 is not, and the shares add up."""
    seen = worker(wait=(0.0, 9.0, 18.0), over=(0.0, 0.0, 0.0392), queued=(0.0, 0.008, 0.008))
    seen["w"][0][1]["mostly_over"] = {"open": {"25": 7}}  # of a job before
    seen["w"][2][1]["mostly_over"] = {"open": {"25": 9}}
    found = split(STEPS, seen, 1)
    assert found.dominated == {"open": ["p99"], "all": ["p99"]}
    assert found.to_json() == {
        "call_s": 0.079, "service_s": 0.032, "queue_s": 0.008, "processor_s": 0.039, "exact": True,
        "dominated": {"open": ["p99"], "all": ["p99"]},
    }  # fmt: skip


def test_what_is_reported_late_is_the_processors_too() -> None:
    """A worker without a processor told of the waits of second 10 in the next one, of which it had few calls to tell."""
    seen = worker(wait=(0.0, 0.0, 0.0), over=(0.0, 0.0, 0.07), queued=(0.0, 0.0, 0.004))
    found = split({10: STEPS[10], 11: {Op.OPEN: calls(1, 400 * US)}}, seen, 1)
    assert found.processor_s == pytest.approx(0.0396, abs=5e-4), "all of its time in calls, and no more"
    part = split(STEPS, worker(wait=(0.0, 0.0, 0.0), over=(0.0, 0.0, 0.06), queued=(0.0, 0.0, 0.004)), 1)
    assert (part.processor_s, part.queue_s) == pytest.approx((0.06, 0.004))


def test_waits_of_slots_that_are_hardly_in_calls_are_not_their_calls() -> None:
    """2 s of waits in a second of which two slots were in calls for 40 ms fell into their parsing, not into reads of 20 ms."""
    seen = worker(wait=(0.0, 0.0, 1.0))
    for n, (_, values) in enumerate(seen["w"]):
        values["busy_s"] = 2.0 * n
    found = split(STEPS, seen, 1)
    assert found.processor_s == pytest.approx(0.02)
    assert found.dominated == {}


def test_on_real_storage_the_waits_of_slots_are_never_more_than_their_calls() -> None:
    found = split(STEPS, worker(wait=(0.0, 0.0, 5.0)), 1)
    assert (found.exact, found.queue_s) == (False, None)
    assert found.processor_s == pytest.approx(0.04)
    assert found.dominated == {}, "which calls waited is not known"
    quiet = split(STEPS, worker(wait=(0.0, 0.01, 0.02)), 1)
    assert quiet.dominated == {}


def test_nothing_is_reported_without_calls() -> None:
    assert split({}, worker(wait=(0.0, 0.0, 0.0)), 1) is None


def test_services_that_are_away_are_shown_as_away() -> None:
    nobody = Database("db1", "postgresql+psycopg2://u@127.0.0.1:1/db")
    metrics = ControllerMetrics([nobody], "redis://127.0.0.1:1/0")
    metrics.start()
    metrics.stop()
    registry = CollectorRegistry()
    registry.register(metrics)
    assert registry.get_sample_value("edbench_database_up", {"database": "db1"}) == 0
    assert registry.get_sample_value("edbench_broker_up") == 0
    assert registry.get_sample_value("edbench_jobs", {"database": "db1", "state": "running"}) is None
    assert registry.get_sample_value("edbench_collector_lag_seconds") is None


MOUNTS = parse_mountinfo(r"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:40 / /mnt/filer rw,relatime shared:5 - nfs4 10.0.0.1:/export rw,vers=4.2
41 22 0:41 / /mnt/my\040filer rw shared:6 - cifs //host/share rw
42 22 0:42 / /mnt rw - tmpfs tmpfs rw
43 42 0:43 / /mnt/over rw - xfs /dev/sdb1 rw
44 42 0:44 / /mnt/over rw - tmpfs tmpfs rw
45 22 0:45 / /mnt/mfs rw - fuse mfs#10.0.0.7:9421 rw
46 22 0:46 / /mnt/sea rw - fuse.seaweedfs filer:8888:/ rw
47 22 0:47 / /mnt/odd rw - fuse something rw
48 22 0:48 / /mnt/pool rw - fuse.mergerfs nfs1:nfs2 rw
49 22 0:49 / /mnt/view rw - fuse.bindfs /mnt/filer rw
not a mount line
""")


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("/home", "local storage (ext4)"),
        ("/mnt/sea", "network storage (fuse.seaweedfs)"),
        ("/mnt/mfs/x", "network storage (fuse, moosefs)"),  # only the source says whose it is
        ("/mnt/odd", "unknown whether local or network storage (fuse from something)"),
        ("/mnt/filer", "network storage (nfs4)"),
        ("/mnt/filer/deep/down", "network storage (nfs4)"),
        ("/mnt/filer2", "memory (tmpfs)"),
        ("/mnt/my filer/x", "network storage (cifs)"),
        ("/mnt/over/x", "memory (tmpfs)"),
    ],
)
def test_the_innermost_and_latest_mount_counts(path: str, label: str) -> None:
    """A figure of local storage must never look like one of a filer."""
    assert storage_label(path, MOUNTS) == label


def test_what_is_not_known_is_reported_to_be_so() -> None:
    """A FUSE program may be anything, and show directories of a filer; without a mount table nothing is known: never
    `local` by default."""
    assert storage_label("/mnt/pool", MOUNTS).startswith("unknown whether local or network storage (fuse.mergerfs")
    assert storage_label("/mnt/view", MOUNTS).startswith("unknown whether local or network storage (fuse.bindfs")
    assert caches_itself("/mnt/pool", MOUNTS)
    assert storage_label("/home", []) == "unknown whether local or network storage (not in the mount table)"
