"""Utilisation and queue wait of an emulated filer's stations."""

from __future__ import annotations

from core.filer.arbiter import ArbiterCounts, StationCounts
from monitoring.observations import EmulatedSampler

S = 1_000_000_000


class _Filer:
    """Counters and a clock that the test moves."""

    def __init__(self) -> None:
        self.now, self.calls, self.busy, self.waited, self.misses = 0, 0, 0, 0, 0

    def snapshot(self) -> ArbiterCounts:
        station = StationCounts(
            servers=2, calls=self.calls, busy_ns=self.busy, waited_ns=self.waited, filer_ops=2.5 * self.calls
        )
        return ArbiterCounts(
            stations={"metadata": station},
            misses=self.misses,
            missed_ns=self.misses * 5_000_000,
        )

    def work(self, calls: int, busy: int, waited: int) -> None:
        self.now += S
        self.calls += calls
        self.busy += busy
        self.waited += waited


def test_utilisation_is_over_the_time_with_calls_only() -> None:
    filer = _Filer()
    sampler = EmulatedSampler(filer.snapshot, lambda: filer.now)
    for calls, busy, waited in [(0, 0, 0), (100, 2 * S, S // 10), (100, S, S // 10), (0, 0, 0)]:
        filer.work(calls, busy, waited)
        sampler.sample()
    filer.now += 10 * S
    found = sampler.to_json()
    assert found["seconds"] == 2.0
    assert found["stations"]["metadata"] == {
        "utilisation": 0.75, "mean_wait_us": 1000.0, "calls": 200, "filer_ops": 500.0,
    }  # fmt: skip
    assert [point["metadata"]["utilisation"] for _, point in found["series"]] == [0.0, 1.0, 0.5, 0.0, 0.0]


def test_misses_are_told_with_their_mean_delay() -> None:
    filer = _Filer()
    sampler = EmulatedSampler(filer.snapshot, lambda: filer.now)
    filer.work(10, S, 0)
    filer.misses = 4
    assert sampler.to_json()["misses"] == {"calls": 4, "mean_delay_us": 5000.0}


def test_nothing_done_gives_no_figures() -> None:
    filer = _Filer()
    assert EmulatedSampler(filer.snapshot, lambda: filer.now).to_json()["stations"] == {}
