"""The system that provides an experiment's workers and databases: that of the settings, or one that is started for it.
No job and no other experiment runs meanwhile."""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from controller.cluster.embedded import EmbeddedCluster, module_commands
from controller.databases import EXPERIMENT_KEY, newest_jobs, open_databases
from core.crew import Make, Place, Remove, place_at, roots_of
from core.errors import StorageFault, UsageError, system_errors
from core.filer.model import copied_filer, profile_names
from core.filer.use import no_common_arbiter
from core.records import JobState
from core.services import embedded_services, for_other_hosts
from core.services.address import write_private
from core.services.place import Home, scratch_errors
from core.settings import Settings
from experiments.crew.admission import Admission, Seat
from experiments.crew.lease import Leased
from experiments.crew.orders import Crew
from experiments.places import scratch_place
from sql import runs
from sql.runs import RunMark, run_settings
from sql.session import Database

WAIT_SECONDS = 15.0  # for members that are connecting
_START_SECONDS = 120.0  # for members that the command starts
_FAR_SECONDS = 600.0  # for members that people start on other hosts
JOIN = "join"  # in scratch: the file for `edbench worker --join`
_OWN_SLOTS = 16  # slots' worth of connections for the system's own queue manager and this command


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The largest number of each that any run needs."""

    workers: int
    databases: int
    slots: int  # of all workers together


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """Options for how members join an experiment. `listen`: an address of this host at which an experiment's own system
    serves members of other hosts, instead of one here. `wait`: seconds for members to connect and for jobs of others to
    end; None: a default. Raises UsageError for an invalid address."""

    listen: str | None = None
    wait: float | None = None

    def __post_init__(self) -> None:
        if self.listen is None:
            return
        try:
            parsed = ipaddress.ip_address(self.listen)
        except ValueError:
            parsed = ipaddress.IPv4Address(0)
        if parsed.is_unspecified or parsed.is_multicast:
            raise UsageError(f"--listen is {self.listen!r}; it must be one address of this host, such as 10.0.0.1")

    def refuse_other_system(self, settings: Settings) -> None:
        """Raise UsageError if a system of its own is requested but another one is set."""
        if self.listen is not None and not settings.embedded:
            raise UsageError("--listen starts a separate system: unset EDBENCH_DATABASES and EDBENCH_BROKER")

    def seconds(self, *, own: bool) -> float:
        """Return how long members are awaited; `own`: by a system that starts them itself."""
        if self.wait is not None:
            return self.wait
        return _FAR_SECONDS if self.listen is not None else _START_SECONDS if own else WAIT_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system that one experiment uses exclusively."""

    settings: Settings
    admission: Admission
    ours: bool  # it was started for the experiment

    @contextmanager
    def run(
        self, settings: Settings, databases: int, seats: Sequence[Seat], mount: str | None
    ) -> Iterator[tuple[Settings, list[Database], Leased]]:
        """Provide fresh databases for a run, and the workers of these seats, which start when the lease is entered.
        `settings`: the system's, with the run's storage root, slots and filer; `mount`: as in `Leased`. Raises
        UsageError if members do not see the storage root, SystemFault."""
        there = place_at(settings.storage, self.admission.roots)
        if there is None:
            raise UsageError(f"the members do not see {settings.storage}; it must be below {self.settings.storage}")
        filer = self.named_filer(settings.filer, settings.storage)
        with run_databases(self.admission.crew, settings, databases) as (run, attached, opened):
            leased = Leased(self.admission, seats, run, opened, there, settings.slots, filer, mount)
            yield attached, opened, leased

    def named_filer(self, filer: str, storage: Path) -> Place | str:
        """Return the emulated filer as an order names it; a file that the members do not see is copied into the run's
        storage root."""
        if filer in profile_names():
            return filer
        roots = self.admission.roots
        copied = place_at(Path(filer), roots) or place_at(copied_filer(Path(filer), storage), roots)
        assert copied is not None  # the members see the storage root
        return copied

    def refuse_filer(self, filer: str, seats: Sequence[Seat]) -> None:
        """Raise UsageError if these members have no common arbiter for an emulated filer."""
        hosts = {(str(seat.member.host["name"]), str(seat.member.host["boot_id"])) for seat in seats}
        if filer != "none" and (
            reason := no_common_arbiter(self.settings.databases[0].name, hosts, self.settings.filer_arbiter)
        ):
            raise UsageError(f"--filer: {reason}", field="filer")


@contextmanager
def taken_system(
    given: Settings, env: Mapping[str, str], source: Path, wanted: Wanted, say: Callable[[str], None], ways: Ways
) -> Iterator[tuple[System, list[Seat]]]:
    """Provide a system for an experiment, with its first seats; restore everything at the end. `source`: a directory
    that all members must see. Raises UsageError, SystemFault."""
    ways.refuse_other_system(given)
    with contextlib.ExitStack() as stack:
        settings = stack.enter_context(_started(given, env, wanted, ways, say)) if given.embedded else given
        if len(settings.databases) < wanted.databases:
            raise UsageError(
                f"{wanted.databases} databases are required, but EDBENCH_DATABASES lists {len(settings.databases)}",
                field="databases",
            )
        assert settings.broker is not None
        crew = Crew(settings.broker)
        stack.callback(crew.close)
        opened = open_databases(settings)
        for database in opened:
            stack.callback(database.dispose)
        stack.enter_context(held_system(crew, opened, ways.wait or 0.0, say))
        roots = roots_of(settings, env)
        if (ways.listen is not None or not given.embedded) and place_at(source, roots) is None:
            seen = " and ".join(str(root) for name, root in roots.items() if name != "null")
            raise UsageError(
                f"members see only {seen}; copy {source} there, for example to {settings.storage}/corpora/NAME"
            )
        admission = Admission(crew, roots, source, say)
        seats = admission.await_workers(wanted.workers, ways.seconds(own=given.embedded))
        system = System(settings=settings, admission=admission, ours=given.embedded)
        system.refuse_filer(given.filer, seats)
        yield system, seats


