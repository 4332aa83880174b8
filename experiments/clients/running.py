"""What profiles whose load a crowd makes have in common: a place of a run's own, which goes after it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from core.errors import RunFailed, StorageFault
from experiments.clients.crowd import Place
from experiments.clients.objects import connect, place_of, remove_below
from experiments.clients.store import Failed, Refused
from experiments.profiles.profile import Arena
from experiments.profiles.telling import ProfileTelling


def check_s3(url: str | None) -> None:
    """Raises UsageError where there is an endpoint and it cannot be used as it is given."""
    if url is not None:
        connect(place_of(url))


@contextmanager
def own_place(arena: Arena, name: str, *, seed: int, fsync: str, io_bytes: int) -> Iterator[Place]:
    """Directories, or a prefix, of the run's own; removed at the end, so that the next run finds the storage as this one did.

    Raises StorageFault, RunFailed.
    """
    if arena.s3 is not None:
        url = str(place_of(arena.s3).below(name.replace("/", "-")))
        try:
            yield Place(s3=url, seed=seed, io_bytes=io_bytes, counters=arena.counters)
        finally:
            _emptied(url)
        return
    roots = tuple(path / name.replace("/", "-") for path in arena.paths)
    try:
        for root in roots:
            root.mkdir()
        yield Place(roots=roots, seed=seed, fsync=fsync, io_bytes=io_bytes, filer=arena.filer,
                    counters=arena.counters, elsewhere=arena.elsewhere)  # fmt: skip
        for root in roots:
            shutil.rmtree(root)
    except OSError as error:
        raise StorageFault(f"{error.filename}: {os.strerror(error.errno or 0)}", errno=error.errno or 0) from error


def _emptied(url: str) -> None:
    try:
        remove_below(place_of(url))
    except (Refused, Failed) as error:
        raise RunFailed(f"what was written below {url} cannot be removed: {error}") from error


_MOST = 3  # kinds of trouble in words


class ClientsTelling(ProfileTelling):
    """`surroundings` as every profile's."""

    def where(self) -> str:
        """The kinds of storage, or the endpoint."""
        return f"S3, {self.surroundings['s3']}" if self.surroundings["s3"] else super().where()

    def remarks(self, result: Any) -> Sequence[str]:
        """Refusals, errors and drift: nobody may overlook them."""
        runs = [run for point in result.points for run in point.repeats]
        out = list(self.limits(result.points))
        for what, word in (("refused", "connections REFUSED"), ("failed", "FAILED")):
            if count := sum(getattr(run, what) for run in runs):
                out.append(f"{count:,} {word}")
        drifting = [point for point in result.points for run in point.repeats if _drifts(run)]
        if drifting:
            out.append(f"DRIFT at {len({str(point.at) for point in drifting})} of {len(result.points)} points")
        return out

    def warnings(self, points: Sequence[Any]) -> Sequence[str]:
        """The words of what went wrong."""
        said = dict.fromkeys(word for point in points for run in point.repeats for word in run.said)
        return (*super().warnings(points), *(f"not everything was accepted: {word}" for word in list(said)[:_MOST]))


def _drifts(run: Any) -> bool:
    found = (getattr(run, "rate_drift", None), getattr(run, "latency_drift", None))
    return any(drift is not None and drift.found for drift in found)
