"""One run: a job, its faults, and what is left of it afterwards."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from chaos import hook, scripts
from chaos.check import Totals
from chaos.faults.base import FOREVER, Effect, Fault, Scene
from chaos.kinds import Kind
from chaos.moments import Moments, Pending
from chaos.plan import RunPlan, Strike
from chaos.scripts import Stage
from chaos.scripts_command import command
from chaos.site import Site
from chaos.source import Source
from core.errors import EdbenchError


def _produce(stage: Stage) -> None:
    from chaos.scripts_producing import produce  # needs the package production

    produce(stage)


SCRIPTS: Mapping[str, Callable[[Stage], None]] = {
    "discover": scripts.discover,
    "pause": scripts.pause,
    "requeue": scripts.requeue,
    "cancel": scripts.cancel,
    "delete": scripts.delete,
    "produce": _produce,
    "command": command,
}
JOB_SECONDS = 120.0  # for a job to come to rest, faults and one resume included …
_PATIENCE = 10  # … and so many times what an undisturbed one takes, on a machine that has other things to do


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """An undisturbed run of a kind."""

    seconds: float
    totals: list[Totals]
    arrivals: Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run ended."""

    plan: RunPlan
    seconds: float  # from the creation of the job to its end
    lost: float  # more than an undisturbed run
    resumes: int
    struck: tuple[dict[str, Any], ...]  # fault, phase, what was done, for each strike that found its moment
    faults: tuple[str, ...]  # what is wrong; empty: it survived
    reason: str = ""  # of the suspension, where there was one

    @property
    def survived(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


@dataclass(slots=True)
class Striker:
    """Carries out strikes, and takes them back in time."""

    site: Site
    ear: Moments
    source: Source
    faults: Mapping[str, Fault]
    done: list[tuple[Strike, Effect]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    _undo: list[Callable[[], None]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _timers: list[threading.Timer] = field(default_factory=list)

    def strike(self, strike: Strike, peer: int) -> None:
        """Do it now; `peer` is the process that came to the moment."""
        fault = self.faults[strike.fault]
        scene = Scene(site=self.site, ear=self.ear, source=self.source, peer=peer, choice=strike.choice)
        try:
            with hook.unheard():
                effect = fault.strike(scene)
        except (OSError, EdbenchError) as error:
            self.errors.append(f"{strike.fault} could not strike: {error}")
            return
        if effect is None:
            return
        self.done.append((strike, effect))
        if effect.undo is not None:
            with self._lock:
                self._undo.append(effect.undo)
            if fault.lasts(strike) != FOREVER:
                timer = threading.Timer(fault.lasts(strike), self._take_back, (effect.undo,))
                timer.daemon = True
                self._timers.append(timer)
                timer.start()

    def _take_back(self, undo: Callable[[], None]) -> None:
        with self._lock:
            if undo not in self._undo:
                return
            self._undo.remove(undo)
        try:
            with hook.unheard():
                undo()
        except (OSError, EdbenchError) as error:
            self.errors.append(f"it could not be taken back: {error}")

    def mend(self) -> None:
        """Take everything back that still lasts; what is being taken back just now has ended."""
        for timer in self._timers:
            timer.cancel()
            timer.join()
        while self._undo:
            self._take_back(self._undo[0])


@dataclass(slots=True, kw_only=True)
class Testbed:
    """Where runs take place, one after the other."""

    site: Site
    moments: Moments
    strikers: list[Striker]  # of the run there is, for the campaign's ear

    def run(
        self, kind: Kind, plan: RunPlan, faults: Mapping[str, Fault], usual: Usual | None, source: Source
    ) -> tuple[Ended, Usual]:
        """Do what is planned; how it ended, and what an undisturbed run is to be measured by if it was one."""
        striker = Striker(self.site, self.moments, source, faults)
        self.strikers[:] = [striker]
        pending: list[Pending] = []
        stage = self._stage(kind, plan, usual, source, striker, pending)
        try:
            SCRIPTS[kind.script](stage)
        except EdbenchError as error:
            stage.wrong.append(f"{type(error).__name__}: {error}")
        finally:
            stage.mend()
        ended = Ended(
            plan=plan,
            seconds=stage.seconds,
            lost=max(0.0, stage.seconds - usual.seconds) if usual else 0.0,
            resumes=stage.resumes,
            struck=tuple(_struck(pending, striker)),
            faults=tuple(stage.wrong + striker.errors),
            reason=stage.reason,
        )
        return ended, Usual(seconds=stage.seconds, totals=stage.totals, arrivals=dict(stage.seen))

    def _stage(
        self,
        kind: Kind,
        plan: RunPlan,
        usual: Usual | None,
        source: Source,
        striker: Striker,
        pending: list[Pending],
    ) -> Stage:
        arrivals = usual.arrivals if usual else {}

        def begin() -> None:
            pending[:] = self.moments.begin(plan.strikes, arrivals)

        def mend() -> None:
            self.moments.end()
            striker.mend()

        return Stage(
            site=self.site,
            kind=kind,
            plan=plan,
            source=source,
            usual=usual.totals if usual else None,
            arrivals=arrivals,
            counts=self.moments.counts,
            begin=begin,
            mend=mend,
            deadline=time.monotonic() + JOB_SECONDS + (_PATIENCE * usual.seconds if usual else 0.0),
        )


def _struck(pending: list[Pending], striker: Striker) -> Iterator[dict[str, Any]]:
    """Each strike that found its moment, and something to strike at."""
    for one in pending:
        for strike, effect in striker.done:
            if strike is one.strike:
                yield {"fault": strike.fault, "phase": one.phase, "what": effect.what}
