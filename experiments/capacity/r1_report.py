"""Report R1 against the model, as data: what fits, what was held out, what simpler laws say. `r1_text` prints it.

Three rows cannot validate three parameters, less so with twelve more that are only bounded. So there are three questions:
what do the elapsed times alone say about the rest (`elapsed_alone`); what do the two rows and the timeline of one database
say about the third row (`third_row`); can one set hold everything at once (`everything`)?
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from experiments.capacity import r1_facts as facts
from experiments.capacity.r1_checks import figures, passes
from experiments.capacity.r1_facts import CHECKS, ROWS, Row
from experiments.capacity.r1_fit import WITHIN, Fit, fit_rows, fit_two
from experiments.capacity.r1_fluid import run
from experiments.capacity.r1_network import network
from experiments.capacity.r1_search import Aim, Effort, passing, search
from experiments.capacity.r1_sets import BOXES, NAMES, SCALES, Numbers, Sets, parts
from experiments.capacity.rivals import amdahl, one_phase, straight_line
from experiments.capacity.simulation import simulate

SEED = 1
_POINTS = tuple((workers, databases) for databases in (1, 2, 4) for workers in (10, 30, 50, 100))
_ONE_DATABASE = tuple(check for check in CHECKS if not check.two_databases)
_IDLE = ("second_database", "shared_crew")  # parameters that runs on one database do not touch
_NEARLY_EQUAL = 0.8


def r1_report(effort: Effort, seed: int = SEED) -> dict[str, Any]:
    """Everything `edbench predict --r1` says, as plain JSON; the same for the same arguments. Under a minute."""
    fit = fit_rows(effort.draws, seed)
    everything = search(fit.sets, Aim(ROWS, (0, 1, 2), CHECKS), effort, seed)
    whole = everything.only(passing(everything, CHECKS) == len(CHECKS))
    return {
        "seed": seed,
        "drawn": fit.drawn,
        "within": WITHIN,
        "data_points": {"fitted": len(ROWS), "anchored": 2, "held_out": sum(not check.anchored for check in CHECKS)},
        "parameters": {"fitted": list(SCALES), "drawn": [asdict(box) for box in BOXES]},
        "rivals": _rivals(),
        "one_phase": [_one_phase(row) for row in ROWS],
        "elapsed_alone": _ensemble(fit.sets, seed),
        "third_row": _third_row(fit_two(effort.draws, seed), effort, seed),
        "everything": _ensemble(whole, seed) if len(whole) else None,
        "most_checks_passed": int(passing(everything, CHECKS).max()),
        "predictions": [_prediction(point, fit.sets, whole) for point in _POINTS],
    }


def middle(sets: Sets) -> int:
    """The set that is nearest to the median of all, by its place in the boxes and its scales: no check chooses it."""
    logs = np.log(sets.scale)
    spread = np.maximum(logs.std(axis=0), 1e-9)
    places = np.column_stack([parts(sets.shape), logs / spread / 4])
    return int(((places - np.median(places, axis=0)) ** 2).sum(axis=1).argmin())


def _ensemble(sets: Sets, seed: int) -> dict[str, Any]:
    """Sets that fit: their parameters, the middle one's rows, and every check."""
    chosen = middle(sets)
    found, ok = figures(sets), passes(figures(sets))
    return {
        "sets": len(sets),
        "parameters": {name: _spread(sets.of(name), chosen) for name in (*SCALES, *NAMES)},
        "rows": [_row(sets, chosen, row, seed) for row in ROWS],
        "checks": [
            {
                "name": check.name,
                "says": check.says,
                "unit": check.unit,
                "published": check.published,
                "low": check.low,
                "high": check.high,
                "anchored": check.anchored,
                **_spread(found[check.name], chosen),
                "passed": bool(ok[check.name][chosen]),
                "share_passed": float(ok[check.name].mean()),
            }
            for check in CHECKS
        ],
    }


def _spread(values: Numbers, chosen: int) -> dict[str, float]:
    """Of all sets, and of the middle one."""
    return {"middle": float(values[chosen]), "least": float(values.min()), "most": float(values.max())}


def _row(sets: Sets, chosen: int, row: Row, seed: int) -> dict[str, Any]:
    simulated = simulate(network(sets, chosen, row.workers, row.databases), seed)
    return {
        **asdict(row),
        "gb_per_hour": row.gb_per_hour,
        "model_s": float(run(sets.only([chosen]), row.workers, row.databases).elapsed_s[0]),
        "simulated_s": simulated.elapsed_s,
        "limits": [f"{time.phase}: {time.limit}" for time in simulated.phases if time.job == "job 1"],
    }


def _rivals() -> dict[str, float]:
    """GB/hour of the third row by simpler laws through the first two: D jobs with a D-th of the workers each."""
    one, other, third = ROWS
    points = (one.workers, one.elapsed_s), (other.workers, other.elapsed_s)
    laws = {"amdahl": amdahl(*points).elapsed_s, "straight_line": straight_line(*points).elapsed_s}
    gigabytes = facts.GB_DISCOVERED * third.databases * 3600
    rates = {name: gigabytes / law(third.workers, third.databases) for name, law in laws.items()}
    return {"published": third.gb_per_hour, **rates}


def _one_phase(row: Row) -> dict[str, float]:
    """A row by the network of one phase, and how busy that keeps the filer from beginning to end."""
    found = one_phase(row.workers, row.databases)
    return {"gb_per_hour": found.throughput, "filer_busy": found.utilisation["filer"]}


def _third_row(fit: Fit, effort: Effort, seed: int) -> dict[str, Any]:
    """The third row from the first two, without and with what the timeline of one database says."""
    found = search(fit.sets, Aim(ROWS[:2], (1, 2), _ONE_DATABASE, _IDLE), effort, seed)
    timeline = found.only(passing(found, _ONE_DATABASE) == len(_ONE_DATABASE))
    equal = timeline.only(timeline.of("second_database") >= _NEARLY_EQUAL)
    by_clock = timeline.only((timeline.of("second_database") >= 0.55) & (timeline.of("second_database") < 0.7))
    return {
        "two_rows": _rates(fit.sets, ROWS[2]),
        "two_rows_and_timeline": _rates(timeline, ROWS[2]),
        "second_server_by_clock": _rates(by_clock, ROWS[2]),
        "second_server_nearly_equal": _rates(equal, ROWS[2]),
        "plateau_2_min": _range(figures(timeline)["plateau_2"]) if len(timeline) else None,
    }


def _rates(sets: Sets, row: Row, cores: int = facts.CORES) -> dict[str, float] | None:
    """GB/hour over these sets; None without any."""
    if not len(sets):
        return None
    elapsed = run(sets, row.workers, row.databases, cores=cores).elapsed_s
    return _range(facts.GB_DISCOVERED * row.databases * 3600 / elapsed)


def _range(values: Numbers) -> dict[str, float]:
    least, median, most = (float(v) for v in np.percentile(values, [0, 50, 100]))
    return {"sets": float(len(values)), "least": least, "median": median, "most": most}


def _prediction(point: tuple[int, int], fitted: Sets, whole: Sets) -> dict[str, Any]:
    row = Row(workers=point[0], databases=point[1], elapsed_s=1.0)
    ample = max(facts.CORES, row.workers * facts.PROCESSORS_EACH)
    return {
        "workers": row.workers,
        "databases": row.databases,
        "elapsed_alone": _rates(fitted, row),
        "everything": _rates(whole, row),
        "everything_hosts_to_match": _rates(whole, row, ample),
    }
