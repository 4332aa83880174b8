"""The speed of this machine's processors: what is told of it, and that an emulated second is the same on any machine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.filer.arbiter import Arbiter
from core.filer.emulation import emulated_filer
from core.filer.load import load_filer, site_source
from core.filer.machine import REFERENCE_S, SpeedMeter, probe, speed_at_work
from core.filer.places import SHARED_MEMORY
from core.filer.surroundings import Surroundings
from core.settings import read_settings
from tests.support.systems.installation import until

_SPEEDS = st.floats(0.02, 50.0)


class _Machine:
    """A processor of a stated speed, whose neighbours may slow it down: what its probe takes, on a clock of the test's."""

    def __init__(self, speed: float) -> None:
        self.speed = speed

    def probe(self) -> float:
        return REFERENCE_S / self.speed


class _Clock:
    def __init__(self) -> None:
        self.used, self.until = 0.0, 0

    def seconds(self) -> float:
        return self.used

    def wait_until(self, end_ns: int) -> int:
        self.until = end_ns
        return end_ns


def _emulated(path: Path, name: str, speed: float, work_s: float) -> int:
    """Nanoseconds of an emulated core that a slot on a machine of that speed waits for, whose work takes `work_s` at speed 1."""
    model = load_filer(site_source(name))
    assert model is not None
    assert model.site is not None
    clock = _Clock()
    arbiter = Arbiter(path, model)
    try:
        arbiter.tell_speed(SpeedMeter(_Machine(speed).probe).speed)
        around = Surroundings(arbiter, clock, 0, clock.seconds)  # type: ignore[arg-type]
        clock.used += work_s / speed
        around.settle(int(1e12))
        return arbiter.snapshot().stations["host 1"].busy_ns
    finally:
        arbiter.close_and_remove()


@pytest.fixture(scope="module")
def path() -> Iterator[Path]:
    place = SHARED_MEMORY / f"edbench-filer-test-{os.getpid()}-{time.monotonic_ns()}"
    yield place
    place.unlink(missing_ok=True)


@given(speed=_SPEEDS, work_s=st.floats(0.01, 5.0))
def test_the_same_work_takes_the_same_emulated_time_on_any_machine(path: Path, speed: float, work_s: float) -> None:
    """A machine of half the speed uses twice the processor seconds, and each of them is booked for half."""
    for name, factor in (("r1", 5.0), ("laptop-nas", 1.0)):
        assert _emulated(path, name, speed, work_s) == pytest.approx(factor * work_s * 1e9, rel=1e-3)


def test_neighbours_that_come_and_go_are_followed() -> None:
    """Not one look that says more about a neighbour, but all of them once most have seen it."""
    machine = _Machine(1.0)
    meter = SpeedMeter(machine.probe)
    machine.speed = 0.1
    assert meter.look() == pytest.approx(1.0), "one look"
    machine.speed = 0.5
    for _ in range(20):
        meter.look()
    assert meter.speed == pytest.approx(0.5)
    assert meter.to_json() == {"median": 0.5, "lowest": 0.5, "highest": 1.0}


def test_the_probe_is_processor_time() -> None:
    """Not time that passes: a machine that others keep busy is no slower for it, only its slots wait longer."""
    took = probe()
    assert 0 < took < 1
    assert SpeedMeter(lambda: took).speed == pytest.approx(REFERENCE_S / took)


def test_the_speed_for_a_study_is_one_with_all_processors_at_work() -> None:
    """The others work on while it is looked, and are gone after the last look."""
    us, looks = psutil.Process(), 0
    standing = set(us.children())  # services of other tests

    def look() -> float:
        nonlocal looks
        others, looks = sorted(set(us.children()) - standing, key=lambda other: other.pid), looks + 1
        assert len(others) == 2
        used = [_used_s(other) for other in others]
        if looks == 1:
            until(
                lambda: all(_used_s(other) > before for other, before in zip(others, used, strict=True)), "both work on"
            )
        return 2 * REFERENCE_S

    assert speed_at_work(3, look) == pytest.approx(0.5)
    assert looks > 1
    assert set(us.children()) <= standing


def _used_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)  # of a process so young the kernel may tell all as one or the other


def test_a_slot_that_nobody_told_measures_itself(tmp_path: Path) -> None:
    """And one that was told believes it, so that all slots of a run have the same."""
    env = {"EDBENCH_SCRATCH": str(tmp_path), "EDBENCH_FILER": "site/r1"}
    filer = emulated_filer(read_settings(env))
    assert filer is not None
    arbiter = filer._arbiter
    assert arbiter.knows_speed
    arbiter.tell_speed(0.125)
    assert arbiter.speed == 0.125
    arbiter.close_and_remove()
