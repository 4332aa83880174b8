"""The simulation against closed forms, bounds that hold for every network, and what the pipeline does to it.

All of it is a pure function of the seeds given here, so a tolerance is met once and for all.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.capacity.network import DATABASE, Job, Kind, Network, Phase, Predicted, Station, sharded, simultaneous
from experiments.capacity.simulation import MOST_UNITS, batched, simulate


def _one_phase(
    stations: tuple[Station, ...], demands: dict[str, float], units: int, slots: int, **more: object
) -> Network:
    phase = Phase(name="only", units=units, demands=demands)
    job = Job(name="job", phases=(phase,))
    made = Network(stations=stations, databases=(Station(name="db1"),), jobs=(job,), workers=slots, slots_each=1)
    return replace(made, **more)  # type: ignore[arg-type]


def _open_queue(load: float, servers: int) -> Predicted:
    """Arrivals are a server of rate `load` x servers that never lacks one of many slots: Poisson, as good as open."""
    stations = (Station(name="arrivals"), Station(name="queue", servers=servers))
    demands = {"arrivals": 1 / (load * servers), "queue": 1.0}
    return simulate(_one_phase(stations, demands, units=20_000, slots=80), seed=3)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_server_is_mm1(load: float) -> None:
    """Response 1 / (1 - load) service times within 5 %; utilisation is the load within 2 %."""
    run = _open_queue(load, 1)
    assert run.stay_s["queue"] == pytest.approx(1 / (1 - load), rel=0.05)
    assert run.utilisation["queue"] == pytest.approx(load, rel=0.02)


@pytest.mark.parametrize(("load", "servers"), [(0.6, 2), (0.8, 4)])
def test_several_servers_are_mmc(load: float, servers: int) -> None:
    """Erlang's C formula, within 5 %."""
    offered = load * servers
    last = offered**servers / math.factorial(servers) / (1 - load)
    waits = last / (sum(offered**n / math.factorial(n) for n in range(servers)) + last)
    run = _open_queue(load, servers)
    assert run.stay_s["queue"] == pytest.approx(1 + waits / (servers - offered), rel=0.05)


@pytest.mark.parametrize(("machines", "repairmen", "ratio"), [(6, 1, 0.1), (10, 1, 0.3), (12, 3, 0.25)])
def test_machines_and_repairmen(machines: int, repairmen: int, ratio: float) -> None:
    """Repairs a second of the machine-repairman model by its birth-death equations, within 2 %.

    `ratio`: mean time of repair by the mean time that a machine runs.
    """
    stations = (Station(name="runs", kind=Kind.DELAY), Station(name="repair", servers=repairmen))
    run = simulate(_one_phase(stations, {"runs": 1.0, "repair": ratio}, units=20_000, slots=machines), seed=5)
    states = [1.0]
    for broken in range(machines):
        states.append(states[-1] * (machines - broken) / (min(broken + 1, repairmen) / ratio))
    repairs = sum(p * min(n, repairmen) / ratio for n, p in enumerate(states)) / sum(states)
    assert 20_000 / run.elapsed_s == pytest.approx(repairs, rel=0.02)


