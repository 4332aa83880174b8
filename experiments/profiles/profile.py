"""What a profile is: its words, its settings, what it needs, and one run of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from core.document import Order
from core.settings import Settings
from experiments.clients.crowd import Elsewhere
from experiments.kinds.kind import Kind
from experiments.profiles.result import Observed
from experiments.workload import About, Turn
from experiments.workloads import about


class ProfileSettings(Order):
    """What can be said of a profile beside where it runs. A profile's own has fields with defaults and descriptions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Where it runs."""

    paths: tuple[Path, ...] = ()  # directories, each a volume
    s3: str | None = None  # an endpoint, bucket and prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What a profile needs at most."""

    bytes: int  # on each path
    files: int  # on each path
    seconds: float  # one round of its runs, without preparing


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """Where a run may write."""

    paths: tuple[Path, ...]  # an empty directory of its own on each path
    scratch: Path  # local, not under test; removed with the rest
    s3: str | None = None
    null: bool = False  # in memory: the pair
    tell: Callable[[str], None] = field(default=lambda _line: None)  # what goes on now, for the live line
    filer: Settings | None = None  # that name the emulated filer which delays our own clients' calls
    counters: Path | None = None  # where clients count for whoever watches; None: nobody does
    elsewhere: Elsewhere | None = None  # who has our own clients in place of this host
    look: Callable[[], None] = field(default=lambda: None)  # to be called about once a second while clients work


S = TypeVar("S", bound=ProfileSettings)


class Profile(ABC, Generic[S]):
    """One, with its settings, on its targets."""

    name: ClassVar[str]
    report: ClassVar[str]  # whose test it is: "R2"; empty: ours
    does: ClassVar[str]
    writes: ClassVar[str]
    needs: ClassVar[str]
    settings_type: ClassVar[type[ProfileSettings]]
    small: ClassVar[Mapping[str, Any]]  # settings of --small: seconds and megabytes
    takes_paths: ClassVar[bool] = True
    takes_s3: ClassVar[bool] = False
    emulates: ClassVar[bool] = (
        False  # whether its calls go through the storage layer, so that an emulated filer delays them
    )
    indirect: ClassVar[str] = "--set direct=false goes through the page cache"  # where O_DIRECT is not taken
    no_pair: str = "this storage test has no load that null storage could answer"

    def __init__(self, settings: S, targets: Targets) -> None:
        self.settings, self.targets = settings, targets

    @property
    def about(self) -> About:
        """What is known of it without running it."""
        return about(self.name)

    @abstractmethod
    def kind(self, repeats: int, seed: int) -> Kind:
        """Which points, in which order; raises UsageError for settings that make no sense together."""

    @abstractmethod
    def room(self) -> Room:
        """What it will need."""

    @abstractmethod
    def observe(self, turn: Turn, arena: Arena) -> Observed:
        """One run; raises RunFailed, SystemFault."""

    def check(self) -> None:
        """Raises UsageError where something that it needs is missing, with how to get it."""

    @contextmanager
    def prepared(self, arena: Arena) -> Iterator[None]:
        """What all runs need; what lies in the arena need not be removed."""
        yield

    def on_null(self) -> Profile[S] | None:
        """The same with settings that memory holds and that take seconds; None: it has no pair."""
        return None

    def touched(self) -> int:
        """Different bytes that a run touches, on all targets together: of the point that touches the fewest (CACHED)."""
        return self.room().bytes * max(1, len(self.targets.paths))

    @property
    def direct(self) -> bool:
        """Whether reads and writes bypass the page cache: as the settings say."""
        return bool(getattr(self.settings, "direct", False))

    @property
    def least_seconds(self) -> float | None:
        """How long a run of it has to be where that is less than the rule's; None: as the rule has it."""
        return None
