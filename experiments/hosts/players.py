"""Hosts that play replays: for each replay workers of their own, a host's clones with it."""

from __future__ import annotations

import contextlib
import math
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from core.errors import StorageFault, SystemFault, UsageError
from core.records import ReplayChoice
from core.settings import Settings
from experiments.hosts.crew import HostsCluster
from experiments.hosts.fleet import BACK_SECONDS, Fleet
from experiments.hosts.meeting import LONG_SECONDS, join_url, login_file, meeting
from experiments.hosts.messages import Clones
from experiments.hosts.wanted import Wanted
from replay.ceiling import Ceiling
from sql.session import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Players:
    """`streams`: of the trace; clients of one clone share memory, so they sit on one host."""

    fleet: Fleet
    settings: Settings  # with the services attached, which listen where the hosts reach them
    database: Database
    env: Mapping[str, str]
    streams: int

    @contextlib.contextmanager
    def playing(self, clients: int) -> Iterator[HostsCluster]:
        """A worker on each host, with slots for its share of the clients. Raises what `HostsCluster` does."""
        hosts = self.fleet.await_all(BACK_SECONDS)
        slots = slots_for(clients, self.streams, len(hosts))
        with HostsCluster(
            self.fleet, hosts, self.settings, [self.database], workers=len(hosts), slots=slots, env=self.env
        ) as cluster:
            yield cluster

    def ceiling(self, trace: Path, choice: ReplayChoice) -> Ceiling | str:
        """What the hosts make of the calls on null storage, each with the clients that are its, all at the same time: all
        calls in the time of the slowest. Or why that is not known. Raises RunFailed when hosts are gone."""
        hosts = self.fleet.await_all(BACK_SECONDS)
        try:
            with _shown(trace, self.settings.storage) as there:
                asked = [
                    (host.hello, Clones(trace=str(there), clients=share, shared=choice.shared, seed=choice.seed))
                    for host, share in zip(
                        hosts, clients_by_host(choice.clients, self.streams, len(hosts)), strict=False
                    )
                ]
                told = self.fleet.meeting.ask_all(asked, "ceiling", LONG_SECONDS)
        except SystemFault as fault:
            return str(fault)
        found = [msgspec.convert(one, Ceiling) for one in told]
        return Ceiling(
            calls=sum(one.calls for one in found),
            elapsed_s=max(one.elapsed_s for one in found),
            discarded_bytes=sum(one.discarded_bytes for one in found),
        )


@contextlib.contextmanager
def _shown(trace: Path, storage: Path) -> Iterator[Path]:
    """A copy where the hosts see it, for as long as the block lasts. Raises StorageFault."""
    there = storage / f".edbench-trace-{secrets.token_hex(8)}"
    try:
        shutil.copyfile(trace, there)
    except OSError as error:
        raise StorageFault(f"the trace cannot be copied to {storage}: {error.strerror}") from error
    try:
        yield there
    finally:
        there.unlink(missing_ok=True)


def clients_by_host(clients: int, streams: int, hosts: int) -> list[int]:
    """How many clients each of the first hosts has; those that would have none are left out."""
    whole, rest = divmod(clients, max(1, streams))
    clones = [max(1, streams)] * whole + ([rest] if rest else [])
    return [sum(clones[host::hosts]) for host in range(min(hosts, len(clones)))]


def slots_for(clients: int, streams: int, hosts: int) -> int:
    """Slots that a host needs so that whole clones of the trace, of `streams` clients at most, fit on `hosts` of them."""
    streams = max(1, streams)
    clones = math.ceil(clients / streams)
    return math.ceil(clones / hosts) * min(clients, streams)


@contextlib.contextmanager
def players(
    wanted: Wanted, settings: Settings, database: Database, paths: Sequence[Path], streams: int,
    env: Mapping[str, str], say: Callable[[str], None],
) -> Iterator[Players]:  # fmt: skip
    """The hosts are there and see the storage root and the first path. Raises UsageError, RunFailed."""
    if settings.filer != "none":
        raise UsageError("several hosts cannot share one emulated filer: remove --filer")
    with meeting(settings.scratch, wanted.address, wanted.port) as place:
        say(awaited(wanted, settings.scratch))
        fleet = Fleet(place, wanted.hosts, settings.storage, paths[0], say)
        fleet.await_all(wanted.seconds)
        yield Players(fleet=fleet, settings=settings, database=database, env=env, streams=streams)


def awaited(wanted: Wanted, scratch: Path) -> str:
    """What is to be done on the hosts, in a line."""
    many = "1 host is" if wanted.hosts == 1 else f"{wanted.hosts} hosts are"
    return (
        f"{many} awaited; on each: edbench worker join {join_url(wanted.address, wanted.port)},"
        f" with EDBENCH_LOGIN_FILE naming a copy of {login_file(scratch)}"
    )