@contextmanager
def _started(
    given: Settings, env: Mapping[str, str], wanted: Wanted, ways: Ways, say: Callable[[str], None]
) -> Iterator[Settings]:
    """Start services for the whole experiment, and a member on this host unless others are awaited."""
    names = [f"db{number}" for number in range(1, wanted.databases + 1)]
    with (
        scratch_place(given, f"crew-{secrets.token_hex(4)}") as place,
        embedded_services(
            place, databases=names, slots=wanted.slots + _OWN_SLOTS, listen=ways.listen or ""
        ) as settings,
    ):
        Home(settings.scratch).provisioner_request.touch()
        with system_errors(StorageFault, f"cannot create the storage root {settings.storage}"):
            settings.storage.mkdir(parents=True, exist_ok=True)
        if ways.listen is not None:
            say(_awaited(wanted.workers, settings, given.scratch / JOIN))
        workers = wanted.workers if ways.listen is None else 0
        with EmbeddedCluster(settings, workers, settings.slots, env=env, commands=_commands, together=workers > 0):
            yield settings


def _awaited(workers: int, settings: Settings, file: Path) -> str:
    """Return in one line what to do on the hosts; write a file with what a member needs, including the workers'
    login."""
    there = for_other_hosts(settings).environment()
    with scratch_errors(file.parent):
        write_private(file, "".join(f"{name}={there[name]}\n" for name in ("EDBENCH_DATABASES", "EDBENCH_BROKER")))
    many, storage = "1 worker is" if workers == 1 else f"{workers} workers are", settings.storage
    return (
        f"{many} missing; run on each host, with a copy of {file} as ./join: edbench worker --storage {storage} "
        "--join join; or from the image: docker run --rm --network host --shm-size 256m -u $(id -u):$(id -g) -v "
        f"{storage}:{storage} -v edbench-scratch:/scratch -v $PWD/join:/join:ro -e EDBENCH_SCRATCH=/scratch "
        f"edbench:latest edbench worker --storage {storage} --join /join"
    )


def _commands(name: str, slots: int) -> Sequence[str]:
    """Return the commands of an experiment's own system: the queue manager, and one member for all workers."""
    if not name.startswith("w1-w"):
        return module_commands(name, slots)
    many = name.removeprefix("w1-w")
    return (sys.executable, "-m", "worker", "--name", "local", "--workers", many, "--slots", str(slots), "--idle")


_LOOK_SECONDS = 1.0
_AT_REST = (JobState.PAUSED, JobState.SUSPENDED)


@contextmanager
def held_system(crew: Crew, databases: Sequence[Database], wait: float, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the system during the block; first remove databases that a killed experiment left. Raises UsageError if
    another experiment is running or a job still runs after `wait` seconds, SystemFault."""
    with contextlib.ExitStack() as locks:
        for database in databases:
            if not locks.enter_context(database.listen()).try_lock(EXPERIMENT_KEY):
                raise UsageError("another experiment uses this system; wait until it has ended")
        _await_jobs(databases, wait, say)
        left = _left(databases)
        for run in left:
            say(f"removing the leftovers of run {run}")
            crew.provision(Remove(run=run, databases=len(databases)))
        yield


def _await_jobs(databases: Sequence[Database], wait: float, say: Callable[[str], None]) -> None:
    """Wait until no job runs; no other starts, since the system is held. Raises UsageError."""
    deadline, reported = time.monotonic() + wait, ""
    while True:
        try:
            return _refuse_busy(databases)
        except UsageError as busy:
            if time.monotonic() >= deadline:
                raise
            if str(busy) != reported:
                reported = str(busy)
                say(f"waiting: {reported}")
        time.sleep(_LOOK_SECONDS)


def _refuse_busy(databases: Sequence[Database]) -> None:
    for database, job in newest_jobs(databases):
        if not (job.job.state.over or job.job.state in _AT_REST):
            raise UsageError(
                f"job {job.job.id} in {database.name} is {job.job.state}, but an experiment needs the system "
                f"exclusively; wait for it (--wait), or `edbench job pause {job.job.id}`"
            )


def _left(databases: Sequence[Database]) -> list[str]:
    found: set[str] = set()
    for database in databases:
        with database.transaction() as conn:
            found |= set(runs.known_runs(conn))
    return sorted(found)


@contextmanager
def run_databases(crew: Crew, system: Settings, databases: int) -> Iterator[tuple[str, Settings, list[Database]]]:
    """Create databases on the first so many servers and remove them at the end: yield the run's id, settings with them,
    and the databases with the schema. Raises SystemFault."""
    run = secrets.token_hex(8)
    opened: list[Database] = []
    crew.provision(Make(run=run, databases=databases))
    try:
        settings = run_settings(system, RunMark(run=run, databases=databases))
        opened = open_databases(settings)
        yield run, settings, opened
    finally:
        for database in opened:
            database.dispose()
        crew.provision(Remove(run=run, databases=databases))
