"""Packages of profiles: whoever makes a series, a headline or a refusal better than what was observed is found out."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from drawn import drawn_once
from result_packages import Forgery, edit_json, of_observed, of_result

from core.clock import SystemClock
from core.histogram import bucket_of
from experiments.kinds import planned
from experiments.package.check import check, finish
from experiments.package.manifest import broken, seal
from experiments.result.codec import read_result
from experiments.result.schema import At
from experiments.study import conduct
from experiments.workload import Observe, Turn, Workload
from experiments.workloads import about
from storage_tests.client_sweep import SweepLoad, SweepPhase, SweepRun
from storage_tests.clients import ClientDone
from storage_tests.devices import Usage
from storage_tests.insert_drift import InsertGroup, InsertLoad, InsertRun
from storage_tests.tally import Counted

__all__ = ["drawn_once"]
LABEL = "EMULATED FILER mine, scale 1/1"


class Made(Workload):
    """Runs that are made up; everything after observing is real."""

    def __init__(self, name: str, storage: Path, observed: Callable[[Turn], Any]) -> None:
        self.about = about(name)  # type: ignore[misc]  # of the profile, not of the class
        self.storage, self.clock, self.say = storage, SystemClock(), lambda _line: None
        self._observed = observed

    @contextmanager
    def started(self, turn: Turn) -> Iterator[Observe]:
        yield lambda: self._observed(turn)

    def surroundings(self) -> dict[str, Any]:
        """As `ProfileStudy` has them, on an emulated filer."""
        settings = {"files": 1200, "group": 100, "size": 1024}
        place = {"path": "/mnt/f", "label": "local storage (ext4)", "mount": None}
        cache = {"client_memory_bytes": 10**9, "filer_cache_bytes": None, "filer_caches_itself": False, "direct": False,
                 "touched_bytes": 10**6}  # fmt: skip
        return {
            "configuration": {"edbench": "0", "profile": self.about.name, "settings": settings},
            "storage": place,
            "targets": [place],
            "s3": None,
            "emulated_filer": {"name": "mine", "label": LABEL, "scale": 1.0},
            "room": {"bytes_a_path": 1, "files_a_path": 1},
            "cache": cache,
            "null_storage": {"paired": True, "why_not": None, "place": "/dev/shm"},
            "sessions": [],
            "hosts": [{"name": "client", "processors": 4, "memory_bytes": 10**9}],
        }


def _busy(share: float) -> dict[str, Any]:
    """What an emulated filer tells: its metadata unit so busy."""
    unit = {"utilisation": share, "mean_wait_us": 1.0, "calls": 100, "filer_ops": 100.0}
    return {
        "seconds": 9.0,
        "stations": {"metadata": unit},
        "series": [[float(n), {"metadata": unit}] for n in range(9)],
    }


def _base(turn: Turn, elapsed: float) -> dict[str, Any]:
    return {"repeat": turn.repeat, "order": turn.order, "started_at": 1.7e9, "elapsed_s": elapsed, "worker_cpu": 0.1,
            "null_elapsed_s": 1.0, "filer": _busy(0.99)}  # fmt: skip


def _inserted(turn: Turn) -> InsertRun:
    """Twenty groups, each a tenth slower than the one before, the last refused."""
    took = [1.1**n for n in range(20)]
    groups = tuple(
        InsertGroup(
            seconds=seconds, done=100 - 7 * (n == 19), bytes=102_400, refused=7 * (n == 19), failed=0,
            late_s=0.0, usage=Usage(used_bytes=n * 409_600, used_inodes=n * 100),
            counted=(Counted(label="whole write", calls=100, bytes=102_400, errors=0, total_ns=int(seconds * 1e9),
                             max_ns=int(seconds * 1e7), cells=((bucket_of(int(seconds * 1e7)), 100),)),),
        )
        for n, seconds in enumerate(took)
    )  # fmt: skip
    nothing = Usage(used_bytes=0, used_inodes=0)
    return InsertRun(**_base(turn, sum(took)), ceilings={"files_per_s": 5000.0}, groups=groups, before=nothing,
                      after=groups[-1].usage, said=("connection refused",))  # fmt: skip


def _swept(turn: Turn) -> SweepRun:
    """Four clients, one of them refused."""
    clients = tuple(
        ClientDone(began_s=0.0, ended_s=1.0 + n, done=int(n < 3), bytes=10**6 * (n < 3), refused=int(n == 3), failed=0)
        for n in range(4)
    )
    phases = tuple(
        SweepPhase(deed=deed, clients=clients, counted=(), bytes_by_second=(10**6, 10**6, 10**6), said=("reset",))
        for deed in ("write", "read", "remove")
    )
    return SweepRun(**_base(turn, 12.0), ceilings={"write_aggregate_mb_s": 500.0}, phases=phases)


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A package of each, whole."""
    loads: dict[str, tuple[Callable[[Turn], Any], At]] = {
        "insert-drift": (_inserted, InsertLoad("shared", 4)),
        "client-sweep": (_swept, SweepLoad("together", 4)),
    }
    out = {}
    for name, (observed, load) in loads.items():
        made = Made(name, tmp_path_factory.mktemp(name), observed)
        result, out[name] = conduct(made, planned("profile", "clients", [load], repeats=2, seed=1))
        finish(result, out[name])
    return out


