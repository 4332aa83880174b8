"""Everything `edbench bench predict` says: the points, the check by mean values, the assumptions, the answer in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from core.document import Document, Milli
from core.errors import UsageError
from core.filer import FilerModel, load_filer
from core.filer.load import site_source
from core.filer.site import SiteModel
from core.options.production import JobType
from experiments.capacity import DEFAULT_RAW_GB, DEFAULT_SLOTS
from experiments.capacity.agreement import Agreement, agreement
from experiments.capacity.answers import answer, sentences
from experiments.capacity.assemble import Question
from experiments.capacity.calibration import Calibration, calibrate
from experiments.capacity.job_types import study_of
from experiments.capacity.predict import (
    PointDocument,
    Prediction,
    Predictor,
    interval_known,
    network_of,
    point_document,
)
from experiments.capacity.reference import NAME, read_reference
from experiments.capacity.site_load import TRANSACTIONS_A_TASK
from experiments.report.words import many
from experiments.result.codec import read_result
from experiments.workloads.discovery.r1.parameters import INDEX_STREAMS
from experiments.workloads.discovery.r1.parameters import SITE as R1

_MOST_SLOTS = 20_000
_MOST_DATABASES = 64  # each has a job of its own, of a thousand tasks and more
_MOST_POINTS = 100
_ROUNDED = 0.05
_NO_INTERVAL = (
    "no interval is known: the calibration was not made on a site, so the error of a prediction for a site is not known"
    "; on r1 predictions were up to 3.5 times what was measured (docs/capacity-model.md); --from a result of the site gives intervals"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is asked."""

    workers: tuple[int, ...]
    databases: tuple[int, ...]
    filer: str | None = None  # a profile's name or a file; None: the calibration's own
    site: str | None = None  # a site's name or file, in place of a filer
    result: Path | None = None  # to calibrate on; None: the reference calibration
    slots: int | None = (
        None  # of each worker; None: the calibration's, on a site that it was not made on as workers have
    )
    raw_gb: float | None = None
    index_streams: int | None = None  # of each job; None: the calibration's, 0: no limit
    shard: bool = False
    one_host: bool = False
    job_type: JobType = JobType.DISCOVERY


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The answer. `filer` is None for a filer of which only the latency is known."""

    calibration: Calibration
    filer: FilerModel | None
    points: tuple[Prediction, ...]  # by databases, then workers
    assumptions: tuple[str, ...]
    agreement: Agreement | None  # at the last point
    answer: tuple[str, ...]

    def document(self) -> PredictionDocument:
        """What `edbench bench predict -o json` writes."""
        check, filer = self.agreement, self.filer
        return PredictionDocument(
            schema="edbench-prediction/1",
            calibration=Source(
                source=self.calibration.source, job_type=self.calibration.job_type, labels=list(self.calibration.labels)
            ),
            filer=None if filer is None else FilerNamed(name=filer.name, scale=filer.scale, site=filer.choice.site),
            assumptions=list(self.assumptions),
            points=[point_document(point) for point in self.points],
            mean_value_check=None
            if check is None
            else MeanValueCheck(simulated_s=check.simulated_s, analysed_s=check.analysed_s),
            answer=list(self.answer),
        )


class Source(Document):
    """What was calibrated on."""

    source: str
    job_type: JobType
    labels: list[str]


class FilerNamed(Document):
    """The filer asked about; `site`: the scales of the emulated site around it, empty where there is none."""

    name: str
    scale: float
    site: str


class MeanValueCheck(Document):
    """Elapsed time of the last point by both methods."""

    simulated_s: Milli
    analysed_s: Milli


class PredictionDocument(Document):
    """What `edbench bench predict -o json` writes."""

    schema_: Literal["edbench-prediction/1"] = Field(alias="schema")
    calibration: Source
    filer: FilerNamed | None
    assumptions: list[str]
    points: list[PointDocument]
    mean_value_check: MeanValueCheck | None
    answer: list[str]


def _silent(_: str) -> None:
    """Nobody wants to know."""


def forecast(wish: Wish, say: Callable[[str], None] = _silent) -> Forecast:
    """Calibrate, simulate every point, and put it into words; `say` is told what it is at. Raises UsageError."""
    _bounded(wish)
    filer = _filer(wish)
    name = NAME if wish.result is None else str(wish.result)
    say(f"calibrating on {name}")
    result = read_reference() if wish.result is None else read_result(wish.result)
    study = study_of(result, wish.job_type, name)
    # The same hosts with the same storage are asked about together: which of them was the limit does not matter then.
    calibration = calibrate(study, name, filer_given=filer is not None or wish.one_host)
    _of_the_same_machines(wish, calibration, filer)
    base = filer or calibration.filer
    site = None if base is None else base.site
    slots = _slots(wish, calibration, site)
    if max(wish.workers) * slots > _MOST_SLOTS:
        raise UsageError(f"{max(wish.workers)} workers x {slots} slots: at most {_MOST_SLOTS:,} slots are simulated")
    times = _times(wish, calibration, site)
    other = filer is not None and (calibration.filer is None or filer.digest != calibration.filer.digest)
    predictor = Predictor(calibration, filer_changed=other)
    questions = [
        Question(
            workers=workers,
            databases=databases,
            slots=slots,
            filer=filer,
            shard=wish.shard,
            one_host=wish.one_host,
            times=times,
            index_streams=wish.index_streams,
        )
        for databases in wish.databases
        for workers in wish.workers
    ]
    points = tuple(_each(predictor, questions, say))
    called = "the filer" if base is None else f"the filer of {_called(base)}" if site else f"the filer {_called(base)}"
    largest = [point for point in points if point.question.workers == max(wish.workers)]
    say("checking the last point against exact mean values")
    check = agreement(network_of(calibration, questions[-1], 0))
    return Forecast(
        calibration=calibration,
        filer=base,
        points=points,
        assumptions=_assumptions(calibration, wish, times, base, other=other),
        agreement=check,
        answer=tuple(_unknown(base) or _answers(predictor, largest, base, called, say)),
    )


def _bounded(wish: Wish) -> None:
    """Before anything is read; raises UsageError for what would take hours."""
    if max(wish.databases) > _MOST_DATABASES:
        raise UsageError(f"{max(wish.databases)} databases: at most {_MOST_DATABASES} are simulated")
    asked = len(wish.workers) * len(wish.databases)
    if asked > _MOST_POINTS:
        raise UsageError(
            f"{len(wish.workers)} numbers of workers x {len(wish.databases)} of databases are {asked:,} points: at most"
            f" {_MOST_POINTS} are simulated"
        )


def _of_the_same_machines(wish: Wish, calibration: Calibration, filer: FilerModel | None) -> None:
    """A result of a site tells of sites only; raises UsageError."""
    if not calibration.on_a_site:
        return
    if filer is not None and filer.site is None:
        raise UsageError(
            f"{calibration.source} was made on an emulated site, whose hosts and databases are in its times: it predicts"
            " sites only; give --site, or a result that was measured without a site"
        )
    if wish.one_host:
        raise UsageError(
            f"--one-host: {calibration.source} was measured on an emulated site, which defines the hosts; remove --one-host"
        )


def _each(predictor: Predictor, questions: Sequence[Question], say: Callable[[str], None]) -> Iterator[Prediction]:
    for n, question in enumerate(questions, start=1):
        where = f"{many(question.workers, 'worker')}, {many(question.databases, 'database')}"
        say(f"simulating {where}: point {n} of {len(questions)}")
        yield predictor(question)


def _filer(wish: Wish) -> FilerModel | None:
    """That was asked about, with the site around it; None: the calibration's."""
    if wish.site is not None:
        if wish.filer is not None:
            raise UsageError("--site and --filer exclude each other: a site has a filer of its own")
        if wish.one_host:
            raise UsageError("--site and --one-host exclude each other: a site defines the hosts")
        return load_filer(site_source(wish.site))
    filer = None if wish.filer is None else load_filer(wish.filer)
    if wish.filer is not None and filer is None:
        raise UsageError("--filer none is not a filer to predict for; give a profile or a file, or remove the option")
    return filer


