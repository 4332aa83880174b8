"""Where the architecture stops: simulations of 1,000 and 10,000 workers, 1 to 64 databases, up to 1 PB.

`make bench-scale`. Hosts, filer and network grow with the workers, so that what stops is a part of ours: database servers, and per
database the dispatcher. Costs are those of the shipped calibration.
"""

from __future__ import annotations

import argparse
import dataclasses
import resource
import time

from simulate.demands import shipped
from simulate.plan import contents_of_plain, plan_of
from simulate.simulation import Case, limits, run_case
from simulate.site import DatabaseServer, Site, load_site

_WORKERS_A_HOST = 8  # of 4 slots and 4 cores
# Workers, databases, scale of the reference profile (45 GB raw).
POINTS = ((100, 1, 22.2), (1_000, 1, 222.0), (1_000, 4, 222.0), (1_000, 16, 222.0), (10_000, 16, 2_222.0), (10_000, 64, 2_222.0), (10_000, 64, 22_222.0))  # fmt: skip


def site_for(workers: int) -> Site:
    """The site `cluster` with hosts, filer and network for so many workers."""
    site = load_site("cluster")
    hosts = -(-workers // _WORKERS_A_HOST)
    factor = hosts / len(site.hosts)
    grown = {
        unit: dataclasses.replace(getattr(site, unit), servers=max(1, round(getattr(site, unit).servers * factor)))
        for unit in ("fsa", "fsb")
    }
    disks = dataclasses.replace(site.disks, count=max(1, round(site.disks.count * factor)))
    return dataclasses.replace(
        site, hosts=site.hosts[:1] * hosts, bytes_per_s=site.bytes_per_s * factor, disks=disks, **grown
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=len(POINTS), help="simulate the first so many points")
    parser.add_argument("--database-cores", type=int, help="give each database server so many cores")
    args = parser.parse_args()
    calibration = shipped()
    contents = contents_of_plain(calibration.contents)
    print(
        "workers databases      TB    items/s  elapsed s  GB/hour  limit                                    CPU s  GB"
    )
    for workers, databases, scale in POINTS[: args.points]:
        began = time.process_time()
        site = site_for(workers)
        if args.database_cores:
            servers = tuple(DatabaseServer(cores=args.database_cores, ghz=one.ghz) for one in site.databases)
            site = dataclasses.replace(site, databases=servers)
        plan = plan_of(site.profile, scale, 1, contents)
        row, trace = run_case(
            site, Case(workers=workers, databases=databases, shard=True), plan, calibration.demands, seed=1
        )
        limit = "; ".join(f"{one.stage}: {one.busiest} {one.utilisation:.0%}" for one in limits(site, trace))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        rate = plan.items / row.elapsed_s
        print(f"{workers:7d} {databases:9d} {row.gb_before / 1e3:7.1f} {rate:10,.0f} {row.elapsed_s:10,.0f} {row.gb_after / row.elapsed_s * 3600:8,.0f}  {limit:40s} {time.process_time() - began:5.0f} {memory:3.1f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
