"""`make bench-scale`: simulations of 1,000 and 10,000 workers, 1 to 64 databases, up to 1 PB, to find the limits of the
architecture.

Hosts, filer and network grow with the workers, so that the limit is a part of edbench: database servers, or the
dispatcher of each database. Demands are those of the shipped calibration. A dispatcher sends tasks at the rate that the
CPU seconds of queue manager, database and broker for a task allow, one after the other: measured first, in some
seconds, unless `--dispatched` is given. The first rows show the error of drawing tasks compared with the full plan of a
million items, and of simulating several tasks as one."""

from __future__ import annotations

import argparse
import dataclasses
import resource
import time

from benchmarks import dispatcher
from benchmarks.driver import bench_home
from simulate.demands import shipped
from simulate.plan import Plan, contents_of_plain, plan_of
from simulate.simulation import Case, limits, run_case
from simulate.site import Site, load_site
from simulate.tasks import MOST_TASKS

_WORKERS_A_HOST = 8  # of 4 slots and 4 cores

_FEW_TASKS = 4_000  # of 100 workers: as few a slot as 10,000 workers have with the usual limit
_SLOW = 200.0  # tasks/s of a dispatcher that is the limit
# Workers, databases, times the 45 GB of the reference profile, tasks/s of each dispatcher (None: as measured), times the usual size of a task.
POINTS = (
    (100, 1, 22, _SLOW, 1), (100, 1, 22, _SLOW, 4), (100, 4, 22, _SLOW, 1), (100, 1, 22, None, 1), (1_000, 1, 222, None, 1),
    (1_000, 4, 222, None, 1), (1_000, 16, 222, None, 1), (10_000, 16, 2_222, None, 1), (10_000, 64, 2_222, None, 1), (10_000, 64, 2_222, None, 1),
    (10_000, 64, 22_222, None, 1),
)  # fmt: skip
_WHOLE = 10  # the point with one job on each database in place of one for each custodian there
_SECTION_6 = Case(workers=100, databases=2)  # R1's largest installations: 50 to 100 workers, several servers and jobs
_HEADER = "dispatcher    workers databases      TB    items/s  elapsed s  GB/hour  CPU s   GB  limits"


def site_for(workers: int, dispatched_per_s: float, larger: int = 1) -> Site:
    """Return the site `cluster` with hosts, filer and network for so many workers, dispatchers of this rate, and tasks
    that are `larger` times as large."""
    site = load_site("cluster")
    options = site.options
    tasks = {name: larger * getattr(options, name) for name in ("batch_bytes", "batch_files", "split_bytes")}
    hosts = -(-workers // _WORKERS_A_HOST)
    factor = hosts / len(site.hosts)
    grown = {
        unit: dataclasses.replace(getattr(site, unit), servers=max(1, round(getattr(site, unit).servers * factor)))
        for unit in ("fsa", "fsb")
    }
    disks = dataclasses.replace(site.disks, count=max(1, round(site.disks.count * factor)))
    return dataclasses.replace(
        site, hosts=site.hosts[:1] * hosts, bytes_per_s=site.bytes_per_s * factor, disks=disks,
        dispatched_per_s=dispatched_per_s, options=dataclasses.replace(options, **tasks), **grown,
    )  # fmt: skip


def _measured() -> float:
    """Measure how many tasks a dispatcher sends in a second on an otherwise idle machine."""
    with bench_home() as home:
        found = dispatcher.measure(home.directory)
    print(
        f"dispatcher: {found.task_cpu_s * 1e3:.2f} ms of CPU a task, at most {1 / found.task_cpu_s:,.0f} tasks/s; {found.rate:,.0f} tasks/s now"
    )
    return 1 / found.task_cpu_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=int, nargs="+", help="simulate these points, counted from 1")
    parser.add_argument("--dispatched", type=float, help="let each dispatcher send so many tasks a second; 0: no limit")
    args = parser.parse_args()
    dispatched_per_s = _measured() if args.dispatched is None else args.dispatched
    calibration, fitted = shipped(), shipped("r1")
    contents = contents_of_plain(calibration.contents)
    whole = plan_of("reference", 1.0, 1, contents)
    print(_HEADER)

    def row(site: Site, case: Case, plan: Plan, most_tasks: int = MOST_TASKS) -> float:
        began, demands = time.process_time(), fitted.demands if site.report else calibration.demands
        found, trace = run_case(site, case, plan, demands, most_tasks=most_tasks)
        limit = "; ".join(f"{one.stage}: {one.busiest} {one.utilisation:.0%}" for one in limits(site, trace))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        rate = plan.items * (1 if case.shard else case.databases) / found.elapsed_s
        print(f"{site.name:12s} {case.workers:8d} {case.databases:9d} {found.gb_before / 1e3:7.2f} {rate:10,.0f} {found.elapsed_s:10,.0f} {found.gb_after / found.elapsed_s * 3600:8,.0f} {time.process_time() - began:6.1f} {memory:4.1f}  {limit}", flush=True)  # fmt: skip
        return found.elapsed_s

    if not args.only:
        small = Case(workers=8, databases=1, shard=True)
        few = site_for(8, dispatched_per_s)
        planned = row(few, small, whole)
        drawn = row(few, small, plan_of("reference", 1.0, 1, contents, most=0, sample=100_000))
        print(f"tasks drawn from a tenth against all {whole.items:,} items planned: {drawn / planned - 1:+.1%}")
        case, plan = Case(workers=100, databases=1, shard=True), dataclasses.replace(whole, copies=22)
        each, merged = (row(site_for(100, dispatched_per_s), case, plan, most) for most in (MOST_TASKS, _FEW_TASKS))
        print(f"{_FEW_TASKS:,} tasks simulated at most in a phase against all: {merged / each - 1:+.1%}")
        report = load_site("r1")
        grown = dataclasses.replace(report, name="r1 x 2", hosts=report.hosts * 2)
        row(grown, _SECTION_6, plan_of("r1", 1.0, 1, contents_of_plain(fitted.contents)))
    for number, (workers, databases, times, slow, larger) in enumerate(POINTS, 1):
        if args.only and number not in args.only:
            continue
        rate = slow or dispatched_per_s
        site = site_for(workers, rate, larger)
        site = dataclasses.replace(
            site, name=f"{rate:,.0f}/s" + (f", x {larger}" if larger > 1 else "") + (" whole" if number == _WHOLE else ""), job_per_custodian=number != _WHOLE
        )  # fmt: skip
        row(site, Case(workers=workers, databases=databases, shard=True), dataclasses.replace(whole, copies=times))


if __name__ == "__main__":
    main()
