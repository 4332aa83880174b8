"""Containers: what is read from the engine's answers, without an engine."""

from __future__ import annotations

import dataclasses
import datetime
import uuid
from typing import Any

import pytest

from controller.cluster.base import chosen_cluster
from controller.cluster.container_stats import ContainerUse, reading_of
from controller.cluster.reach import settings_from
from controller.versions import refuse_other_versions
from core.errors import UsageError
from core.settings import Settings
from sql.workers import WorkerRow

# Cut from an answer of an engine with cgroup v2.
ANSWER: dict[str, Any] = {
    "blkio_stats": {
        "io_service_bytes_recursive": [
            {"major": 8, "minor": 0, "op": "read", "value": 4096},
            {"major": 8, "minor": 16, "op": "Read", "value": 1},
            {"major": 8, "minor": 0, "op": "write", "value": 700},
        ]
    },
    "cpu_stats": {"cpu_usage": {"total_usage": 2_500_000_000}},
    "memory_stats": {"usage": 1000, "stats": {"inactive_file": 400}},
    "networks": {"eth0": {"rx_bytes": 10, "tx_bytes": 20}, "eth1": {"rx_bytes": 1, "tx_bytes": 2}},
}


def test_a_reading() -> None:
    """Counters are summed over devices, memory is without the page cache, what is not told is 0."""
    reading = reading_of(ANSWER)
    assert (reading["cpu_s"], reading["memory_bytes"]) == (2.5, 600)
    assert (reading["block_read_bytes"], reading["block_write_bytes"]) == (4097, 700)
    assert (reading["network_received_bytes"], reading["network_sent_bytes"]) == (11, 22)
    assert reading_of({})["cpu_s"] == 0


def test_use_counts_from_the_first_look_and_through_a_restart() -> None:
    """What a container did before does not count, and one that begins again at 0 counts on."""
    use = ContainerUse("w", "worker")
    for cpu in (10.0, 12.0, 1.0, 1.5):
        use.add(reading_of(ANSWER) | {"cpu_s": cpu})
    plain = use.to_json()
    assert plain["cpu_s"] == 3.5
    assert plain["memory_peak_bytes"] == 600
    assert plain["block_read_bytes"] == 0


def test_block_io_that_the_engine_does_not_tell_is_not_zero() -> None:
    """Some kernels tell nothing of block I/O: the result says so instead of saying that there was none."""
    use = ContainerUse("w", "worker")
    use.add(reading_of(ANSWER | {"blkio_stats": {"io_service_bytes_recursive": None}}))
    assert use.to_json()["block_read_bytes"] is None


def test_addresses_that_are_no_service_are_left_alone() -> None:
    """A database beside the system, by its own host name, is reached by that name."""
    url = "postgresql+psycopg2://edbench:pw@pg.example.org:5432/edbench"
    theirs = {
        "EDBENCH_DATABASES": f"db1={url}",
        "EDBENCH_BROKER": "redis://:pw@b.example.org:6379/0",
        "EDBENCH_STORAGE": "/f",
    }
    reached = settings_from(Settings(), theirs, ())
    assert (reached.databases[0].url, str(reached.storage)) == (url, "/f")
    with pytest.raises(UsageError, match="docker-compose"):
        settings_from(Settings(), {}, ())


def test_the_choice_of_a_cluster() -> None:
    """The option goes before the variable; anything else is refused with the name of what said it."""
    assert chosen_cluster({}) == "embedded"
    assert chosen_cluster({"EDBENCH_CLUSTER": "compose"}) == "compose"
    assert chosen_cluster({"EDBENCH_CLUSTER": "compose"}, "embedded") == "embedded"
    with pytest.raises(UsageError, match="--cluster is 'k8s'"):
        chosen_cluster({}, "k8s")
    with pytest.raises(UsageError, match="EDBENCH_CLUSTER is 'k8s'"):
        chosen_cluster({"EDBENCH_CLUSTER": "k8s"})


def test_a_live_worker_of_another_version_is_refused() -> None:
    """One version on all hosts: a mismatch names the worker; one that is gone does not matter."""
    now = datetime.datetime.now(datetime.UTC)
    worker = WorkerRow(
        incarnation=uuid.uuid4(),
        name="w1",
        host="h1",
        pid=1,
        slots=4,
        version="0.0.9",
        started_at=now,
        seen_at=now,
        stopped_at=None,
        cpu_seconds=0,
        run_queue_seconds=0,
        live=True,
    )
    with pytest.raises(UsageError, match=r"worker w1 on h1 is edbench 0\.0\.9, this command is 0\.1\.0"):
        refuse_other_versions([worker], "0.1.0")
    refuse_other_versions([worker], "0.0.9")
    refuse_other_versions([dataclasses.replace(worker, live=False)], "0.1.0")
