"""controller.timeline.limits: a verdict only where the figures point one way."""

import dataclasses

import pytest

from controller.timeline.limits import Recent, limit_of, recent_of

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


def verdict(
    phase_s: float | None = 30.0, *, of_run: float | None = None, **figures: float | None
) -> tuple[str | None, str]:
    found = limit_of(dataclasses.replace(BUSY, **figures), phase="index", phase_s=phase_s, of_run=of_run)  # type: ignore[arg-type]
    return found.who, found.verdict or found.evidence[0]


@pytest.mark.parametrize(
    ("figures", "who", "shows"),
    [
        ({"cpu_share": 0.97, "run_queue_s": 4.4}, "workers", "use 97 % of this host's CPU and wait for a core 22 % of"),
        ({"cpu_share": 0.8, "run_queue_s": 6.0}, "workers", "the workers use 80 % of this host's CPU"),
        ({"cpu_share": 0.8, "run_queue_s": 6.0, "hosts": 2}, "workers", "80 % of the busiest host's CPU"),
        # Hardly a call is made, so their time means nothing.
        ({"cpu_share": 0.3, "run_queue_s": 39.0, "call_s": 1.0}, "workers", "50 % of the busy slot time"),
        ({"cpu_share": 0.3, "call_s": 60.0}, "storage", "77 % of their busy time in storage calls, at 30 % CPU"),
        ({"cpu_share": 0.3, "database_s": 60.0}, "databases", "77 % of their busy time in transactions"),
        ({"busy_s": 30.0}, "queue", "slots are idle 62 % of the time while 40 tasks are pending"),
    ],
)
def test_one_bottleneck_is_named_with_its_figures(figures: dict[str, float], who: str, shows: str) -> None:
    found, sentence = verdict(**figures)  # type: ignore[arg-type]
    assert found == who
    assert sentence.startswith("The bottleneck is the ")
    assert shows in sentence


WAITING = {"run_queue_s": 73.0, "call_s": 20.0}


@pytest.mark.parametrize(
    ("own", "others", "stolen", "who", "shows"),
    [
        (0.12, 0.85, 0.0, "host", "other programs use 85 % of this host's CPU, the workers 12 %"),
        (0.85, 0.12, 0.0, "workers", "the workers use 85 % of this host's CPU, other programs 12 %"),
        (0.99, 0.0, 0.0, "workers", "the workers use 99 % of this host's CPU, other programs 0 %"),
        (0.2, 0.1, 0.6, "host", "the hypervisor gives 60 % of this host's CPU to other machines; the workers use 20 %"),
        (0.12, 0.1, 0.0, "workers", "although only 22 % of this host's CPU is used: look for a CPU limit or pinning"),
    ],
)
def test_the_sentence_names_who_uses_the_cores_that_the_workers_wait_for(
    own: float, others: float, stolen: float, who: str, shows: str
) -> None:
    """The wait for a core alone would blame the workers at 12 % CPU."""
    found, sentence = verdict(cpu_share=own, others_share=others, stolen_share=stolen, **WAITING)
    assert found == who
    assert shows in sentence


def test_other_programs_are_no_bottleneck_while_no_worker_waits_for_them() -> None:
    found, sentence = verdict(cpu_share=0.3, others_share=0.7, stolen_share=0.0, call_s=60.0)
    assert found == "storage"
    assert "77 %" in sentence


def test_a_run_that_is_over_keeps_the_bottleneck_of_its_longest_phase() -> None:
    """In the past tense, with the share of the run that it is true of; less time is needed, since all of it is known."""
    who, sentence = verdict(3.0, of_run=0.66, cpu_share=0.3, call_s=60.0)
    assert who == "storage"
    assert sentence.startswith("In the index phase (66 % of this run) the bottleneck was the storage: slots spent 77 %")
    assert verdict(1.0, of_run=0.66, cpu_share=1.0) == (None, "the run was too short to name a bottleneck")
    assert verdict(of_run=0.5) == (None, "In the index phase (50 % of this run) no single bottleneck was visible")


def test_no_task_is_pending_when_the_run_is_over() -> None:
    running, over = (limit_of(BUSY, phase="index", phase_s=30.0, of_run=share).evidence for share in (None, 0.5))
    assert running[1:] == (*over[1:], "tasks pending: 40")


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
    assert verdict(phase_s, cpu_share=1.0) == (None, "the index phase has only just begun")


def test_workers_of_one_host_share_its_processors_and_hosts_are_not_averaged() -> None:
    def worker(host: str, cores: float, used: float = 0.0, limit: float = 4) -> list[tuple[int, dict[str, object]]]:
        values = [
            {"cpu_s": cores * n, "busy_s": 4.0 * n, "run_queue_s": 0.0, "database_s": {"a": 1.0 * n}}
            | ({"host_used_s": used * n, "host_stolen_s": 0.0} if used else {})
            for n in (0, 11)
        ]
        return [
            (90 + int(n), v | {"host": host, "processors": limit, "machine_processors": 4, "slots": 4})
            for n, v in zip((-1, 10), values, strict=True)
        ]

    found = recent_of(
        {"a": worker("x", 2.0), "b": worker("x", 2.0), "c": worker("y", 0.0)}, 90, 100, call_s=1.0, pending=[3.0, 5.0]
    )
    assert found.cpu_share == pytest.approx(1.0)
    assert found.slots == 12
    assert found.busy_s == pytest.approx(120.0)
    assert (found.pending, found.least_pending) == (4.0, 3.0)

    assert found.others_share is None

    crowded = {"a": worker("x", 1.0, 3.6), "b": worker("x", 1.0, 3.6), "c": worker("y", 0.4, 4.0)}
    found = recent_of(crowded, 90, 100, call_s=1.0, pending=[])
    assert (found.hosts, found.cpu_share, found.others_share) == (2, pytest.approx(0.1), pytest.approx(0.9))

    limited = {"a": worker("x", 0.5, 2.0, limit=0.5), "b": worker("x", 0.5, 2.0, limit=0.5)}
    found = recent_of(limited, 90, 100, call_s=1.0, pending=[])
    assert (found.cpu_share, found.others_share) == (pytest.approx(1.0), pytest.approx(0.25)), (
        "containers with a CPU limit"
    )
