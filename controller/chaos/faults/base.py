"""What a fault is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from controller.chaos.moments import Moments
from controller.chaos.plan import Reach, Strike
from controller.chaos.site import Site
from controller.chaos.source import Source

FOREVER = -1.0  # it lasts until the job is at rest, and past that


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Where a fault strikes, and when: in the moment of a process that waits for the answer, or some time after it."""

    site: Site
    ear: Moments
    source: Source  # what the job reads
    peer: int  # the process that came to the moment
    choice: int  # picks one of several victims


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a strike did."""

    what: str  # for people: which process, which file
    undo: Callable[[], None] | None = None  # how it is taken back, once it has lasted long enough
    answer: bytes = b""  # to the process that came to the moment


def _here() -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that can happen."""

    reach: Reach
    family: str
    what: str  # one line for the table and the docs
    strike: Callable[[Scene], Effect | None]  # None: there was nothing to strike at
    seconds: tuple[float, float] = (0.0, 0.0)  # how long it lasts, or FOREVER
    own_source: bool = False  # the job reads a copy of the corpus, which the fault may spoil
    prepare: Callable[[Source], None] | None = None  # of that copy, before the job is made
    own_network: bool = False  # the workers run in a network namespace of their own
    own_disks: bool = False  # storage root, scratch and databases are on small file systems of their own
    missing: Callable[[], str] = field(default=_here)  # why it cannot be had on this machine; empty: it can

    @property
    def name(self) -> str:
        """As the plan and the table call it."""
        return self.reach.name

    def lasts(self, strike: Strike) -> float:
        """Seconds, or FOREVER."""
        low, high = self.seconds
        return FOREVER if low == FOREVER else low + strike.share * (high - low)
