"""Runs a sweep: in each run so many clients write whole objects, then read, then remove them."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from core.errors import RunFailed, UsageError
from experiments.clients.crowd import MOST, Crowd, Done, crowd
from experiments.clients.orders import Deed
from experiments.clients.running import check_s3, own_place
from experiments.kinds.cases import Cases
from experiments.kinds.kind import Kind
from experiments.profiles.profile import Arena, Profile, ProfileSettings, Room
from experiments.workload import Turn
from experiments.workloads.client_sweep.result import (
    DEEDS,
    SPREAD,
    SeenClient,
    SeenPhase,
    SweepLoad,
    SweepSeen,
)
from monitoring.processes import processors

_IO_BYTES = 1 << 20
_SLOW = 100e6  # bytes a second that a storage makes, for the time that is told beforehand
_ON_NULL = 16_000_000  # bytes of an object of the pair at most
_ON_NULL_S = 5.0  # seconds in which its clients begin at most
_SAID = 5  # of each phase, refusals and errors in words


class SweepSettings(ProfileSettings):
    """How many clients, and what each does."""

    clients: tuple[int, ...] = Field((1, 2, 5, 10, 20, 50, 100), description="clients at once, one point each")
    start: tuple[Literal["together", "spread"], ...] = Field(
        ("together", "spread"), description="start all at once, or each at its own moment, one point each"
    )
    size: int = Field(100_000_000, ge=1, description="size of an object in bytes; report R3 had 1 GB")
    objects: int = Field(1, ge=1, description="objects that each client writes, then reads, then removes")
    window: float = Field(30.0, gt=0, description="seconds over which clients start that do not start together")
    fsync: Literal["none", "file"] = Field("file", description="sync each file to stable storage")
    forget: bool = Field(True, description="drop the files from this host's cache before they are read")
    seed: int = Field(1, description="seed of the content and of the start times")


class ClientSweep(Profile[SweepSettings]):
    """Report R3's clients."""

    name: ClassVar[str] = "client-sweep"
    report: ClassVar[str] = "R3"
    does: ClassVar[str] = (
        "Lets 1 to 100 clients write, read and remove whole large objects, started together or not; mean, least and most per client,"
        " aggregate, fall-off, refused connections"
    )
    writes: ClassVar[str] = "`objects` of `size` bytes a client, once for each point and repeat, removed after each"
    needs: ClassVar[str] = "nothing; with --s3 a bucket and the usual AWS_* variables"
    settings_type: ClassVar[type[ProfileSettings]] = SweepSettings
    small: ClassVar[Mapping[str, Any]] = {"clients": (1, 2, 4, 8), "size": 8_000_000, "window": 1.0}
    takes_s3: ClassVar[bool] = True
    emulates: ClassVar[bool] = True

    def check(self) -> None:
        """Raises UsageError."""
        check_s3(self.targets.s3)

    def kind(self, repeats: int, seed: int) -> Kind:
        """Every number of clients with every kind of start."""
        s = self.settings
        if not s.clients or not s.start or not 1 <= min(s.clients) <= max(s.clients) <= MOST:
            raise UsageError(
                f"client-sweep requires numbers of clients from 1 to {MOST:,}, and start together, spread or both"
            )
        points = [SweepLoad(start, clients) for start in s.start for clients in s.clients]
        return Cases("clients", points, repeats=repeats, seed=seed)

    def room(self) -> Room:
        """One run's: each is removed before the next."""
        s, paths = self.settings, max(1, len(self.targets.paths))
        files = -(-max(s.clients, default=1) // paths) * s.objects
        moved = 2 * sum(s.clients) * s.objects * s.size * len(s.start)
        return Room(bytes=files * s.size, files=2 * files + 1, seconds=moved / _SLOW)

    def on_null(self) -> ClientSweep:
        """Smaller objects within a window that is as much shorter: as many bytes a second are begun."""
        s = self.settings
        share = min(1.0, _ON_NULL / s.size, _ON_NULL_S / s.window)
        size = max(1, round(s.size * share))
        less = {"size": size, "window": s.window * size / s.size}
        return ClientSweep(s.model_copy(update=less), self.targets)

    def touched(self) -> int:
        """Of the smallest run."""
        return min(self.settings.clients, default=0) * self.settings.objects * self.settings.size

    def observe(self, turn: Turn, arena: Arena) -> SweepSeen:
        """Three phases. Raises RunFailed when nothing at all could be written."""
        load, s = turn.at, self.settings
        assert isinstance(load, SweepLoad)
        with own_place(arena, turn.name, seed=s.seed, fsync=s.fsync, io_bytes=_IO_BYTES) as place:
            started = time.time()
            with crowd(place, load.clients, arena.look) as people:
                told = [self._phase(people, deed, load, turn, arena) for deed in DEEDS]
        phases = tuple(_seen(deed, done) for deed, done in zip(DEEDS, told, strict=True))
        if not any(one.done for one in phases[0].clients):
            raise RunFailed(
                f"not one object could be written: {'; '.join(phases[0].said) or 'no client gave a reason'}"
            )
        elapsed = sum(done.elapsed_s for done in told)
        return SweepSeen(
            repeat=turn.repeat, order=turn.order, started_at=started, elapsed_s=elapsed,
            worker_cpu=sum(done.cpu_s for done in told) / (elapsed * processors()), phases=phases,
        )  # fmt: skip

    def _phase(self, people: Crowd, deed: Deed, load: SweepLoad, turn: Turn, arena: Arena) -> Done:
        s = self.settings
        numbers = range(s.objects)
        if deed == "read" and s.forget and not arena.null:
            people.do("forget", numbers, s.size)
        arena.tell(f"{load}: {deed}")
        delays: list[float] = []
        if load.start == SPREAD:
            dice = random.Random(f"{s.seed}-{turn.repeat}-{load.clients}-{deed}")
            delays = [dice.uniform(0, s.window) for _ in range(load.clients)]
        return people.do(deed, numbers, s.size, delays_s=delays)


def _seen(deed: str, done: Done) -> SeenPhase:
    clients = tuple(
        SeenClient(
            began_s=(one.began_ns - done.start_ns) / 1e9,
            ended_s=(one.ended_ns - done.start_ns) / 1e9,
            done=one.done,
            bytes=one.bytes,
            refused=one.refused,
            failed=one.failed,
        )
        for one in done.clients
    )
    said = tuple(dict.fromkeys(word for one in done.clients for word in one.said))[:_SAID]
    return SeenPhase(deed=deed, clients=clients, counted=done.counted, bytes_by_second=done.bytes_by_second, said=said)
