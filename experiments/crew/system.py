"""The system that an experiment takes its workers and databases from: the one of the settings, or one that is started for it."""

from __future__ import annotations

import contextlib
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from controller.cluster.embedded import EmbeddedCluster, module_commands
from controller.databases import open_databases
from core.crew.messages import OWN, Place
from core.crew.places import place_at, roots_of
from core.errors import UsageError
from core.filer.use import no_common_arbiter
from core.services import embedded_services
from core.services.place import Home
from core.settings import Settings
from experiments.crew.admission import Admission, Seat
from experiments.crew.hold import held_system, run_databases
from experiments.crew.lease import Leased
from experiments.crew.orders import Crew
from experiments.places import scratch_place
from sql.session import Database

WAIT_SECONDS = 15.0  # for members that are connecting
_START_SECONDS = 120.0  # for the command's own
_BESIDE = 16  # slots' worth of connections for the system's own queue manager and this command


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The most that any run needs."""

    workers: int
    databases: int
    slots: int  # of all workers together


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system that an experiment has for itself."""

    settings: Settings
    crew: Crew
    admission: Admission
    roots: Mapping[str, Path]
    ours: bool  # it was started for the experiment

    @contextmanager
    def run(
        self, seats: Sequence[Seat], settings: Settings, databases: int
    ) -> Iterator[tuple[Settings, list[Database], Leased]]:
        """Fresh databases for a run, and a lease of workers that begins when it is entered. `settings`: the system's, with the
        run's storage root, slots and filer. Raises UsageError for what members do not see, SystemFault."""
        there = place_at(settings.storage, self.roots)
        if there is None:
            raise UsageError(f"the members do not see {settings.storage}; it has to be below {self.settings.storage}")
        filer = self._named(settings.filer)
        with run_databases(self.crew, settings, databases) as (run, attached, opened):
            yield attached, opened, Leased(self.admission, seats, run, opened, there, settings.slots, filer)

    def _named(self, filer: str) -> Place | str:
        """The emulated filer as an order names it."""
        if self.ours and filer == self.settings.filer:
            return OWN
        named = place_at(Path(filer), self.roots) if filer.startswith("/") else filer
        if named is None:
            raise UsageError(f"the members cannot read {filer}; put it below {self.settings.storage}")
        return named

    def refuse_filer(self, filer: str, seats: Sequence[Seat]) -> None:
        """Raises UsageError where these members have no arbiter in common for an emulated filer."""
        hosts = {(str(seat.member.host["name"]), str(seat.member.host["boot_id"])) for seat in seats}
        if filer != "none" and (
            reason := no_common_arbiter(self.settings.databases[0].name, hosts, self.settings.filer_arbiter)
        ):
            raise UsageError(f"--filer: {reason}", field="filer")


@contextmanager
def taken_system(
    given: Settings, env: Mapping[str, str], source: Path, wanted: Wanted, say: Callable[[str], None]
) -> Iterator[tuple[System, list[Seat]]]:
    """For an experiment, with its first seats; at the end everything is as it was. `source`: a directory that all members have to
    see. Raises UsageError, SystemFault."""
    with contextlib.ExitStack() as stack:
        settings = stack.enter_context(_started(given, env, wanted)) if given.embedded else given
        if len(settings.databases) < wanted.databases:
            raise UsageError(
                f"{wanted.databases} databases are required, but EDBENCH_DATABASES names {len(settings.databases)}",
                field="databases",
            )
        assert settings.broker is not None
        crew = Crew(settings.broker)
        stack.callback(crew.close)
        opened = open_databases(settings)
        for database in opened:
            stack.callback(database.dispose)
        stack.enter_context(held_system(crew, opened, say))
        roots = roots_of(settings, env)
        admission = Admission(crew, roots, source, say)
        seats = admission.await_workers(wanted.workers, _START_SECONDS if given.embedded else WAIT_SECONDS)
        system = System(settings=settings, crew=crew, admission=admission, roots=roots, ours=given.embedded)
        system.refuse_filer(given.filer, seats)
        yield system, seats


@contextmanager
def _started(given: Settings, env: Mapping[str, str], wanted: Wanted) -> Iterator[Settings]:
    """Services and a member of this host, for the whole experiment."""
    names = [f"db{number}" for number in range(1, wanted.databases + 1)]
    with (
        scratch_place(given, f"crew-{secrets.token_hex(4)}") as place,
        embedded_services(place, databases=names, slots=wanted.slots + _BESIDE) as settings,
    ):
        Home(settings.scratch).provisioner_request.touch()
        with EmbeddedCluster(
            settings, wanted.workers, settings.slots, env=env, commands=_commands, together=True
        ) as cluster:
            cluster.manage()
            yield settings


def _commands(name: str, slots: int) -> Sequence[str]:
    """Of the processes of a command's own system: the queue manager, and one member for all workers."""
    if not name.startswith("w1-w"):
        return module_commands(name, slots)
    many = name.removeprefix("w1-w")
    return (sys.executable, "-m", "worker", "--name", "local", "--workers", many, "--slots", str(slots), "--idle")
