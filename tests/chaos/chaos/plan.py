"""What each run of a campaign does: the same seed and number give the same plan on every machine."""

import dataclasses
import random
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

# Where a fault is aimed: the first half before, the second just after something was done (core.moments).
AIMED = (
    "claim",
    "finish",
    "publish",
    "barrier",
    "send",
    "commit",
    "portion",
    "claimed",
    "finished",
    "published",
    "crossed",
    "portioned",
)
ANY = "committed"  # many and everywhere: with a delay after it, a moment like any other
PHASES = ("walk", "expand", "index", "finalise")
_OF_A_PHASE = ("claimed", "work", "finish", "finished")  # moments that say in which phase they are
_LONGEST_DELAY = 0.4  # seconds after the moment
_PAIRS, _AIMED_SHARE = 0.2, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """When a fault comes."""

    moment: str
    phase: str  # empty: any
    position: float  # 0 … 1: which of the arrivals, as a share of those in an undisturbed run of the kind
    delay: float  # seconds after it; 0: in that very moment, while the process that came to it waits


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """One fault of a run."""

    fault: str
    aim: Aim
    share: float  # 0 … 1: how long it lasts, between the fault's shortest and longest
    choice: int  # picks one of several victims


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """One run."""

    seed: int
    number: int
    kind: str
    strikes: tuple[Strike, ...]

    @property
    def title(self) -> str:
        """For people."""
        faults = ", ".join(
            f"{s.fault} at {s.aim.phase or 'any'}/{s.aim.moment}+{s.aim.delay:.2f}" for s in self.strikes
        )
        return f"run {self.number}: {self.kind}: {faults}"


@dataclass(frozen=True, slots=True)
class Reach:
    """What the plan has to know of a fault."""

    name: str
    _: KW_ONLY
    moments: tuple[str, ...] = ()  # where it may be aimed; empty: anywhere
    kinds: tuple[str, ...] = ()  # jobs that it goes with; empty: all
    at: Aim | None = None  # the only moment that it makes sense at
    times: int = 1  # how often it comes in one run …
    one_phase: bool = False  # … all in one phase, within 50 ms of a claim; else one in each phase after the other
    alone: bool = False  # never paired: what it leaves behind is computed


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What the plan has to know of a kind of job."""

    name: str
    phases: tuple[str, ...]
    moments: tuple[str, ...] = ()  # all that are come to while faults may come; empty: all there are
    own_faults: bool = False  # only those that name it
    reach: float = 1.0  # share of an undisturbed job's life that it has at least, before its owner ends it


def plan_run(seed: int, number: int, faults: Sequence[Reach], kinds: Sequence[Course]) -> RunPlan:
    """The run of that number; the orders of faults and kinds count.

    Faults take their turns, in another order each round, so that a campaign of n runs has each n / len(faults)
    times."""
    chance = random.Random(f"edbench chaos {seed} {number}")
    turn, place = divmod(number, len(faults))
    first = random.Random(f"edbench chaos {seed} turn {turn}").sample(faults, len(faults))[place]
    kind = chance.choice([k for k in kinds if goes_with(first, k)])
    chosen = [first]
    others = [f for f in faults if not f.alone and goes_with(f, kind)]
    if not first.alone and first.times == 1 and others and chance.random() < _PAIRS:
        chosen.append(chance.choice(others))
    strikes = tuple(_within(strike, kind) for reach in chosen for strike in _strikes(chance, reach, kind))
    return RunPlan(seed=seed, number=number, kind=kind.name, strikes=strikes)


def _within(strike: Strike, kind: Course) -> Strike:
    return dataclasses.replace(strike, aim=dataclasses.replace(strike.aim, position=strike.aim.position * kind.reach))


def goes_with(reach: Reach, kind: Course) -> bool:
    """Whether a fault can come to a job of that kind."""
    if kind.name not in reach.kinds and (reach.kinds or kind.own_faults):
        return False
    return not kind.moments or (reach.times == 1 and (not reach.moments or bool({*reach.moments} & {*kind.moments})))


def _strikes(chance: random.Random, reach: Reach, kind: Course) -> list[Strike]:
    if reach.times == 1:
        return [_strike(chance, reach, _aim(chance, reach, kind))]
    if reach.one_phase:
        phase = chance.choice(kind.phases[:-1])
        return [_strike(chance, reach, _after_a_claim(chance, phase)) for _ in range(reach.times)]
    chosen = [kind.phases[n % len(kind.phases)] for n in range(reach.times)]
    return [_strike(chance, reach, _in_phase(chance, phase)) for phase in chosen]


def _strike(chance: random.Random, reach: Reach, aim: Aim) -> Strike:
    return Strike(fault=reach.name, aim=aim, share=chance.random(), choice=chance.randrange(1_000_000))


def _aim(chance: random.Random, reach: Reach, kind: Course) -> Aim:
    position = chance.random()
    if reach.at is not None:
        return reach.at
    if reach.moments:
        return Aim(moment=chance.choice(reach.moments), phase="", position=position, delay=0.0)
    if chance.random() >= _AIMED_SHARE:
        return Aim(moment=ANY, phase="", position=position, delay=chance.random() * _LONGEST_DELAY)
    moment = chance.choice(kind.moments or AIMED)
    phase = chance.choice(kind.phases) if moment in _OF_A_PHASE else ""
    return Aim(moment=moment, phase=phase, position=position, delay=0.0)


def _in_phase(chance: random.Random, phase: str) -> Aim:
    moment = chance.choice(_OF_A_PHASE)
    return Aim(moment=moment, phase=phase, position=chance.random(), delay=chance.choice((0.0, 0.0, 0.05)))


def _after_a_claim(chance: random.Random, phase: str) -> Aim:
    return Aim(
        moment=chance.choice(("claimed", "work")), phase=phase, position=chance.random(), delay=chance.random() * 0.05
    )
