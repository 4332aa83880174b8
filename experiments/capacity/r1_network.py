"""One R1 parameter set as a network, so that the simulation can be held against the quick analysis that fitted it."""

from __future__ import annotations

from experiments.capacity import r1_facts as facts
from experiments.capacity.network import DATABASE, Kind, Network, Phase, Station, simultaneous
from experiments.capacity.r1_sets import PHASES, Sets, demands

UNITS = 8000  # batches of a phase: 125 items in each; much fewer would make the ends of phases too long


def network(sets: Sets, index: int, workers: int, databases: int, *, cores: int = facts.CORES) -> Network:
    """The set at `index`. The second database server is as slow as the set says, any further one is like the first."""
    one = sets.only([index])
    asked = demands(one, databases_on_filer=True)
    phases = tuple(
        Phase(
            name=name,
            units=UNITS,
            demands={
                "latency": float(asked.latency[0, n]) / UNITS,
                "fsa": float(asked.fsa[0, n]) / UNITS,
                "fsb": float(asked.fsb[0, n]) / UNITS,
                "link": float(asked.link[0, n]) / UNITS,
                DATABASE: float(asked.database[0, n]) / UNITS,
                "processors": float(asked.processors[0, n]) / UNITS,
            },
            counts={"filer_ops": float(asked.ops[0, n]) / UNITS},
        )
        for n, name in enumerate(PHASES)
    )
    slow = float(one.of("second_database")[0])
    return Network(
        stations=(
            Station(name="latency", kind=Kind.DELAY),
            Station(name="fsa"),
            Station(name="fsb"),
            Station(name="link"),
            Station(name="processors", servers=min(workers * facts.PROCESSORS_EACH, cores)),
        ),
        databases=tuple(Station(name=f"sql {n + 1}", speed=slow if n == 1 else 1.0) for n in range(databases)),
        jobs=simultaneous(phases, databases),
        workers=workers,
        slots_each=facts.SLOTS_EACH,
        pooled=bool(one.of("shared_crew")[0] > 0.5),
        databases_on_filer=True,  # already in the demand at fsb
    )