def _slots(wish: Wish, calibration: Calibration, site: SiteModel | None) -> int:
    if wish.slots is not None:
        return wish.slots
    return calibration.slots if site is None or calibration.on_a_site else DEFAULT_SLOTS


def _times(wish: Wish, calibration: Calibration, site: SiteModel | None) -> float:
    """How many of the calibration's data sets there are. A site of one part in k of the data has as much less; where that is
    what the calibration was made with but for rounding, it is the same data set."""
    if wish.raw_gb is not None:
        return wish.raw_gb * 1e9 / calibration.raw_bytes
    times = DEFAULT_RAW_GB / (1.0 if site is None else site.data_scale) * 1e9 / calibration.raw_bytes
    return 1.0 if site is not None and abs(times - 1.0) < _ROUNDED else times


def _site_told(filer: FilerModel, site: SiteModel) -> str:
    """What stands around the filer."""
    cores = sum(host.cores for host in site.hosts)
    return (
        f"{filer.choice.label}: {many(len(site.hosts), 'host')} of {cores} cores in all, workers of {site.worker_cores},"
        f" {many(len(site.databases), 'database server')} as the site has them; of more databases they are given out again;"
        " seconds are those of the emulation"
    )


def _streams_told(wish: Wish, calibration: Calibration) -> str:
    streams = calibration.index_streams if wish.index_streams is None else wish.index_streams
    return f"tasks of phase index at a time, of each job: {streams or 'no limit'}"


