"""controller.timeline: what becomes of counters of mounts, devices, arrays and stations."""

from __future__ import annotations

from typing import Any

import pytest

from controller.timeline.axis import Axis
from controller.timeline.model import Panel
from controller.timeline.panels import (
    Work,
    array_panels,
    block_panels,
    emulated_panels,
    read_share_panel,
    space_panels,
    wire_panels,
    work_panels,
)

AXIS = Axis(100.5, 106, 1)


def readings(values: Any) -> list[tuple[int, dict[str, Any]]]:
    return [(99 + n, values(n)) for n in range(8)]


def lines(panel: Panel) -> dict[str, list[float | None]]:
    return {series.id: list(series.values) for series in panel.series}


def wire(n: int) -> dict[str, Any]:
    read = {"ops": 10 * n, "queue_ms": 5 * n, "rtt_ms": 20 * n, "execute_ms": 30 * n}
    ops = {"READ": read, "WRITE": read | {"ops": 0}, "NULL": dict.fromkeys(read, 1)}
    return {"type": "nfs4", "version": "4.2", "storage": True, "ops": ops, "read_bytes": 250 * n}


@pytest.mark.parametrize(("produced", "word"), [(False, "discovered"), (True, "written")])
def test_what_a_production_writes_is_not_called_discovered(produced: bool, word: str) -> None:
    told = readings(lambda n: {"raw_bytes": 0, "discovered_bytes": 1_000_000 * n, "elapsed_s": float(n)})
    volumes, *_ = work_panels(AXIS, [Work(AXIS, told, 100.5, over=True)], produced=produced)
    labels = [series.label for series in volumes.series]
    assert [label for label in labels if not label.startswith("raw")] == [f"{word}, now", f"{word}, since start"]
    assert (len(labels) == 2) is produced
    assert (lines(volumes)["discovered_now"][-1] or 0) > 0


def test_wire_counters_become_rates_and_mean_times() -> None:
    rates, times = wire_panels(AXIS, {"boot:filer:0:52": readings(wire)}, {})
    assert (rates.id, rates.kind, rates.title) == ("wire_1", "stacked", "Wire ops/second, filer (nfs4 4.2)")
    assert lines(rates) == {"READ": [10.0] * 6}
    assert (times.id, times.unit) == ("wire_1_ms", "ms")
    assert lines(times) == {"queue_ms": [1.0] * 6, "rtt_ms": [4.0] * 6, "execute_ms": [6.0] * 6}


def test_wire_read_share_counts_only_mounts_under_the_storage_root() -> None:
    other = readings(lambda n: wire(n) | {"storage": False})
    read: list[float | None] = [1000.0, 500.0, 0.0, None, 1000.0, 250.0]
    panel = read_share_panel(AXIS, {"a": readings(wire), "b": other}, read)
    assert panel is not None
    assert lines(panel) == {"share": [0.25, 0.5, None, None, 0.25, 1.0]}
    assert read_share_panel(AXIS, {"b": other}, read) is None


def test_block_devices_arrays_and_stations() -> None:
    moved, queue = block_panels(
        AXIS,
        {"boot:sda": readings(lambda n: {"read_bytes": 2_000_000 * n, "write_bytes": 0, "weighted_ms": 1500 * n})},
        {},
    )
    assert lines(moved) == {"read_bytes": [2.0] * 6, "write_bytes": [0.0] * 6}
    assert lines(queue) == {"depth": [1.5] * 6}
    (array,) = array_panels(AXIS, {"netapp": [(101, {"iops": 10}), (103, {"iops": 30, "note": "x"})]})
    assert lines(array)["iops"] == [None, 10.0, None, 30.0, None, None]


def test_space_and_inodes_of_a_file_system() -> None:
    ext4 = {"bytes": 100, "bytes_free": 40, "inodes": 9, "inodes_free": 8}
    whole = [("boot:sda", [(101, ext4), (103, ext4 | {"bytes_free": 30})]), ("boot:nas", [(101, ext4 | {"inodes": 0})])]
    space, inodes, other = space_panels(AXIS, dict(whole), {})
    assert (space.id, space.kind, space.unit) == ("space_1", "stacked", "B")
    assert lines(space) == {
        "used": [None, 60.0, 60.0, 70.0, 70.0, 70.0],  # a second that was missed is no hole
        "free": [None, 40.0, 40.0, 30.0, 30.0, 30.0],
    }
    assert (inodes.id, lines(inodes)["used"][1]) == ("space_1_inodes", 1.0)
    assert (other.id, other.title) == ("space_2", "Space of nas")


def test_stations_of_an_emulated_filer() -> None:
    station = {"servers": 2, "calls": 0, "busy_s": 0.0, "waited_s": 0.0}
    busy, wait = emulated_panels(
        AXIS,
        {
            "small": readings(
                lambda n: {"station": {"data": station | {"calls": 50 * n, "busy_s": n, "waited_s": 0.1 * n}}}
            )
        },
    )
    assert lines(busy) == {"data": [0.5] * 6}
    assert lines(wait)["data"] == pytest.approx([2.0] * 6)
    assert (busy.id, wait.id, wait.unit) == ("emulated_1", "emulated_1_wait", "ms")
