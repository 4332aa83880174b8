"""controller.timeline.limits: a verdict only where the figures point one way."""

from __future__ import annotations

import dataclasses

import pytest

from controller.timeline.limits import limit_of
from controller.timeline.recent import Recent, recent_of

BUSY = Recent(
    seconds=10.0,
    slots=8,
    busy_s=78.0,
    call_s=20.0,
    database_s=10.0,
    run_queue_s=0.2,
    cpu_share=0.5,
    pending=40.0,
    least_pending=30.0,
)


def verdict(phase_s: float | None = 30.0, *, running: bool = True, **figures: float | None) -> tuple[str | None, str]:
    found = limit_of(dataclasses.replace(BUSY, **figures), running=running, phase="index", phase_s=phase_s)  # type: ignore[arg-type]
    return found.who, found.verdict or (found.evidence[0] if found.evidence else "")


@pytest.mark.parametrize(
    ("figures", "who", "says"),
    [
        ({"cpu_share": 0.97, "run_queue_s": 4.4}, "workers", "97% CPU, 22% of call time spent waiting for a core"),
        ({"cpu_share": 0.8, "run_queue_s": 6.0}, "workers", "80% CPU"),
        ({"cpu_share": 0.5, "run_queue_s": 30.0, "call_s": 40.0}, "workers", "50% CPU, 75% of call time"),
        # Hardly a call is made: of their time nothing can be said.
        ({"cpu_share": 0.3, "run_queue_s": 39.0, "call_s": 1.0}, "workers", "30% CPU, 50% of busy slot time"),
        ({"cpu_share": 0.3, "call_s": 60.0}, "storage", "77% of busy slot time is spent in storage calls, at 30% CPU"),
        ({"cpu_share": 0.3, "database_s": 60.0}, "databases", "77% of busy slot time is spent in transactions"),
        ({"busy_s": 30.0}, "queue", "62% of slot time idle while 40 tasks are pending"),
    ],
)
def test_one_limit_is_named_with_its_figures(figures: dict[str, float], who: str, says: str) -> None:
    """The sentence has the numbers that it goes by."""
    found, sentence = verdict(**figures)  # type: ignore[arg-type]
    assert found == who
    assert sentence.startswith(f"{who}: ")
    assert says in sentence


@pytest.mark.parametrize(
    "figures",
    [
        {},  # nothing stands out
        {"cpu_share": 0.3, "call_s": 40.0, "database_s": 39.0},  # two things compete
        {"busy_s": 30.0, "least_pending": 0.0},  # slots idle, and nothing to do: a phase ends
        {"cpu_share": 0.85, "call_s": 70.0},  # in storage calls, but nearly out of processors
        {"cpu_share": 0.85, "run_queue_s": 1.0, "call_s": 70.0},
        {"cpu_share": None},
        {"busy_s": None},
        {"seconds": 2.0, "cpu_share": 1.0},
    ],
)
def test_without_enough_evidence_there_is_no_verdict(figures: dict[str, float | None]) -> None:
    """Contradictory, missing and young figures give none, and say why."""
    who, why = verdict(**figures)  # type: ignore[arg-type]
    assert who is None
    assert why


@pytest.mark.parametrize("phase_s", [None, 0.0, 4.9])
def test_the_first_seconds_of_a_phase_say_nothing(phase_s: float | None) -> None:
    """A barrier has just been crossed."""
    assert verdict(phase_s, cpu_share=1.0) == (None, "the index phase has only just begun")


def test_a_job_at_rest_has_no_limit() -> None:
    """Paused, suspended and over."""
    assert verdict(running=False, cpu_share=1.0) == (None, "")


def test_workers_of_one_host_share_its_processors_and_hosts_are_not_averaged() -> None:
    """Two workers that take half of a host each fill it, whatever an idle host beside it does."""

    def worker(host: str, cores: float) -> list[tuple[int, dict[str, object]]]:
        values = [
            {"cpu_s": cores * n, "busy_s": 4.0 * n, "run_queue_s": 0.0, "database_s": {"a": 1.0 * n}} for n in (0, 11)
        ]
        return [
            (90 + int(n), v | {"host": host, "processors": 4, "slots": 4})
            for n, v in zip((-1, 10), values, strict=True)
        ]

    found = recent_of(
        {"a": worker("x", 2.0), "b": worker("x", 2.0), "c": worker("y", 0.0)}, 90, 100, call_s=1.0, pending=[3.0, 5.0]
    )
    assert found.cpu_share == pytest.approx(1.0)
    assert found.slots == 12
    assert found.busy_s == pytest.approx(120.0)
    assert (found.pending, found.least_pending) == (4.0, 3.0)
