"""A storage test: its description, settings, targets and room, the installed tests, and the checks that refuse a
run."""

from __future__ import annotations

import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, get_origin

from pydantic import ValidationError

from core.document import Order, complaint
from core.errors import UsageError
from core.filer import load_filer
from core.settings import Settings
from core.storage.whole import is_within
from experiments.kinds import Plan, planned
from experiments.report import words
from experiments.result import schema
from experiments.workload import About, Turn
from experiments.workloads import names, registered
from storage_tests.owner import forget_dead, storage_errors

if TYPE_CHECKING:
    from storage_tests.crowd import Elsewhere


RAW = {"raw": True}  # metadata of a field that only the record in raw/ has; in result.json it is None or empty


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRun(schema.Run):
    """One run of any profile. A profile's own class adds its observations, and figures with a default; the profile's
    `run_of` computes these (`figured`)."""

    run_queue_share: float | None = None
    null_elapsed_s: float | None = None  # elapsed time of the null baseline
    latency: dict[str, schema.Latency] = field(default_factory=dict)
    ceilings: dict[str, float] = field(default_factory=dict)  # figure → the same load's on null storage
    # An emulated filer's stations meanwhile, as in `monitoring.observations`.
    filer: dict[str, Any] | None = field(default=None, metadata=RAW)


D = TypeVar("D")


def figured(seen: D, **figures: Any) -> D:
    """Return a run, or a part of one, with its figures, and without the fields that only the record in raw/ has."""
    nothing = {one.name: one.default for one in fields(seen) if one.metadata == RAW}  # type: ignore[arg-type]  # a dataclass
    return replace(seen, **nothing | figures)  # type: ignore[type-var]


def noted(turn: Turn, started_at: float, elapsed_s: float, cpu_s: float, cpus: float) -> dict[str, Any]:
    """Return the fields that every test observes. `cpu_s`: CPU seconds of the processes that made the load, on so many
    `cpus`."""
    return {
        "repeat": turn.repeat,
        "order": turn.order,
        "started_at": started_at,
        "elapsed_s": elapsed_s,
        "worker_cpu": cpu_s / (elapsed_s * cpus),
    }


# For a setting that names a program or a directory of the host: the command takes it, the API and the web UI do not.
COMMAND_ONLY: dict[str, Any] = {"command_only": True}


class ProfileSettings(Order):
    """Settings of a profile, except where it runs. A profile's own class has fields with defaults and descriptions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Targets of a test."""

    paths: tuple[Path, ...] = ()  # directories, each a volume
    s3: str | None = None  # an endpoint, bucket and prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The most room and time that a profile needs."""

    bytes: int  # on each path
    files: int  # on each path
    seconds: float  # one round of its runs, without preparing


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """Places to which a run may write."""

    paths: tuple[Path, ...]  # an empty directory of its own on each path
    scratch: Path  # local, not under test; removed with the rest
    s3: str | None = None
    null: bool = False  # on null storage
    show: Callable[[str], None] = field(default=lambda _line: None)  # the current activity, for the live line
    filer: Settings | None = None  # name the emulated filer that delays our own clients' calls
    counters: Path | None = None  # where clients count for the live view; None: there is none
    elsewhere: Elsewhere | None = None  # starts our own clients elsewhere instead of on this host


S = TypeVar("S", bound=ProfileSettings)


class Profile(ABC, Generic[S]):
    """A storage test with its settings, on its targets."""

    ABOUT: ClassVar[About]  # its description, which does not require running it
    name: ClassVar[str]
    report: ClassVar[str]  # the report that it belongs to: "R2"; empty: ours
    does: ClassVar[str]
    writes: ClassVar[str]
    needs: ClassVar[str]
    settings_type: ClassVar[type[ProfileSettings]]
    small: ClassVar[Mapping[str, Any]]  # settings of --small: minutes and megabytes
    axis: ClassVar[str]  # the field of the load that is varied first
    takes_paths: ClassVar[bool] = True
    takes_s3: ClassVar[bool] = False
    # Whether its calls go through the storage layer, so that an emulated filer delays them.
    emulates: ClassVar[bool] = False
    indirect: ClassVar[str] = "--set direct=false goes through the page cache"  # advice if O_DIRECT is refused
    no_baseline: str = "this storage test has no load for null storage"

    def __init__(self, settings: S, targets: Targets) -> None:
        self.settings, self.targets = settings, targets

    @abstractmethod
    def points(self) -> Sequence[Any]:
        """Return the loads. Raises UsageError for settings that contradict each other."""

    def plan(self, repeats: int, seed: int) -> Plan:
        """Return a plan of every point, in random order."""
        return planned("profile", self.axis, self.points(), repeats=repeats, seed=seed)

    @abstractmethod
    def room(self) -> Room:
        """Return the room that it will need."""

    @abstractmethod
    def observe(self, turn: Turn, arena: Arena) -> ProfileRun:
        """Run once and return the observations. Raises RunFailed, SystemFault."""

    def check(self) -> None:
        """Raise UsageError if a requirement is missing, with how to install it."""

    @contextmanager
    def prepared(self, arena: Arena) -> Iterator[None]:
        """Prepare what all runs need; files in the arena need not be removed."""
        yield

    def on_null(self) -> Profile[S] | None:
        """Return the same profile with settings that memory holds and that take seconds; None: it has no null
        baseline."""
        return None

    def touched(self) -> int:
        """Return the different bytes that a run touches, on all targets together, at the point that touches the fewest
        (CACHED)."""
        return self.room().bytes * max(1, len(self.targets.paths))

    @property
    def direct(self) -> bool:
        """Whether reads and writes bypass the page cache, according to the settings."""
        return bool(getattr(self.settings, "direct", False))

    @property
    def least_seconds(self) -> float | None:
        """The least length of a run if it is less than the rule's; None: the rule applies."""
        return None


