"""A storage test as a workload of the experiment engine: its directories, null baseline and surroundings, its emulated
filer, and its clients at the members of the crew."""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from controller.filer import watched_filer
from controller.labels.rules import filer_cache
from core.clock import Clock
from core.crew import Act, Hello, Prepare, place_at, raw
from core.errors import RunFailed, StorageFault, UsageError
from core.filer import load_filer
from core.mounts import in_memory
from core.settings import Settings
from experiments.conditions import emulated
from experiments.crew.admission import BACK_SECONDS, described, usable
from experiments.crew.lease import Working
from experiments.crew.orders import LONG_SECONDS
from experiments.crew.system import System, Wanted, Ways, taken_system
from experiments.result.schema import At
from experiments.workload import Observe, Turn, Workload
from monitoring.machine import client_memory, free_memory, host, place
from storage_tests.clients import Order, ProcessDone
from storage_tests.crowd import Crowd, Elsewhere, Place
from storage_tests.devices import Direct, direct_on, restore_dead
from storage_tests.live import Live
from storage_tests.member import PACKAGE, Do
from storage_tests.member import Wanted as WantedClients
from storage_tests.null_server import null_endpoint
from storage_tests.owner import claimed, place_of_own
from storage_tests.profile import MEMORY, Arena, Profile
from storage_tests.stores import claimed_prefix

_AHEAD_NS = 500_000_000  # time for an order to reach a member
_LOOK_S = 1.0


@contextlib.contextmanager
def crowd_at(system: System, place: Place, clients: int) -> Iterator[Crowd]:
    """Yield so many clients, spread over all members; end all of them when the block ends. Raises UsageError for a
    place that members do not see, HostLost, SystemFault."""
    places = []
    for path in place.roots:
        there = place_at(path, system.admission.roots)
        if there is None or there.root == "evidence":
            raise UsageError(f"the members cannot write to {path}; it must be below {system.settings.storage}")
        places.append(there)
    run = secrets.token_hex(8)
    system.admission.await_workers(1, BACK_SECONDS)
    members = system.admission.here()[:clients]
    wanted = (
        WantedClients(
            first=number, step=len(members), count=len(range(number, clients, len(members))),
            places=tuple(places), seed=place.seed, fsync=place.fsync,  # type: ignore[arg-type]
            io_bytes=place.io_bytes,
        )
        for number in range(len(members))
    )  # fmt: skip
    with Working(system.admission, members, run) as working:
        answers = working.order(Prepare(run=run, package=PACKAGE, order=raw(one)) for one in wanted)
        yield _There(working, run, members, [list(answer["clients"]) for answer in answers])


class _There(Crowd):
    """Clients at members of the crew. `clients`: for each member, the number of each of its processes."""

    def __init__(self, working: Working, run: str, members: Sequence[Hello], clients: Sequence[list[int]]) -> None:
        super().__init__([many for its in clients for many in its], usable(members, "processors"), _AHEAD_NS)
        self._working, self._run, self._members, self._each = working, run, members, clients

    def obeyed(self, orders: Sequence[Order]) -> Sequence[ProcessDone]:
        """Carry out the orders, starting at the same moment by the clock of this host."""
        start = time.time() + (orders[0].start_ns - time.monotonic_ns()) / 1e9
        left, acts = iter(orders), []
        for member, its in zip(self._members, self._each, strict=True):
            offset, _ = self._working.offsets[member.id]
            do = Do(start=start + offset, orders=tuple(next(left) for _ in its))
            acts.append(Act(run=self._run, order=raw(do)))
        answers = self._working.order(acts, LONG_SECONDS)
        return msgspec.convert([one for answer in answers for one in answer["done"]], list[ProcessDone])


