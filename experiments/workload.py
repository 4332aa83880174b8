"""The interface of a workload: something that can be run under a load and measured.

`About` is what is known of it without running it: reports, `compare` and the web UI need only that. `Workload` runs it:
`prepared` prepares and cleans up around a whole experiment, `started` starts and stops around one run, and what
`started` yields is called to observe the run to its end. Observations are kept as they are; everything else is computed
from them (`About.run_of`, `Wording`), in a measurement and in a check alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args, get_type_hints

from controller.labels.rules import FilerCache
from core.clock import Clock
from core.errors import SystemFault
from experiments.report import words
from experiments.result.schema import At, Latency, Point, Result, Run

if TYPE_CHECKING:
    from experiments.report.parts import Section


class Wording:
    """Reports on a workload. `surroundings`: what it observed outside the runs. A workload's own class overrides the
    reports."""

    def __init__(self, surroundings: dict[str, Any]) -> None:
        self.surroundings = surroundings

    def see(self, raw: Any) -> None:
        """Take the observations of the next run, in the order in which the runs were made."""

    @property
    def no_baseline(self) -> str | None:
        """The reason why no run has a null baseline."""
        reason: str | None = self.surroundings.get("null_storage", {}).get("why_not")
        return reason

    @property
    def has_baselines(self) -> bool:
        """Whether runs should have null baselines."""
        return True

    @property
    def filer_cache(self) -> FilerCache:
        """The filer's own cache, from surroundings that have a "cache"."""
        cache = self.surroundings["cache"]
        return FilerCache(declared=cache["filer_cache_bytes"], possible=cache["filer_caches_itself"])

    def conditions(self, points: Sequence[Any]) -> dict[str, Any]:
        """Return the disclosure. What must not differ between compared results is in "configuration"."""
        return self.surroundings

    def where(self) -> str:
        """Return in words what it ran on."""
        return str(self.surroundings["storage"]["label"])

    def emulated(self, point: Any) -> str | None:
        """Return the label of the emulated filer that a point ran on; None without one."""
        filer = self.surroundings.get("emulated_filer")
        return filer and str(filer["label"])

    def cached(self, points: Sequence[Any]) -> bool:
        """Return whether caches may have held the data."""
        return False

    def undeclared(self) -> bool:
        """Return whether the storage may have a cache of undeclared size, which `cached` cannot know of."""
        return "cache" in self.surroundings and self.filer_cache.undeclared

    def sentence(self, points: Sequence[Any]) -> str:
        """Return the findings for the first line; empty: the rate at the highest load against that at the lowest."""
        return ""

    def pace(self) -> str:
        """Return how it was run, for the first line; empty if there is nothing to report."""
        return ""

    def more_fields(self, points: Sequence[Any]) -> Mapping[str, Any]:
        """Return fields of the result in addition to those that every result has."""
        return {}

    def remarks(self, result: Any) -> Sequence[str]:
        """Return what the first line ends with."""
        return ()

    def warnings(self, points: Sequence[Any]) -> Sequence[str]:
        """Return what a reader must know before using the figures, in addition to the warnings of every experiment."""
        return ()


def one_decimal(value: float) -> str:
    """Return 1,234.5; below 1 two significant digits: 0.18."""
    return f"{value:,.1f}" if abs(value) >= 1 or value == 0 else f"{float(f'{value:.2g}')}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that every run has; a point has the median of its repeats, with an interval."""

    name: str  # in `Point.figures`, with its unit
    title: str  # for people, after the number or over a column
    of: Callable[[Any], float | None]  # of one run; None: it has none
    headline: bool = False  # in the first line and by `compare`; the first of them is the rate that a knee looks for
    write: Callable[[float], str] = one_decimal
    unit: str = ""  # of the bare number, where the title does not contain it
    once: bool = False  # measured once for all repeats: they have the same, and no interval
    missing: str = "–"  # in place of a point's, where its runs have none
    aside: bool = False  # in the result, but no column of the table of points

    def values(self, runs: Sequence[Run]) -> list[float]:
        """Return the values of the runs that have the figure."""
        return [value for run in runs if (value := self.of(run)) is not None]

    def ceilings(self, runs: Sequence[Run]) -> list[float]:
        """Return the known values of the same load on null storage."""
        return [top for run in runs if (top := getattr(run, "ceilings", {}).get(self.name))]

    @property
    def column(self) -> str:
        """The title over bare numbers."""
        return f"{self.title}, {self.unit}" if self.unit else self.title


ELAPSED = Figure(name="elapsed_s", title="elapsed", of=lambda run: run.elapsed_s, write=words.seconds, unit="s")


