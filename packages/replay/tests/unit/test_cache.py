"""What a result of replays says of caches follows from what its clients dropped, and from what the filer can hold."""

from __future__ import annotations

import dataclasses
from dataclasses import asdict
from typing import Any

import pytest
import replay_results as made
from msgspec import to_builtins

from core.residency import Dropped
from experiments.result.schema import Knee
from replay.runs import Observed, RecordedFigures
from replay.telling import ReplayTelling
from sql.replay import ReplayClient

GB = 10**9


def telling(recorded: RecordedFigures | None = None, **cache: Any) -> ReplayTelling:
    beside: dict[str, Any] = dict.fromkeys(
        ("trace", "seed", "storage", "targets", "emulated_filer", "null_storage", "hosts")
    )
    known = {"client_memory_bytes": GB, "filer_cache_bytes": None, "filer_caches_itself": True}
    return ReplayTelling(
        beside
        | {"recorded": to_builtins(recorded or made.recorded()), "configuration": {"pace": "schedule"}, "cache": known | cache}
    )  # fmt: skip


def test_a_bound_on_writes_is_said_to_bound_copies() -> None:
    whole = made.result(made.point(4, 990.0))
    bounded = {op: Knee(bounds_us={op: 9.0}, peak=0, knee=0, broken=None) for op in ("read", "write")}
    unsynced = [telling().remarks(dataclasses.replace(whole, knee=knee)) for knee in (None, *bounded.values())]
    assert [any("copies into memory" in line for line in lines) for lines in unsynced] == [False, False, True]
    recorded = made.recorded()
    synced = dataclasses.replace(recorded, origin=recorded.origin | {"options": {"fsync": "file"}})
    said = telling(recorded=synced).remarks(dataclasses.replace(whole, knee=bounded["write"]))
    assert not any("copies into memory" in line for line in said)


def observed(*dropped: dict[str, Any] | None) -> Observed:
    clients = [
        ReplayClient(
            client=n, host="h", worker="w", slot=n, taken=0.0, ready=1.0, finished=2.0, result={"dropped": one}
        )
        for n, one in enumerate(dropped)
    ]
    return Observed(
        repeat=0, order=0, emulated=False, job_id="j", job={}, processors=2, clients=tuple(clients), touched=10 * GB,
        adapted=0, opened=0,
    )  # fmt: skip


def dropped(stayed: int) -> dict[str, Any]:
    return asdict(Dropped(files=3, looked_at=3, bytes=1_000, resident_before=1_000, resident_after=stayed,
                          unknown=0, refused=0, drop_caches=False, seconds=0.5))  # fmt: skip


def test_every_client_drops_its_own() -> None:
    points = [made.point(4, 990.0)]
    cold, partly, nothing = telling(), telling(), telling()
    cold.see(observed(dropped(0), dropped(0)))
    partly.see(observed(dropped(0), dropped(500)))
    nothing.see(observed(None, None))
    cache = cold.conditions(points)["cache"]
    assert cache["state"].startswith("cold on this host")
    assert [one["when"] for one in cache["drops"]] == ["before the calls"] * 2
    assert partly.conditions(points)["cache"]["state"].startswith("partly cold: up to 50.0% of the bytes")
    assert nothing.conditions(points)["cache"]["state"].startswith("nothing was dropped: the misses")


@pytest.mark.parametrize(
    ("declared", "possible", "cached", "undeclared"),
    [(None, True, False, True), (0, True, False, False), (5 * GB, True, True, False), (None, False, False, False)],
)
def test_the_filers_cache_counts(declared: int | None, possible: bool, cached: bool, undeclared: bool) -> None:
    """10 GB of files on a client with 1 GB."""
    told = telling(filer_cache_bytes=declared, filer_caches_itself=possible)
    told.see(observed(None))
    assert (told.cached([]), told.undeclared()) == (cached, undeclared)
