"""The base of tests whose load is made by edbench's own clients (`client_sweep`, `insert_drift`), both of report R3."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, TypeVar

from core.errors import RunFailed
from experiments.report import words
from experiments.workload import Figure
from storage_tests.about import ProfileWording
from storage_tests.clients import ProcessDone
from storage_tests.crowd import Place
from storage_tests.owner import own_directories
from storage_tests.profile import Arena, Profile, ProfileSettings
from storage_tests.stores import Failed, Refused, connect, place_of, remove_below

S = TypeVar("S", bound=ProfileSettings)
Policies = tuple[Literal["none", "file"], ...]
FSYNC = "sync each file to stable storage (file), or no file, one point each"
_MESSAGES, _SHOWN = 5, 3  # most of a run, and in warnings
TROUBLES = (
    Figure(name="refused", title="refused", of=lambda run: float(run.refused), write=words.count),
    Figure(name="failed", title="failed", of=lambda run: float(run.failed), write=words.count),
)


@contextmanager
def own_place(arena: Arena, name: str, *, seed: int, fsync: str, io_bytes: int) -> Iterator[Place]:
    """Yield directories or a prefix of the run's own; remove them at the end, so that the next run finds the storage as
    this one did.

    Raises StorageFault, RunFailed."""
    if arena.s3 is not None:
        url = str(place_of(arena.s3).below(name.replace("/", "-")))
        try:
            yield Place(s3=url, seed=seed, io_bytes=io_bytes, counters=arena.counters)
        finally:
            try:
                remove_below(place_of(url))
            except (Refused, Failed) as error:
                raise RunFailed(f"the data written below {url} cannot be removed: {error}") from error
        return
    with own_directories(arena.paths, name) as roots:
        yield Place(roots=roots, seed=seed, fsync=fsync, io_bytes=io_bytes, filer=arena.filer,
                    counters=arena.counters, elsewhere=arena.elsewhere)  # fmt: skip


class ClientTest(Profile[S]):
    """A test whose load is made by edbench's own clients, on this host or at members of the crew, against directories
    or an S3 endpoint."""

    report: ClassVar[str] = "R3"
    needs: ClassVar[str] = "nothing; with --s3 a bucket and the usual AWS_* variables"
    takes_s3: ClassVar[bool] = True
    emulates: ClassVar[bool] = True
    axis: ClassVar[str] = "clients"

    def check(self) -> None:
        """Raise UsageError if the S3 endpoint cannot be used."""
        if self.targets.s3 is not None:
            connect(place_of(self.targets.s3))


def messages(orders: Iterable[ProcessDone]) -> tuple[str, ...]:
    """Return the first refusals and errors of the clients, in words."""
    return tuple(dict.fromkeys(word for done in orders for one in done.clients for word in one.said))[:_MESSAGES]


class ClientsWording(ProfileWording):
    """Reports on a test by clients, from `surroundings` as of every profile."""

    def where(self) -> str:
        """Return the kinds of storage, or the endpoint."""
        return f"S3, {self.surroundings['s3']}" if self.surroundings["s3"] else super().where()

    def remarks(self, result: Any) -> Sequence[str]:
        """Return refusals and errors, which the reader must not overlook."""
        runs = [run for point in result.points for run in point.repeats]
        out = list(self.limits(result.points))
        for what, word in (("refused", "connections REFUSED"), ("failed", "FAILED")):
            if count := sum(getattr(run, what) for run in runs):
                out.append(f"{count:,} {word}")
        return out

    def warnings(self, points: Sequence[Any]) -> Sequence[str]:
        """Return warnings, with the messages of refusals and errors."""
        said = dict.fromkeys(word for point in points for run in point.repeats for word in run.said)
        return (*super().warnings(points), *(f"not everything was accepted: {word}" for word in list(said)[:_SHOWN]))
