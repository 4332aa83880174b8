"""What a fault is."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

from chaos.moments import Moments
from chaos.plan import Reach, Strike
from chaos.site import Site
from chaos.source import Source

FOREVER = -1.0  # it lasts until the job is at rest, and past that


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Where a fault strikes, and when: in the moment of a process that waits for the answer, or some time after it."""

    site: Site
    ear: Moments
    source: Source  # what the job reads
    peer: int  # the process that came to the moment
    choice: int  # picks one of several victims


@dataclass(frozen=True, slots=True)
class Effect:
    """What a strike did."""

    what: str  # for people: which process, which file
    undo: Callable[[], None] | None = None  # how it is taken back, once it has lasted long enough


Striking = Callable[[Scene], Effect | None]  # None: there was nothing to strike at


@dataclass(frozen=True, slots=True)
class Fault(Reach):
    """One thing that can happen."""

    what: str  # one line for the table and the docs
    strike: Striking
    _: KW_ONLY
    seconds: tuple[float, float] = (0.0, 0.0)  # how long it lasts, or FOREVER
    needs: str = ""  # what the campaign has to have of its own for it (chaos.needs)
    prepare: Callable[[Source], None] | None = None  # of the run's source, before the job is made

    def lasts(self, strike: Strike) -> float:
        """Seconds, or FOREVER."""
        low, high = self.seconds
        return FOREVER if low == FOREVER else low + strike.share * (high - low)
