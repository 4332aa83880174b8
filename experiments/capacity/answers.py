"""The buyer's question in words: from how many workers and databases on the filer is the limit, what limits before, and
which single addition helps most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.filer import FilerModel
from core.filer.site import SiteModel
from experiments.capacity.assemble import Question
from experiments.capacity.network import SLOTS, STREAMS, TASKS
from experiments.capacity.predict import Prediction, Predictor

MOST_WORKERS = 512
_SEEDS = 1  # in the search for the filer's limit, which asks many questions
_PAIRED = 3  # with an addition and without it, the same ones, so that what differs is the addition
_GROWS = 1.02  # GB/hour over that of half the workers, below which more of them bring nothing
_HELPS = 1.03  # GB/hour over those before that are worth naming
FILER = "filer "  # the stations of a filer begin with it


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """One more of something, and what it brings."""

    what: str
    gain: float  # GB/hour over those without it


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Of one point with its databases."""

    at: Prediction
    filer_limits_from: int | None  # workers; None: with no number of them
    before: str  # what limits below that
    additions: tuple[Addition, ...]  # the most helpful first


def words_of(limit: str) -> str:
    """A limit for people."""
    if limit == SLOTS:
        return "the number of slots (all are busy, and nothing else is)"
    if limit == TASKS:
        return "the tasks (too few or too unequal for this number of slots)"
    if limit == STREAMS:
        return "the index streams (a job has as many running tasks as it may have)"
    return limit if limit.startswith(("database", "host ")) else f"the {limit}"


def is_filer(limit: str) -> bool:
    """Whether it is a station of the filer."""
    return limit.startswith(FILER)


def answer(predictor: Predictor, at: Prediction, base: FilerModel | None, *, additions: bool) -> Answer:
    """For the databases of `at`; `base`: the filer asked about; `additions`: try these too."""
    first, before = _first(predictor, at.question)
    found = gains(predictor, at.question, _tried(at.question, base)) if additions else []
    return Answer(
        at=at,
        filer_limits_from=first,
        before=before,
        additions=tuple(sorted(found, key=lambda one: -one.gain)),
    )


def _first(predictor: Predictor, question: Question) -> tuple[int | None, str]:
    """The fewest workers with which the filer is the limit, by doubling, then halving the gap; and what is the limit
    with fewer. None where more workers bring nothing before the filer is full."""
    limits: dict[int, str] = {0: SLOTS}

    def rate(workers: int) -> float:
        prediction = predictor(replace(question, workers=workers), _SEEDS)
        limits[workers] = prediction.limit
        return prediction.gb_per_hour_discovered.value

    good, workers, best = 0, 1, rate(1)
    while not is_filer(limits[workers]):
        if workers >= MOST_WORKERS:
            return None, limits[workers]
        good, workers = workers, workers * 2
        now = rate(workers)
        if now < best * _GROWS and not is_filer(limits[workers]):
            return None, limits[workers]
        best = now
    while workers - good > max(1, workers // 10):  # as exactly as the model deserves
        middle = (good + workers) // 2
        rate(middle)
        if is_filer(limits[middle]):
            workers = middle
        else:
            good = middle
    return workers, limits[good]


def gains(predictor: Predictor, question: Question, tried: Sequence[tuple[str, Question]]) -> list[Addition]:
    """What each of the changed questions brings over `question`. Both are simulated with the same seeds: which task gets which
    file is worth up to a tenth in a short job, and is no addition's doing."""
    base = predictor(question, _PAIRED).gb_per_hour_discovered.value
    return [
        Addition(what=what, gain=predictor(changed, _PAIRED).gb_per_hour_discovered.value / base)
        for what, changed in tried
    ]


def _tried(question: Question, filer: FilerModel | None) -> list[tuple[str, Question]]:
    """What one may buy."""
    tried = [
        ("half as many workers again", replace(question, workers=max(question.workers + 1, question.workers * 3 // 2))),
        ("one more database", replace(question, databases=question.databases + 1)),
    ]
    if filer is not None:
        more = replace(filer, metadata=replace(filer.metadata, servers=_half_more(filer.metadata.servers)))
        tried.append(("half as many CPUs of the filer's metadata unit again", replace(question, filer=more)))
        more = replace(filer, data=replace(filer.data, servers=_half_more(filer.data.servers)))
        tried.append(("half as many CPUs of the filer's data unit again", replace(question, filer=more)))
        if filer.link_bytes_per_s:
            more = replace(filer, link_bytes_per_s=filer.link_bytes_per_s * 1.5)
            tried.append(("a filer link half as fast again", replace(question, filer=more)))
        tried += _of_site(question, filer, filer.site)
    return tried


def _of_site(question: Question, filer: FilerModel, site: SiteModel | None) -> list[tuple[str, Question]]:
    """What may be added around an emulated filer."""
    if site is None:
        return []
    hosts = tuple(replace(host, cores=_half_more(host.cores)) for host in site.hosts)
    databases = tuple(replace(one, speed=one.speed * 1.5) for one in site.databases)
    more = replace(site, hosts=hosts, worker_cores=_half_more(site.worker_cores))
    return [
        ("half as many cores again", replace(question, filer=replace(filer, site=more))),
        ("database servers half as fast again", replace(question, filer=replace(filer, site=replace(site, databases=databases)))),
    ]  # fmt: skip


def _half_more(servers: int) -> int:
    return servers + max(1, servers // 2)


def sentences(answers: Sequence[Answer], filer: str) -> list[str]:
    """The answers as lines of text."""
    out = []
    for one in answers:
        question = one.at.question
        databases = _databases(question)
        if one.filer_limits_from is None:
            out.append(
                f"With {databases} {filer} is not the limit with any number of workers; {words_of(one.before)} is."
            )
        elif one.filer_limits_from == 1:
            out.append(f"With {databases} {filer} is the limit from the first worker on.")
        else:
            before = "" if is_filer(one.before) else f"; before that it is {words_of(one.before)}"
            out.append(f"With {databases} {filer} is the limit from {one.filer_limits_from} workers on{before}.")
    return out + [_helps(one) for one in answers if one.additions]


def _databases(question: Question) -> str:
    return f"{question.databases} database{'s' if question.databases > 1 else ''}"


def _helps(one: Answer) -> str:
    where = f"At {one.at.question.workers} workers and {_databases(one.at.question)}"
    best = one.additions[0]
    if best.gain < _HELPS:
        return f"{where} no single addition brings more than {(best.gain - 1) * 100:.0f} %."
    rest = ", ".join(f"{each.what} {round((each.gain - 1) * 100):+d} %" for each in one.additions[1:])
    return f"{where} {best.what} helps most: {round((best.gain - 1) * 100):+d} % GB/hour ({rest})."