@given(
    slots=st.integers(1, 6),
    units=st.integers(1, 40),
    processors=st.integers(1, 4),
    demands=st.tuples(st.floats(0.01, 5.0), st.floats(0.01, 5.0), st.floats(0.01, 5.0)),
    rounds=st.integers(1, 3),
)
@settings(max_examples=40, deadline=None)
def test_no_run_beats_its_bottleneck_nor_a_single_slot(
    slots: int, units: int, processors: int, demands: tuple[float, float, float], rounds: int
) -> None:
    """With fixed service times elapsed lies between the asymptotic bounds, and the same seed gives the same run."""
    fixed = (
        Station(name="cpu", servers=processors, shape=0),
        Station(name="net", kind=Kind.DELAY, shape=0),
        Station(name="filer", shape=0),
    )
    phase = Phase(name="only", units=units, demands=dict(zip(("cpu", "net", "filer"), demands, strict=True)))
    network = Network(
        stations=fixed,
        databases=(Station(name="db1"),),
        jobs=(Job(name="job", phases=(replace(phase, rounds=rounds),)),),
        workers=slots,
        slots_each=1,
    )
    run = simulate(network, 1)
    least = max(units * demands[0] / processors, units * demands[2], -(-units // slots) * sum(demands))
    assert least * (1 - 1e-9) <= run.elapsed_s <= units * sum(demands) * (1 + 1e-9)
    assert run == simulate(network, 1)
    assert all(0 <= value <= 1 + 1e-9 for value in run.utilisation.values())


FILER = (Station(name="filer", shape=0),)
WAIT = (Station(name="wait", kind=Kind.DELAY, shape=0),)


def _two_jobs(pooled: bool) -> Network:
    """Each asks its own database; the second server is half as fast."""
    phase = Phase(name="only", units=100, demands={"wait": 1.0, DATABASE: 0.5})
    databases = (Station(name="db1", shape=0), Station(name="db2", shape=0, speed=0.5))
    return Network(
        stations=WAIT,
        databases=databases,
        jobs=simultaneous((phase,), 2),
        workers=4,
        slots_each=1,
        pooled=pooled,
    )


def test_the_job_on_the_slower_database_ends_last() -> None:
    """Each job is its own server's; both ways of sharing the crew do all the work."""
    for pooled in (True, False):
        run = simulate(_two_jobs(pooled), 1)
        ends = {time.job: time.end_s for time in run.phases}
        assert ends["job 2"] > ends["job 1"]
        assert run.elapsed_s == ends["job 2"]


def test_a_shared_crew_helps_the_job_that_is_left() -> None:
    """Dealt-out workers of the job that is over stand idle; shared ones do not."""
    latency_only = replace(_two_jobs(True), jobs=_latency_jobs())
    assert simulate(latency_only, 1).elapsed_s < simulate(replace(latency_only, pooled=False), 1).elapsed_s


def _latency_jobs() -> tuple[Job, ...]:
    short, long = (Phase(name="only", units=n, demands={"wait": 1.0}) for n in (20, 100))
    return (Job(name="short", phases=(short,)), Job(name="long", phases=(long,), database=1))


def test_two_databases_help_only_where_the_database_is_the_limit() -> None:
    """The same data set over two servers: half the time if the server is the limit, none saved if the filer is."""
    for station, gain in ((DATABASE, 2.0), ("filer", 1.0)):
        phase = Phase(name="only", units=400, demands={station: 1.0})
        databases = tuple(Station(name=f"db{n}", shape=0) for n in (1, 2))
        one = Network(stations=FILER, databases=databases[:1], jobs=sharded((phase,), 1), workers=4)
        two = replace(one, databases=databases, jobs=sharded((phase,), 2))
        assert simulate(one, 1).elapsed_s / simulate(two, 1).elapsed_s == pytest.approx(gain, rel=0.01)


def test_a_phase_waits_for_the_last_unit_and_its_barrier() -> None:
    """Two phases of one unit each: their seconds, and the barrier of the first between, of the last at the end."""
    walk, index = (Phase(name=n, units=1, demands={"wait": 2.0}, barrier_s=3.0) for n in ("walk", "index"))
    network = _one_phase(WAIT, {"wait": 1.0}, 1, 4, jobs=(Job(name="job", phases=(walk, index)),))
    run = simulate(network, 1)
    assert [(t.phase, t.start_s, t.end_s) for t in run.phases] == [("walk", 0.0, 2.0), ("index", 5.0, 7.0)]
    assert run.elapsed_s == 10.0


@pytest.mark.parametrize(
    ("phase", "elapsed"),
    [
        ({}, 6.0),  # 12 units of 1 s on 2 slots
        ({"most_slots": 1}, 12.0),
        ({"weights": (6.0, *[6 / 11] * 11)}, 6.0),  # the large one goes first and hides the others
        ({"weights": (*[6 / 11] * 11, 6.0)}, 9 * 6 / 11 / 2 + 6.0 + 6 / 11 / 2),  # the large one goes last
    ],
)
def test_units_of_different_size_and_few_slots(phase: dict[str, object], elapsed: float) -> None:
    """A straggler at the end costs its own length."""
    base = Phase(name="only", units=12, demands={"wait": 1.0})
    job = Job(name="job", phases=(replace(base, **phase),))  # type: ignore[arg-type]
    assert simulate(_one_phase(WAIT, {"wait": 1.0}, 1, 2, jobs=(job,)), 1).elapsed_s == pytest.approx(elapsed)


def test_a_slow_queue_manager_and_a_small_window_leave_slots_idle() -> None:
    """Dispatching takes its time for each unit, and a window of 1 is one slot."""
    network = _one_phase(WAIT, {"wait": 1.0}, units=20, slots=4)
    assert simulate(network, 1).elapsed_s == 5.0
    assert simulate(replace(network, window=1), 1).elapsed_s == 20.0
    slow = simulate(replace(network, dispatch_s=2.0), 1)
    assert slow.elapsed_s == 41.0
    assert slow.limit == "tasks"


def test_what_goes_on_beside_takes_capacity_and_no_time_of_the_unit() -> None:
    """The processor is busy with both; a unit alone does not wait for the work beside it."""
    cpu = (Station(name="cpu", servers=2, shape=0),)
    phase = Phase(name="only", units=1, demands={"cpu": 1.0}, beside={"cpu": 1.0}, rounds=4)
    network = _one_phase(cpu, {"cpu": 1.0}, 1, 2, jobs=(Job(name="job", phases=(phase,)),))
    assert simulate(network, 1).elapsed_s == 1.0
    assert simulate(network, 1).utilisation["cpu"] == pytest.approx(1.0, rel=0.15)
    many = replace(network, jobs=(Job(name="job", phases=(replace(phase, units=50),)),))
    assert simulate(many, 1).elapsed_s == pytest.approx(50.0, abs=1.0)


def test_own_processors_serve_their_workers_slots_only() -> None:
    """Four slots of two workers with one processor each do two units at a time; a common pair of four does four."""
    own = Station(name="cpu", shape=0)
    phase = Phase(name="only", units=40, demands={"cpu": 1.0})
    network = Network(
        stations=(),
        databases=(Station(name="db1"),),
        jobs=(Job(name="job", phases=(phase,)),),
        workers=2,
        slots_each=2,
        own_processors=own,
    )
    run = simulate(network, 1)
    assert run.elapsed_s == 20.0
    assert run.utilisation["cpu"] == pytest.approx(1.0)
    assert run.limit == "cpu"


def test_batches_keep_the_work_and_bound_the_units() -> None:
    """100 workers on a million items become at most 100,000 units with the same total demands."""
    phase = Phase(name="only", units=1_000_000, demands={"filer": 0.001}, weights=())
    network = Network(
        stations=FILER,
        databases=(Station(name="db1"),),
        jobs=simultaneous((phase, replace(phase, name="few", units=300)), 1),
        workers=100,
        dispatch_s=0.001,
    )
    large, few = batched(network).jobs[0].phases
    assert batched(network).dispatch_s * large.units == pytest.approx(1000.0, rel=0.01)
    assert large.units <= MOST_UNITS
    assert large.units * large.demands["filer"] == pytest.approx(1000.0)
    assert few.units == 300


def test_batches_of_unequal_units_keep_the_work_and_leave_the_heaviest_alone() -> None:
    """Only what is light goes together: two of the largest, one after the other, would be an end that no run has."""
    weights = (30.0, 20.0, 20.0) + (0.95,) * 1500 + (10.0,)
    phase = Phase(name="only", units=len(weights), demands={"filer": 1.0}, weights=weights)
    network = _one_phase(FILER, {"filer": 1.0}, 1, 2, jobs=(Job(name="job", phases=(phase,)),))
    merged = batched(network, most_units=150).jobs[0].phases[0]
    work = [weight * merged.demands["filer"] for weight in merged.weights]
    assert merged.units == len(merged.weights) <= 150
    assert sum(work) == pytest.approx(sum(weights))
    assert work[:3] == pytest.approx([30.0, 20.0, 20.0])
    assert work[-1] == pytest.approx(10.0, abs=2.0)
    assert max(work[3:]) < 20.0


def test_equal_units_that_are_a_few_too_many_stay_as_many_as_they_may() -> None:
    """Not each with its next: with half as many there would be too few for the slots."""
    phase = Phase(name="only", units=400, demands={"filer": 1.0}, weights=(1.0,) * 400)
    network = _one_phase(FILER, {"filer": 1.0}, 1, 48, jobs=(Job(name="job", phases=(phase,)),))
    merged = batched(network, most_units=100).jobs[0].phases[0]
    assert merged.units == len(merged.weights) == 384
    assert max(merged.weights) == pytest.approx(2 * min(merged.weights))


def test_a_part_of_the_course_that_asks_a_station_for_nothing() -> None:
    """However the station's times are spread: no sample of a short phase may have seen it."""
    phase = Phase(name="only", units=100, demands={"filer": 1.0}, course={"filer": (2.0, 0.0)})
    wide = (replace(FILER[0], shape=0.125),)
    run = simulate(_one_phase(wide, {"filer": 1.0}, 1, 1, jobs=(Job(name="job", phases=(phase,)),)), 1)
    assert run.elapsed_s > 0


def test_a_heavy_unit_makes_more_visits_and_not_longer_ones() -> None:
    """Thirty of the same length, and not twelve of which three are long: others get in between."""
    phase = Phase(name="only", units=4, demands={"filer": 3.0}, weights=(3.6, 0.1, 0.1, 0.2), rounds=3)
    run = simulate(_one_phase(FILER, {"filer": 1.0}, 1, 1, jobs=(Job(name="job", phases=(phase,)),)), 1)
    assert run.elapsed_s == pytest.approx(12.0)
    assert run.stay_s["filer"] == pytest.approx(12.0 / (11 + 3))


def test_jobs_get_slots_in_turn() -> None:
    """Two equal jobs on a shared crew end together; and so they do where the units of one take longer: it has more slots then."""
    phase = Phase(name="only", units=100, demands={"wait": 1.0})
    databases = (Station(name="db1"), Station(name="db2"))
    network = Network(stations=WAIT, databases=databases, jobs=simultaneous((phase,), 2), workers=1, slots_each=4)
    assert [time.end_s for time in simulate(network, 1).phases] == [50.0, 50.0]
    slow = replace(network.jobs[1], phases=(replace(phase, demands={"wait": 3.0}),))
    first, last = sorted(time.end_s for time in simulate(replace(network, jobs=(network.jobs[0], slow)), 1).phases)
    assert last == pytest.approx(100.0, rel=0.05)
    assert last - first <= 6.0


def test_stations_that_are_asked_one_after_the_other_are_not_full_at_once() -> None:
    """All of the filer's work in the first half of a phase's course and all of the other's in the second take the sum of
    both, and in any order the larger."""
    other = Station(name="other", shape=0)
    demands = {"filer": 1.0, "other": 1.0}
    course = {"filer": (2.0, 0.0), "other": (0.0, 2.0)}
    mixed = Phase(name="only", units=200, demands=demands)
    sizes = []
    for phase in (mixed, replace(mixed, course=course), replace(mixed, course={"filer": (1.0, 1.0)})):
        network = _one_phase((*FILER, other), demands, 1, 20, jobs=(Job(name="job", phases=(phase,)),))
        sizes.append(simulate(network, 1).elapsed_s)
    assert sizes == pytest.approx([200.0, 400.0, 200.0], rel=0.05)


def test_the_limit_of_a_run_is_that_of_its_longest_part() -> None:
    """A short phase at the filer and a long one of waiting: the slots limit the run, the filer its first phase."""
    short = Phase(name="walk", units=50, demands={"filer": 0.1})
    long = Phase(name="index", units=50, demands={"wait": 4.0})
    network = _one_phase((*FILER, *WAIT), {"wait": 1.0}, 1, 5, jobs=(Job(name="job", phases=(short, long)),))
    run = simulate(network, 1)
    assert [time.limit for time in run.phases] == ["filer", "slots"]
    assert run.limit == "slots"
