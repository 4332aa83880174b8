"""Members of the crew that play replays: for each replay a lease of their own, clients of one clone of the trace at one of them."""

from __future__ import annotations

import contextlib
import math
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from core.crew.messages import Ceiling as CeilingOrder
from core.crew.messages import Place
from core.errors import StorageFault, SystemFault
from core.records import ReplayChoice
from core.settings import Settings
from experiments.crew.admission import BACK_SECONDS
from experiments.crew.lease import Leased
from experiments.crew.orders import LONG_SECONDS
from experiments.crew.system import System, Wanted, Ways, taken_system
from replay.ceiling import Ceiling
from sql.session import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Players:
    """`streams`: of the trace; clients of one clone share memory, so they are at one member."""

    system: System
    workers: int  # one at each of so many members
    streams: int

    @contextlib.contextmanager
    def playing(self, clients: int, filer: str) -> Iterator[tuple[Settings, Database, Leased]]:
        """Workers with slots for their shares of the clients, from entering the lease. Raises what `Leased` does."""
        seats = self.system.admission.await_workers(self.workers, BACK_SECONDS)
        self.system.refuse_filer(filer, seats)
        slots = slots_for(clients, self.streams, len(seats))
        settings = replace(self.system.settings, slots=slots, filer=filer)
        with self.system.run(settings, 1) as (attached, (database,), lease):
            yield attached, database, lease(seats)

    def ceiling(self, trace: Path, choice: ReplayChoice) -> Ceiling | str:
        """What the members make of the calls on null storage, each with the clients that are its, all at the same time: all
        calls in the time of the slowest. Or why that is not known. Raises RunFailed when members are gone."""
        seats = self.system.admission.await_workers(self.workers, BACK_SECONDS)
        storage = self.system.settings.storage
        try:
            with _shown(trace, storage) as there:
                asked = [
                    (
                        seat.member,
                        CeilingOrder(
                            trace=Place(root="storage", path=there.name),
                            clients=share,
                            shared=choice.shared,
                            seed=choice.seed,
                        ),
                    )
                    for seat, share in zip(
                        seats, clients_by_member(choice.clients, self.streams, len(seats)), strict=False
                    )
                ]
                answers = self.system.crew.ask_all(asked, LONG_SECONDS)
        except SystemFault as fault:
            return str(fault)
        found = [msgspec.convert(one, Ceiling) for one in answers]
        return Ceiling(
            calls=sum(one.calls for one in found),
            elapsed_s=max(one.elapsed_s for one in found),
            discarded_bytes=sum(one.discarded_bytes for one in found),
        )


@contextlib.contextmanager
def _shown(trace: Path, storage: Path) -> Iterator[Path]:
    """A copy where the members see it, for as long as the block lasts. Raises StorageFault."""
    there = storage / f".edbench-trace-{secrets.token_hex(8)}"
    try:
        shutil.copyfile(trace, there)
    except OSError as error:
        raise StorageFault(f"the trace cannot be copied to {storage}: {error.strerror}") from error
    try:
        yield there
    finally:
        there.unlink(missing_ok=True)


def clients_by_member(clients: int, streams: int, members: int) -> list[int]:
    """How many clients each of the first members has; those that would have none are left out."""
    whole, rest = divmod(clients, max(1, streams))
    clones = [max(1, streams)] * whole + ([rest] if rest else [])
    return [sum(clones[member::members]) for member in range(min(members, len(clones)))]


def slots_for(clients: int, streams: int, members: int) -> int:
    """Slots that a member needs so that whole clones of the trace, of `streams` clients at most, fit on `members` of them."""
    streams = max(1, streams)
    clones = math.ceil(clients / streams)
    return math.ceil(clones / members) * min(clients, streams)


@contextlib.contextmanager
def players(
    settings: Settings, env: Mapping[str, str], paths: Sequence[Path], workers: int | None, streams: int,
    say: Callable[[str], None], ways: Ways,
) -> Iterator[Players]:  # fmt: skip
    """Members of the system of the settings, `workers` of them (None: all that are connected), that see the first path. Raises
    UsageError."""
    wanted = Wanted(workers=workers or 1, databases=1, slots=1)
    with taken_system(settings, env, paths[0], wanted, say, ways) as (system, _):
        many = workers or sum(member.workers for member in system.crew.present())
        yield Players(system=system, workers=many, streams=streams)