MEMORY = Path("/dev/shm")  # of null storage
MOST_OF_FREE = 0.8  # share of the free space that may be used unless the operator agrees


def refuse_targets(profile: type[Profile], targets: Targets) -> None:  # type: ignore[type-arg]  # of any settings
    """Raise UsageError for targets that the profile does not take, and for paths that overlap."""
    if targets.s3 and not profile.takes_s3:
        raise UsageError(f"{profile.name} requires paths: --path")
    if targets.paths and not profile.takes_paths:
        raise UsageError(f"{profile.name} uses no path: remove --path")
    if not targets.s3 and not targets.paths and (profile.takes_paths or profile.takes_s3):
        other = " or --s3 URL" if profile.takes_s3 else ""
        raise UsageError(f"{profile.name} needs --path DIR{other}")
    for one, other_path in itertools.permutations(targets.paths, 2):
        if is_within(one, other_path):
            raise UsageError(f"--path {one}: two of the paths are the same directory, or one is inside the other")


def refuse_filer(profile: Profile, source: str) -> None:  # type: ignore[type-arg]
    """Raise UsageError if an emulated filer is requested that would delay nothing."""
    filer = load_filer(source)
    if filer is None:
        return
    if profile.targets.paths and not profile.emulates:
        raise UsageError(
            f"{profile.name}: the emulated filer {filer.name} delays only the calls of edbench's own clients, but "
            "this test runs another program; use --filer none"
        )
    if profile.targets.s3:
        raise UsageError(
            f"{profile.name}: the emulated filer {filer.name} delays calls on paths, not to S3; use --filer none"
        )


def refuse_room(profile: Profile, *, fill: bool) -> None:  # type: ignore[type-arg]
    """Raise UsageError if a path is no directory or a file system has not the room for all paths on it or, without
    `fill`, would be over 80 % of its free space. First remove what a dead command left there, since it takes room.

    Raises StorageFault if a path cannot be examined."""
    room = profile.room()
    on_device: dict[int, list[Path]] = {}
    for path in profile.targets.paths:
        if not path.is_dir():
            raise UsageError(f"{path} is not a directory; create it, or mount the storage under test there")
        with storage_errors(path):
            forget_dead(path)
            on_device.setdefault(os.stat(path).st_dev, []).append(path)
    for paths in on_device.values():
        refuse_bytes(profile.name, paths[0], room.bytes * len(paths), room.files * len(paths), fill=fill)


def refuse_bytes(name: str, path: Path, needed: int, files: int, *, fill: bool) -> None:
    """Raise UsageError if so much does not fit there or, without `fill`, would be over 80 % of the free space."""
    there = os.statvfs(path)
    free = there.f_bavail * there.f_frsize
    if needed > free or (there.f_files and files > there.f_favail):
        raise UsageError(
            f"{path}: {name} needs {words.size(needed)} and {words.many(files, 'file')},"
            f" {words.size(free)} and {there.f_favail:,} are free; make it smaller with --set"
        )
    if needed > MOST_OF_FREE * free and not fill:
        raise UsageError(
            f"{path}: {name} would take {words.size(needed)} of {words.size(free)} that are free, over"
            f" {words.percent(MOST_OF_FREE)}; confirm with --fill, or make it smaller with --set"
        )


def profiles() -> dict[str, type[Profile[Any]]]:
    """Return the tests by name, in the order of the reports they come from; ours last."""
    found: list[Any] = [kind for name in names() if isinstance(kind := registered(name), type)]
    return {kind.name: kind for kind in sorted(found, key=lambda kind: (kind.report or "~", kind.name))}


def profile_named(name: str) -> type[Profile[Any]]:
    """Return the test of a name. Raises UsageError if there is none."""
    every = profiles()
    if name not in every:
        raise UsageError(f"there is no storage test {name!r}; use all, {', '.join(every)}")
    return every[name]


def made(name: str, targets: Targets, given: Sequence[str], *, small: bool) -> Profile[Any]:
    """Return the test with settings `NAME=VALUE`, over those of `small` if requested. Raises UsageError."""
    kind = profile_named(name)
    refuse_targets(kind, targets)
    return kind(settings_of(kind, given, small=small), targets)


def settings_of(kind: type[Profile[Any]], given: Sequence[str], *, small: bool) -> Any:
    """Return the settings of a test. Raises UsageError for an unknown setting, or a value that it cannot have."""
    values: dict[str, Any] = dict(kind.small) if small else {}
    for one in given:
        setting, sign, value = one.partition("=")
        if not sign or setting not in kind.settings_type.model_fields:
            known = ", ".join(kind.settings_type.model_fields) or "none"
            raise UsageError(f"--set {one}: {kind.name} has the settings {known}; write NAME=VALUE")
        listed = get_origin(kind.settings_type.model_fields[setting].annotation) is tuple  # by commas
        values[setting] = tuple(filter(None, map(str.strip, value.split(",")))) if listed else value
    try:
        return kind.settings_type.model_validate(values)
    except ValidationError as error:
        setting, problem = complaint(error)
        raise UsageError(f"--set {setting or 'settings'}: {problem}") from error


def command_only(kind: type[Profile[Any]]) -> set[str]:
    """Return the settings that only the command takes."""
    fields = kind.settings_type.model_fields
    return {name for name, field in fields.items() if field.json_schema_extra == COMMAND_ONLY}


def varied(given: Sequence[str]) -> Sequence[str | None]:
    """Return the values of an axis for the loads: None if it has one value, which is in the settings."""
    return given if len(given) > 1 else (None,)


def plain(value: Any) -> str:
    """Return a setting as it is written: a list with commas."""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
