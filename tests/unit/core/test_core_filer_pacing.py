"""core.filer.emulation: a call of the emulated filer never ends before its time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.filer import emulation

SECOND = 1_000_000_000


class _Machine:
    """A clock on which reading costs 100 ns and a sleep ends as late as the machine is busy."""

    def __init__(self, late: int) -> None:
        self.now = 7 * SECOND
        self.late = late
        self.spun = 0

    def monotonic_ns(self) -> int:
        self.now += 100
        self.spun += 100
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += round(seconds * 1e9) + self.late


@given(
    measured=st.integers(0, 2_000_000),
    late=st.integers(0, 2_000_000),
    waits=st.lists(st.integers(-1_000, 5_000_000), min_size=1, max_size=20),
)
def test_no_wait_ends_early(measured: int, late: int, waits: list[int]) -> None:
    """Promise: whatever the machine was like when it was measured and is like now, every call lasts its time; and the
    excess is the lateness of one sleep."""
    with pytest.MonkeyPatch.context() as patch:
        machine = _Machine(measured)
        patch.setattr(emulation, "time", machine)
        pacer = emulation.Pacer()
        machine.late = late
        for wait in waits:
            end = machine.now + wait
            ended = pacer.wait_until(end)
            assert ended >= end
            assert ended - max(end, end - wait) <= late + 1_000


def test_a_measurement_on_a_busy_machine_is_corrected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise: measured while others had the processors, it is right again after a call or two, and hardly anything
    is spun away."""
    machine = _Machine(480_000)
    monkeypatch.setattr(emulation, "time", machine)
    pacer = emulation.Pacer()
    assert pacer.overshoot_ns == 480_100  # with the reading of the clock
    machine.late = 55_000
    pacer.wait_until(machine.now + 2_000_000)
    assert pacer.overshoot_ns < 56_000
    machine.spun = 0
    for _ in range(100):
        end = machine.now + 300_000
        assert end <= pacer.wait_until(end) < end + 1_000
    assert machine.spun < 100 * 11_000