@pytest.mark.parametrize("name", ["insert-drift", "client-sweep"])
def test_an_unchanged_package_checks(name: str, genuine: dict[str, Path]) -> None:
    assert check(genuine[name]).differences == ()
    verdict = read_result(genuine[name]).verdict
    assert verdict.startswith(LABEL)
    assert "limit: the filer's metadata, 99 % busy" in verdict
    assert ("DRIFT at 1 of 1 points" in verdict) == (name == "insert-drift")
    assert f"{14 if name == 'insert-drift' else 6} connections REFUSED" in verdict


def _repeat(change: Callable[[Any], object]) -> Forgery:
    return of_result(lambda data: change(data["points"][0]["repeats"][0]))


def _study(change: Callable[[Any], object]) -> Forgery:
    return lambda at: edit_json(at / "raw" / "study.json", lambda data: change(data["surroundings"]))


def _cut(words: str) -> Forgery:
    return of_result(lambda data: data.update(verdict=data["verdict"].replace(words, "")))


INSERTED, SWEPT = "insert-drift", "client-sweep"
FORGERIES: dict[str, tuple[str, Forgery, str]] = {
    "a series made even": (
        INSERTED,
        _repeat(lambda run: run["groups"][9].update(run["groups"][0])),
        "groups[9].files_per_s is 100.0",
    ),
    "a slow group left out": (
        INSERTED,
        _repeat(lambda run: run["groups"].pop()),
        "groups has 19 entries; there are 20",
    ),
    "drift made likely by chance": (
        INSERTED,
        _repeat(lambda run: run["rate_drift"].update(trend_p=0.5, change_p=0.5)),
        "rate_drift.trend_p is 0.5",
    ),
    "drift cut from the first line": (INSERTED, _cut("; DRIFT at 1 of 1 points"), "result.json: verdict is"),
    "refusals cut from the first line": (SWEPT, _cut("; 6 connections REFUSED"), "result.json: verdict is"),
    "the limit cut from the first line": (SWEPT, _cut("limit: the filer's metadata, 99 % busy; "), "verdict is"),
    "a real filer instead": (
        INSERTED,
        _study(lambda conditions: conditions.update(emulated_filer=None)),
        "no result can be computed",
    ),
    "a ceiling raised": (
        INSERTED,
        _repeat(lambda run: run["ceilings"].update(files_per_s=1e9)),
        "ceilings.files_per_s is 1000000000.0; observed is 5000.0",
    ),
    "an idle filer observed": (INSERTED, of_observed(lambda seen: seen.update(filer=_busy(0.1))), "verdict is"),
    "groups observed faster": (
        INSERTED,
        of_observed(lambda seen: [group.update(seconds=1.0) for group in seen["groups"]]),
        "groups[1].files_per_s is 90.9",
    ),
    "refusals not observed": (
        SWEPT,
        of_observed(lambda seen: [one.update(refused=0) for phase in seen["phases"] for one in phase["clients"]]),
        "phases[0].refused is 1; observed is 0",
    ),
    "a slow client not observed": (
        SWEPT,
        of_observed(lambda seen: seen["phases"][0]["clients"].pop(2)),
        "phases[0].done is 3; observed is 2",
    ),
    "a mean client raised": (
        SWEPT,
        _repeat(lambda run: run["phases"][0].update(mean=1e9)),
        "phases[0].mean is 1000000000.0",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_are_found(name: str, genuine: dict[str, Path], tmp_path: Path) -> None:
    profile, forge, shown = FORGERIES[name]
    copied = Path(shutil.copytree(genuine[profile], tmp_path / "package"))
    forge(copied)
    assert broken(copied)
    seal(copied)
    found = check(copied).differences
    assert any(shown in line for line in found), found
