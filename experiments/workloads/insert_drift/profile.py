"""Runs an insertion: group after group, each with all clients, each begun by all at once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from core.errors import RunFailed, UsageError
from experiments.clients.crowd import Crowd, Done, crowd
from experiments.clients.running import check_s3, own_place
from experiments.kinds.cases import Cases
from experiments.kinds.kind import Kind
from experiments.profiles.profile import Arena, Profile, ProfileSettings, Room
from experiments.profiles.space import Usage, synced, usage
from experiments.workload import Turn
from experiments.workloads.insert_drift.result import InsertLoad, InsertSeen, SeenGroup
from monitoring.processes import processors

_BLOCK = 4096
_SLOW = 2_000.0  # files a second that a storage makes, for the time that is told beforehand
_ON_NULL = 10_000  # files of the pair


class InsertSettings(ProfileSettings):
    """What is inserted, and how."""

    files: int = Field(100_000, ge=1, description="files or objects per run; report R3 had 2,260,000")
    group: int = Field(5_000, ge=1, description="files per group; rates and latencies are shown by group")
    size: int = Field(1024, ge=0, le=1 << 30, description="size of each in bytes")
    clients: tuple[int, ...] = Field((1, 32), description="clients that insert at once, one point each")
    directories: tuple[Literal["shared", "own"], ...] = Field(
        ("shared", "own"), description="one directory for all clients, or one per client, one point each"
    )
    fsync: Literal["none", "file"] = Field("none", description="sync each file to stable storage")
    seed: int = Field(1, description="seed of the content")


class InsertDrift(Profile[InsertSettings]):
    """Report R3's long insertion."""

    name: ClassVar[str] = "insert-drift"
    report: ClassVar[str] = "R3"
    does: ClassVar[str] = (
        "Adds small files or objects in groups, in one directory or one per client; shows rate and latency by group, and whether"
        " they drift"
    )
    writes: ClassVar[str] = "files of `size` bytes, `files` of them, once for each point and repeat, removed after each"
    needs: ClassVar[str] = "nothing; with --s3 a bucket and the usual AWS_* variables"
    settings_type: ClassVar[type[ProfileSettings]] = InsertSettings
    small: ClassVar[Mapping[str, Any]] = {"files": 2_400, "group": 200, "clients": (1, 8)}
    takes_s3: ClassVar[bool] = True
    emulates: ClassVar[bool] = True

    def check(self) -> None:
        """Raises UsageError."""
        check_s3(self.targets.s3)

    def kind(self, repeats: int, seed: int) -> Kind:
        """Every number of clients with every kind of directories."""
        s = self.settings
        if not s.clients or not s.directories or min(s.clients) < 1:
            raise UsageError(
                "insert-drift requires numbers of clients of at least 1, and directories shared, own or both"
            )
        points = [InsertLoad(directories, clients) for directories in s.directories for clients in s.clients]
        return Cases("clients", points, repeats=repeats, seed=seed)

    def room(self) -> Room:
        """One run's: each is removed before the next."""
        s, paths = self.settings, max(1, len(self.targets.paths))
        files = -(-s.files // paths) + s.group
        each = -(-max(1, s.size) // _BLOCK) * _BLOCK + 512  # an inode, and its name
        points = len(s.clients) * len(s.directories)
        return Room(bytes=files * each, files=files + max(s.clients, default=1), seconds=points * s.files / _SLOW)

    def on_null(self) -> InsertDrift:
        """Fewer files, since memory does not drift."""
        files = min(self.settings.files, max(_ON_NULL, self.settings.group))
        return InsertDrift(self.settings.model_copy(update={"files": files}), self.targets)

    def touched(self) -> int:
        """Of one run: nothing is read."""
        return self.settings.files * self.settings.size

    def observe(self, turn: Turn, arena: Arena) -> InsertSeen:
        """All groups. Raises RunFailed when nothing at all could be inserted."""
        load, s = turn.at, self.settings
        assert isinstance(load, InsertLoad)
        with own_place(
            arena, turn.name, seed=s.seed, fsync=s.fsync, io_bytes=min(max(s.size, _BLOCK), 1 << 20)
        ) as place:
            started, before = time.time(), usage(place.roots)
            with crowd(place, load.clients, arena.look) as people:
                begun = time.monotonic()
                told = [
                    (done, usage(place.roots)) for done in self._inserted(people, load.directories == "shared", arena)
                ]
                elapsed = time.monotonic() - begun
            for root in place.roots:
                synced(root)
            after = usage(place.roots)
        seen = [_seen(done, used) for done, used in told]
        said = tuple(dict.fromkeys(words for done, _ in told for one in done.clients for words in one.said))[:5]
        if not any(group.done for group in seen):
            raise RunFailed(f"not one file could be inserted: {said[0] if said else 'no client gave a reason'}")
        cpu = sum(done.cpu_s for done, _ in told)
        return InsertSeen(
            repeat=turn.repeat, order=turn.order, started_at=started, elapsed_s=elapsed,
            worker_cpu=cpu / (elapsed * processors()), groups=tuple(seen), before=before, after=after, said=said,
        )  # fmt: skip

    def _inserted(self, people: Crowd, shared: bool, arena: Arena) -> Any:
        s = self.settings
        for first in range(0, s.files, s.group):
            numbers = range(first, min(first + s.group, s.files))
            yield people.do("write", numbers, s.size, shared_directory=shared, together=True)
            arena.tell(f"{numbers.stop:,} of {s.files:,} files")


def _seen(done: Done, used: Usage | None) -> SeenGroup:
    return SeenGroup(
        seconds=done.elapsed_s,
        first_done_s=(min(one.ended_ns for one in done.clients) - done.start_ns) / 1e9,
        done=done.files,
        bytes=sum(one.bytes for one in done.clients),
        refused=sum(one.refused for one in done.clients),
        failed=sum(one.failed for one in done.clients),
        late_s=(max(one.began_ns for one in done.clients) - done.start_ns) / 1e9,
        counted=done.counted,
        usage=used,
    )