def _speed_told(calibration: Calibration) -> str:
    """What the processor time of a calibration that was made on no site is counted in."""
    if calibration.speed is None:
        return "CPU time of the calibration is assumed to be that of cores of speed 1, because their speed was not measured"
    return f"CPU time of the calibration is that of cores of speed {calibration.speed:.2f}, as measured before its runs"


def _unlike_r1(filer: FilerModel) -> list[str]:
    """What `edbench bench r1` has that a calibration made elsewhere has not."""
    if filer.name != R1:
        return []
    return [
        f"this is not what `edbench bench r1` runs: that has {INDEX_STREAMS} index streams a job (--index-streams {INDEX_STREAMS}"
        " here) and far smaller tasks; a result of it, given with --from, has both"
    ]


def _answers(
    predictor: Predictor,
    largest: Sequence[Prediction],
    filer: FilerModel | None,
    called: str,
    say: Callable[[str], None],
) -> list[str]:
    """For each number of databases; what helps most, with the fewest and with the most of them."""
    ends = {largest[0].question.databases, largest[-1].question.databases}
    found = []
    for point in largest:
        say(f"looking for what limits and what helps with {many(point.question.databases, 'database')}")
        found.append(answer(predictor, point, filer, additions=point.question.databases in ends))
    return sentences(found, called)


def _called(filer: FilerModel) -> str:
    return filer.name if filer.scale == 1.0 else f"{filer.name} (scale 1/{filer.scale:g})"


def _unknown(filer: FilerModel | None) -> list[str]:
    if filer is not None:
        return []
    return [
        "It is not known with how many workers this filer becomes the limit: the result was measured on real storage, which"
        " shows how long calls took, not how many it can serve at once; describe the filer in a file for --filer."
    ]


def _assumptions(
    calibration: Calibration, wish: Wish, times: float, filer: FilerModel | None, *, other: bool
) -> tuple[str, ...]:
    points = " and ".join(str(point.workers) for point in calibration.measured)
    site = None if filer is None else filer.site
    hosts = (
        _site_told(filer, site)
        if filer is not None and site is not None
        else f"all on one host of {calibration.processors} cores"
        if wish.one_host
        else f"each worker and each database server on a host of its own, of {calibration.processors} cores as measured"
    )
    size = calibration.raw_bytes * times / 1e9
    several = "one data set shared out over the databases" if wish.shard else "on each database a job over all of it"
    out = [
        f"calibrated on {calibration.source}, a job of type {calibration.job_type.value}: {points} workers of {many(calibration.slots, 'slot')}",
        f"data set of the same kind, {size:.4g} GB raw ({calibration.items * times:,.0f} items); {several}",
        hosts,
    ]
    if filer is None:
        out.append("the filer keeps its measured latency whatever the load: it has no ceiling here")
    elif site is not None:
        out.append(_streams_told(wish, calibration))
        if not interval_known(calibration, filer):
            out.append(_NO_INTERVAL)
        if not calibration.on_a_site:
            out.append(
                "transactions and rows as its database counted them, including those of the queue manager and of other readers"
                if calibration.ledger_counted
                else f"{TRANSACTIONS_A_TASK:g} transactions a task, rows by item and phase as a run on a site had them: the"
                " calibration was made on none"
            )
            out += [_speed_told(calibration), *_unlike_r1(filer)]
    elif other:
        out.append(f"the filer is {_called(filer)}, and not the one of the calibration")
    if site is None and not calibration.databases_known:
        out.append("what the database servers use is not known from this result: no database is ever the limit here")
    return (*out, *(f"the calibration is labelled: {label}" for label in calibration.labels))
