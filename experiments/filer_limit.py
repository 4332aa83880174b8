"""Which part of an emulated filer was the limit, in words for the first line of an experiment."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping

from experiments.report import words

BUSY = 0.85  # utilisation from which a station is called the limit
THE_STORAGE = "limit: the storage"  # one that is not emulated: what of it is not known
Stations = Mapping[str, Mapping[str, float]]  # by name: {"utilisation": 0 to 1, …}


def busiest(series: Iterable[tuple[float, Stations]]) -> tuple[str, float] | None:
    """The station that was busiest in the median second of work, and how busy; None where there were too few seconds.

    The first and the last second of work are cut: calls began or ended within them.
    """
    worked = [stations for _, stations in series if any(use["utilisation"] > 0 for use in stations.values())][1:-1]
    if not worked:
        return None
    medians = {name: statistics.median(use[name]["utilisation"] for use in worked) for name in worked[0]}
    name = max(medians, key=lambda station: medians[station])
    return name, medians[name]


def limit_told(series: Iterable[tuple[float, Stations]], *, waits: bool) -> list[str]:
    """The station that is the limit, from where the capacity model calls one so (`BUSY`); else, where it is known that
    most of the time was spent waiting for the filer (`waits`), that its delays are. Nothing where neither is known."""
    limit = busiest(series)
    if limit is None:
        return []
    name, share = limit
    if share >= BUSY:
        return [f"limit: the filer's {name}, {words.percent(min(share, 1.0))} busy"]
    if waits:
        return [f"limit: the filer's delays, no station over {words.percent(share)} busy"]
    return []