def percentile(
    title: str, op: str, *, headline: bool = False, of: Callable[[Any], Mapping[str, Latency]] = lambda run: run.latency
) -> Figure:
    """Return the figure of a percentile of an op's latencies, which the title ends with: "read p99". A run without such
    calls has none."""
    name = f"{title.rpartition(' ')[2]}_us"

    def value(run: Any) -> float | None:
        found: float | None = getattr(of(run).get(op), name, None)
        return found

    name_of_title = f"{title.replace(' ', '_')}_us"
    return Figure(name_of_title, title, value, headline=headline, write=words.microseconds, unit="µs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Same:
    """A condition that two results must share to be compared."""

    name: str
    path: tuple[str, ...]  # into `Result.conditions`
    tolerance: float = 0.0  # relative


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Description of a workload that does not require running it."""

    name: str
    title: str  # what an experiment of it is called, for instance "{kind}" or "replay {kind}"
    result: type[Result]
    point: type[Point]
    figures: tuple[Figure, ...]
    sections: Callable[[Any], list[Section]]  # of the report, in reading order
    notes: Mapping[str, Callable[[Any], str | int | float | None]]  # of each run, in the disclosure, by column
    same: tuple[Same, ...] = ()
    aside: tuple[
        str, ...
    ] = ()  # fields of `at` that may differ between two results while each has but one value besides 0
    makers: str = "workers"  # who makes the load
    in_calls: Callable[[Any], float | None] = lambda _run: None  # of the time that slots were in tasks
    near_null: Callable[[Sequence[Any]], str | None] = lambda _runs: None  # why the storage hardly mattered
    pair_decides: bool = False  # with null baselines, `near_null` alone decides what was the limit
    rule: str = ""  # the rule of `near_null`, for the report
    doubt: Callable[[Any], bool] = lambda _result: False  # whether the first line is marked besides its labels
    offered: Callable[[Any], float | None] = lambda _run: None  # requested load of a run, in units of the rate
    mean_response_us: Callable[[Any], float | None] = lambda _run: None  # of all that it was asked for
    raw: Callable[[], type[Any]] | None = None  # type of the observations of a run; None: the run itself
    run_of: Callable[[Any], Any] = lambda raw: raw  # a run out of what was observed of it, and nothing else
    wording: Callable[[dict[str, Any]], Wording] = Wording
    trusted: tuple[str, ...] = ()  # parts of a result that cannot be recomputed from observations

    def titled(self, kind: str) -> str:
        """Return the title of an experiment of this kind."""
        return self.title.format(kind=kind)

    @property
    def load_type(self) -> type[At]:
        """The type of its points' load."""
        kind: type[At] = _given(self.point)[0]
        return kind

    @property
    def raw_type(self) -> type[Any]:
        """The type of the observations of a run."""
        if self.raw is not None:
            return self.raw()
        kind: type[Any] = _given(self.point)[1]
        return kind

    @property
    def headlines(self) -> tuple[Figure, ...]:
        """The figures of the first line."""
        return tuple(figure for figure in self.figures if figure.headline)

    def rate(self, run: Run) -> float:
        """Return the rate, which a knee maximises."""
        return self.headlines[0].of(run) or 0.0


def _given(point: type[Point]) -> tuple[Any, Any]:
    """Return the load and run types of a `PointOf`, or of a point that declares its own."""
    bases = get_args(getattr(point, "__orig_bases__", ((),))[0])
    if bases:
        return bases[0], bases[1]
    hints = get_type_hints(point)
    return hints["at"], get_args(hints["repeats"])[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One run that is due."""

    at: At
    repeat: int  # 0, 1, …
    order: int
    name: str  # unique to it, may be a relative path

    def __str__(self) -> str:
        return f"{self.at}, repeat {self.repeat + 1}"


@dataclass(frozen=True, slots=True)
class Disturbed:
    """Takes the place of a run that something disturbed: it is not counted and is made again."""

    why: Sequence[str]


class HostLost(SystemFault):
    """The loss of a host that worked at a run: it takes the place of the run, which is made again."""


Observe = Callable[
    [], Any
]  # what was observed, of `About.raw_type`, or Disturbed; raises SystemFault, RunFailed, Interrupted


class Workload(ABC):
    """A workload that is set up to be measured."""

    about: ClassVar[About]
    storage: Path  # the storage root; results go below it
    clock: Clock
    say: Callable[[str], None]

    @contextmanager
    def prepared(self, points: Sequence[At]) -> Iterator[None]:
        """Prepare everything that all runs need, and release it at the end. `points`: those known in advance, at least
        the largest. Raises UsageError if the request cannot be met, before anything is created, SystemFault."""
        yield

    @abstractmethod
    def started(self, turn: Turn) -> AbstractContextManager[Observe]:
        """Start one run and stop it at the end; yield a function that observes it. Raises UsageError, SystemFault."""

    def on_null(self, turn: Turn) -> Mapping[str, Any]:
        """Run the same load on null storage; return fields of the observations, empty without a null baseline."""
        return {}

    @abstractmethod
    def surroundings(self) -> dict[str, Any]:
        """Return what was observed outside the runs, in plain data, after all of them: the input of `About.wording`."""