NULL_ENDPOINT = "an S3 server on this host that answers at once and stores nothing"
_SHARE = 0.6  # share of free memory that a null baseline may use


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The command that runs a test. `env`: set if the test's own clients are at members of the crew, of which so many
    `workers` are awaited; None: they are on this host."""

    clock: Clock
    say: Callable[[str], None] = lambda _line: None
    show: Callable[[str], None] = lambda _line: None  # takes the current activity, for the live line
    sessions: Sequence[float] = ()  # when commands worked on it, this one last
    live: Live | None = None
    env: Mapping[str, str] | None = None
    ways: Ways = field(default_factory=Ways)
    workers: int = 1


class ProfileStudy(Workload):
    """A storage test as a workload, run by a command."""

    def __init__(self, profile: Profile[Any], settings: Settings, run: Running) -> None:
        live = run.live
        self.about = profile.ABOUT  # type: ignore[misc]  # of the profile, not of the class
        self.storage, self.clock = settings.storage, run.clock
        self.say = run.say if live is None else _both(run.say, live.say)
        self._show = run.show if live is None else _both(run.show, live.show)
        self._profile, self._settings, self._live, self._run = profile, settings, live, run
        self._stack = contextlib.ExitStack()
        self._ceilings: dict[At, dict[str, Any]] = {}  # null baseline of each load
        self._null: tuple[Profile[Any], Arena] | None = None
        self._filer = load_filer(settings.filer) if profile.emulates else None
        self._no_baseline: str | None = None
        self._direct: list[Direct | None] = []
        self._system: System | None = None

    @contextlib.contextmanager
    def prepared(self, points: Sequence[At]) -> Iterator[None]:
        """Take the directories, and prepare everything that all runs need."""
        restore_dead()
        with contextlib.ExitStack() as self._stack:
            if self._run.env is not None:
                wanted, path = Wanted(workers=self._run.workers, databases=1, slots=1), self._profile.targets.paths[0]
                taken = taken_system(self._settings, self._run.env, path, wanted, self.say, self._run.ways)
                self._system, _ = self._stack.enter_context(taken)
            self._own = self._arena(self._stack)
            self._direct = self._tried_direct(self._own.paths)
            self._stack.enter_context(self._profile.prepared(self._own))
            yield

    def _arena(self, stack: contextlib.ExitStack) -> Arena:
        scratch = stack.enter_context(place_of_own(self._settings.scratch / "profiles", "work"))
        paths = tuple(stack.enter_context(claimed(path)) for path in self._profile.targets.paths)
        s3 = self._profile.targets.s3
        prefix = None if s3 is None else stack.enter_context(claimed_prefix(s3))
        filer = None if self._filer is None else self._settings
        return Arena(paths=paths, scratch=scratch, s3=prefix, show=self._show, filer=filer,
                     counters=self._counters, elsewhere=self._elsewhere)  # fmt: skip

    @property
    def _elsewhere(self) -> Elsewhere | None:
        """Function that starts the clients at members instead of on this host."""
        return None if self._system is None else partial(crowd_at, self._system)

    @property
    def _counters(self) -> Path | None:
        """File in which clients count for the live view."""
        return None if self._live is None else self._live.counters.path

    def _begins(self, what: str) -> None:
        self._show(what)
        if self._live is not None:
            self._live.run(what)

    def _tried_direct(self, paths: Sequence[Path]) -> list[Direct | None]:
        """Return the result of O_DIRECT on each path if it was requested. Raises UsageError if it is refused."""
        if not self._profile.direct:
            return [None] * len(paths)
        tried = [direct_on(path) for path in paths]
        for path, one in zip(self._profile.targets.paths, tried, strict=True):
            if one is Direct.REFUSED:
                raise UsageError(f"{path} does not support O_DIRECT: {self._profile.indirect}")
        return list(tried)

    @contextlib.contextmanager
    def started(self, turn: Turn) -> Iterator[Observe]:
        """Yield a function that runs the test, with an emulated filer if there is one."""
        self._begins(str(turn))
        observe = partial(self._profile.observe, turn, self._own)
        if self._filer is None:
            yield observe
            return
        with watched_filer(self._settings) as watch:
            yield lambda: dataclasses.replace(observe(), filer=watch()["filer"])

    def on_null(self, turn: Turn) -> Mapping[str, Any]:
        """Run once for each load: the rate of memory is the same in every repeat."""
        if turn.at not in self._ceilings:
            self._begins(f"{turn.at}, on null storage")
            self._ceilings[turn.at] = self._paired(turn)
        return self._ceilings[turn.at]

    def _paired(self, turn: Turn) -> dict[str, Any]:
        try:
            self._null = self._null or self._null_arena()
            profile, arena = self._null
            run = self.about.run_of(profile.observe(turn, arena))
        except (RunFailed, StorageFault) as error:
            self._no_baseline = str(error)
            return {}
        known = ((figure.name, figure.of(run)) for figure in self.about.figures)
        return {
            "ceilings": {name: value for name, value in known if value is not None},
            "null_elapsed_s": run.elapsed_s,
        }

    def _null_arena(self) -> tuple[Profile[Any], Arena]:
        """Return memory, or an endpoint that keeps nothing, prepared for the null baseline. Raises RunFailed if there
        is none, StorageFault."""
        profile = self._profile.on_null()
        if profile is None:
            raise RunFailed(self._profile.no_baseline)
        scratch = self._stack.enter_context(place_of_own(self._settings.scratch / "profiles", "null"))
        paths, s3 = tuple[Path, ...](), None
        if profile.targets.s3 is None:
            paths = self._memory(profile)
        else:
            s3 = f"{self._stack.enter_context(null_endpoint())}/profile"
        arena = Arena(paths=paths, scratch=scratch, s3=s3, null=True, show=self._show, counters=self._counters,
                      elsewhere=self._elsewhere)  # fmt: skip
        self._stack.enter_context(profile.prepared(arena))
        return profile, arena

    def _memory(self, profile: Profile[Any]) -> tuple[Path, ...]:
        """Create as many directories as it has paths; members have theirs at the same place below their own null root.
        Raises RunFailed if memory does not hold them, StorageFault."""
        memory = MEMORY if self._system is None else self._system.admission.roots["null"]
        if not memory.is_dir() or not in_memory(memory):
            raise RunFailed(f"{memory} is not a memory file system")
        wanted = profile.room().bytes * max(1, len(profile.targets.paths))
        if wanted > free_memory() * _SHARE:
            raise RunFailed(
                f"{wanted / 1e9:,.2f} GB do not fit into {_SHARE:.0%} of {free_memory() / 1e9:,.2f} GB of free memory"
            )
        own = self._stack.enter_context(place_of_own(memory, "edbench-profile-null"))
        paths = tuple(own / f"path{number}" for number in range(len(profile.targets.paths)))
        for path in paths:
            path.mkdir()
        return paths

    def surroundings(self) -> dict[str, Any]:
        """Return the request and the places."""
        profile, targets = self._profile, self._profile.targets
        places = [place(path) | {"direct": direct} for path, direct in zip(targets.paths, self._direct, strict=True)]
        cache = filer_cache(targets.paths[0], self._settings.filer_cache) if targets.paths else None
        room = profile.room()
        return {
            "configuration": {
                "edbench": version("edbench"),
                "profile": profile.name,
                "settings": profile.settings.model_dump(mode="json"),
            },
            "storage": places[0] if places else None,
            "targets": places,
            "s3": targets.s3,
            "emulated_filer": emulated(self._filer),
            "room": {"bytes_a_path": room.bytes, "files_a_path": room.files},
            "cache": {
                "client_memory_bytes": client_memory(),
                "filer_cache_bytes": None if cache is None else cache.declared,
                "filer_caches_itself": cache is not None and cache.possible,
                "direct": profile.direct and Direct.CACHED not in self._direct,
                "touched_bytes": profile.touched(),
            },
            "null_storage": {
                "paired": profile.on_null() is not None,
                "why_not": self._no_baseline,
                "place": str(MEMORY) if targets.s3 is None else NULL_ENDPOINT,
            },
            "sessions": list(self._run.sessions),
            "hosts": [host()] if self._system is None else described(self._system.admission.admitted),
        }


def _both(one: Callable[[str], None], other: Callable[[str], None]) -> Callable[[str], None]:
    def say(line: str) -> None:
        one(line)
        other(line)

    return say
