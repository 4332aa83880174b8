"""The engine against closed forms and bounds, and what it promises: the same events twice, and batches that change
little.

All of it is a pure function of the seeds given here, so a tolerance is met once and for all."""

import dataclasses
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.records import Phase
from simulate.engine import Engine, Servers, Trace
from simulate.site import Host, Site, Unit, load_site, placed
from simulate.tasks import COLUMNS, CPU, FSA_OPS, FSA_S, JobLoad, Task


def _site(*, cores: int, servers: int, slots: int, hosts: int = 1) -> Site:
    """Hosts of `cores` at 1 GHz that hold one worker each, and a filer that is one unit of servers."""
    unit = Unit(servers=servers, service_us=0.0, change_us=0.0)
    return dataclasses.replace(
        load_site("r1"), hosts=(Host(cores=cores, ghz=1.0, memory_gb=0.0),) * hosts, worker_cores=max(cores, slots), slots=slots,
        fsa=unit, fsb=unit, round_trip_us=0.0, bytes_per_s=0.0, index_streams=None, commit_per_item=False,
    )  # fmt: skip


def _load(tasks: int, cpu: float, fsa: float, items: int = 1) -> JobLoad:
    demand = [0.0] * COLUMNS
    demand[CPU], demand[FSA_S], demand[FSA_OPS] = cpu, fsa, 1.0
    made = tuple(Task(10**9, n + 1, items, demand) for n in range(tasks))  # heavy: cut into several a slot
    return JobLoad(phases=((Phase.EXPAND, made),), items=tasks * items, discovered_bytes=0)


def _run(
    site: Site, load: JobLoad, *, workers: int = 1, chunk: float = 1.0, dice: random.Random | None = None
) -> Trace:
    return Engine(site, [load], workers=workers, databases=1, chunk=chunk, dice=dice).run()


@pytest.mark.parametrize(("load", "servers"), [(0.3, 1), (0.6, 1), (0.8, 1), (0.6, 2), (0.8, 4)])
def test_a_unit_is_an_mmc_queue(load: float, servers: int) -> None:
    """Promise: the mean response of equal servers with one queue is Erlang's, within 5 %."""
    dice, queue, at, stay = random.Random(3), Servers(servers), 0.0, 0.0
    for _ in range(60_000):
        at += dice.expovariate(load * servers)
        stay += queue.book(at, dice.expovariate(1.0)) - at
    offered = load * servers
    last = offered**servers / math.factorial(servers) / (1 - load)
    waits = last / (sum(offered**n / math.factorial(n) for n in range(servers)) + last)
    assert stay / 60_000 == pytest.approx(1 + waits / (servers - offered), rel=0.05)


@pytest.mark.parametrize(("machines", "repairmen", "ratio"), [(6, 1, 0.1), (10, 1, 0.3), (12, 3, 0.25)])
def test_slots_and_a_unit_are_machines_and_repairmen(machines: int, repairmen: int, ratio: float) -> None:
    """Promise: tasks a second are those of the machine-repairman model by its birth-death equations, within 2 %."""
    site = _site(cores=machines, servers=repairmen, slots=machines)
    trace = _run(site, _load(20_000, 1.0, ratio), dice=random.Random(5))
    states = [1.0]
    for broken in range(machines):
        states.append(states[-1] * (machines - broken) / (min(broken + 1, repairmen) / ratio))
    repairs = sum(p * min(n, repairmen) / ratio for n, p in enumerate(states)) / sum(states)
    assert 20_000 / trace.elapsed_s == pytest.approx(repairs, rel=0.02)


@given(
    slots=st.integers(1, 6), tasks=st.integers(1, 40), cores=st.integers(1, 4), servers=st.integers(1, 3),
    cpu=st.floats(0.5, 5.0), fsa=st.floats(0.5, 5.0),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_no_run_beats_its_bottleneck_nor_a_single_slot(
    slots: int, tasks: int, cores: int, servers: int, cpu: float, fsa: float
) -> None:
    """Promise: elapsed is between the asymptotic bounds, and the same arguments give the same trace."""
    site, load = _site(cores=cores, servers=servers, slots=slots), _load(tasks, cpu, fsa)
    trace = _run(site, load)
    least = max(cpu + fsa, tasks * cpu / min(cores, slots), tasks * fsa / min(servers, slots))
    looks = 0.5 + tasks * 0.02
    assert least - 1e-6 <= trace.elapsed_s <= tasks * (cpu + fsa) + looks
    assert trace == _run(site, load)


def test_workers_share_the_cores_of_their_host() -> None:
    """Promise: 4 workers of 2 cores on a host of 4 cores compute as fast as its cores do, whatever they were promised."""
    site = dataclasses.replace(_site(cores=4, servers=1, slots=2), worker_cores=2)
    shared = _run(site, _load(64, 10.0, 0.0), workers=4)
    assert shared.elapsed_s == pytest.approx(64 * 10.0 / 4, rel=0.03)
    alone = _run(dataclasses.replace(site, hosts=site.hosts * 4), _load(64, 10.0, 0.0), workers=4)
    assert alone.elapsed_s == pytest.approx(64 * 10.0 / 8, rel=0.03)


def test_chunks_of_items_change_elapsed_by_little() -> None:
    """Promise: items served 25 at a time take as long as one at a time, within 2 %, where both a core and the unit are short."""
    site, load = _site(cores=4, servers=2, slots=8), _load(200, 8.0, 4.0, items=100)
    assert _run(site, load, chunk=25).elapsed_s == pytest.approx(_run(site, load, chunk=1).elapsed_s, rel=0.02)


@pytest.mark.parametrize(("phase", "least", "most"), [(Phase.EXPAND, 10.0, 13.0), (Phase.INDEX, 20.0, 21.0)])
def test_slots_without_work_get_what_is_left_of_a_task(phase: Phase, least: float, most: float) -> None:
    """Promise: of 20 s of one task a second slot takes its half, in the phase in which slots do so."""
    load = _load(1, 0.0, 20.0, items=20)
    load = dataclasses.replace(load, phases=((phase, load.phases[0][1]),))
    assert least <= _run(_site(cores=2, servers=2, slots=2), load).elapsed_s <= most


def test_workers_are_placed_by_load_within_memory() -> None:
    """Promise: 30 of report R1's workers use its hosts evenly by cores, 24 and 8 GB bound theirs, and too many are refused."""
    site = load_site("r1")
    at = placed(site, 30)
    assert [at.count(n) for n in range(5)] == [11, 11, 2, 2, 4] or max(at.count(n) for n in (2, 3)) <= 4
    assert at.count(1) <= 12
    with pytest.raises(Exception, match="memory for"):
        placed(site, 200)


def test_parts_beyond_the_limit_stand_for_several() -> None:
    """Promise: of a job with fewer tasks than its slots need, no more parts are simulated than the limit; they take the dispatcher as
    long as all of them."""
    site = dataclasses.replace(_site(cores=8, servers=8, slots=8), dispatched_per_s=2.0)
    load, traces = _load(2, 12.0, 0.0, items=1_000), []
    for most in (1_000, 16):
        engine = Engine(site, [load], workers=1, databases=1, chunk=1_000.0, note_order=True, most_tasks=most)
        traces.append(engine.run())
    assert [len(trace.dispatched) for trace in traces] == [24, 16]
    busy = [sum(trace.dispatcher_busy[0]) for trace in traces]
    assert busy == pytest.approx([12.0, 12.0])
    assert traces[1].elapsed_s == pytest.approx(traces[0].elapsed_s, rel=0.1)
