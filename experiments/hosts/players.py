"""Hosts that play replays: for each replay workers of their own, a host's clones with it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import UsageError
from core.settings import Settings
from experiments.hosts.crew import HostsCluster
from experiments.hosts.fleet import BACK_SECONDS, Fleet
from experiments.hosts.meeting import join_url, login_file, meeting
from experiments.hosts.wanted import Wanted
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
        raise UsageError("an emulated filer has one arbiter, and several hosts have none in common: leave --filer out")
    with meeting(settings.scratch, wanted.address, wanted.port) as place:
        say(awaited(wanted, settings.scratch))
        fleet = Fleet(place, wanted.hosts, settings.storage, paths[0], say)
        fleet.await_all(wanted.seconds)
        yield Players(fleet=fleet, settings=settings, database=database, env=env, streams=streams)


def awaited(wanted: Wanted, scratch: Path) -> str:
    """What is to be done on the hosts, in a line."""
    return (
        f"{wanted.hosts} hosts are awaited; on each: edbench worker join {join_url(wanted.address, wanted.port)},"
        f" with EDBENCH_LOGIN_FILE naming a copy of {login_file(scratch)}"
    )
