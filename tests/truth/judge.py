"""What a result document says, and whether that is what had to be said. Pure functions of plain data."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from loads import Heard
from situations import DRIFT, GENERATOR, Situation

_LIMIT = re.compile(r"limit: (?:the filer's|the) (\w+)")
_SPACE = re.compile(r"No space left|ENOSPC|no room|room for|are free", re.IGNORECASE)

# Of a run of a replay. Bytes a second: moved by calls, from the start of all clients to the end of the last.
FIGURES: Mapping[str, Callable[[Mapping[str, Any]], float]] = {
    "bytes/s": lambda run: run["bytes"] / run["elapsed_s"],
    "calls/s": lambda run: run["calls"] / run["elapsed_s"],
    "service p50 µs": lambda run: run["service"]["all"]["p50_us"],
    "files/s": lambda run: run["files_per_s"],
    "refused": lambda run: run["refused"],
    "x the job's elapsed": lambda run: run["elapsed_s"] / run["job_s"],
    "x the chunker's ratio": lambda run: max(
        (_expected_share(run, one) for one in run["expected"]), key=lambda by: abs(by - 1)
    ),
    "IOPS found": lambda run: run["found"]["iops"],
    "outstanding found": lambda run: run["found"]["outstanding"],
    "reread ÷ read": lambda run: run["figures"]["cache_ratio"],
    "x dd's MB/s": lambda run: run["bytes"] / run["elapsed_s"] / 1e6 / run["dd_mb_per_s"],
}


def _expected_share(run: Mapping[str, Any], one: Mapping[str, Any]) -> float:
    """Of a run of profile dedup: what is expected of chunks that are cut so, in parts of what the independent chunker found."""
    return float(one["bytes"] / one["different_bytes"] / run["independent"][one["cut"]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was said of one situation."""

    labels: tuple[str, ...] = ()
    limit: str | None = None
    share: float | None = None
    run: Mapping[str, Any] = field(default_factory=dict)
    verdict: str = ""

    def text(self) -> str:
        """In a cell."""
        share = [] if self.share is None else [f"storage share {self.share:.0%}"]
        return "; ".join([*self.labels, *share, *_replay_texts(self.run), f"limit: {self.limit or 'not named'}"])


def _replay_texts(run: Mapping[str, Any]) -> list[str]:
    """Of a replayed job, the seconds: without the load of the machine they say little."""
    if "job_s" not in run:
        return []
    calls = " and ".join(f"{seconds:.1f} s" for seconds in run["calls_waited_s"])
    return [
        f"replay {run['elapsed_s']:.1f} s, job {run['job_s']:.1f} s, recorded {run['recorded_s']:.1f} s",
        f"calls of replay and job waited {calls} for a processor",
        f"processors busy {', '.join(f'{share:.0%}' for share in run['busy'])}",
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A line of the table."""

    situation: Situation
    outcome: Outcome | None = None
    wrong: tuple[str, ...] = ()
    skipped: str | None = None

    @property
    def measured(self) -> float | None:
        """The figure that has a ceiling."""
        if self.situation.ceiling is None or self.outcome is None or not self.outcome.run:
            return None
        return FIGURES[self.situation.ceiling.figure](self.outcome.run)


def outcome_of(heard: Heard) -> Outcome:
    """Of a study, of a job, or of a command that refused."""
    document = heard.document
    if not document:
        if heard.status == 2 and _SPACE.search(heard.errors):
            return Outcome(labels=("REFUSED",), limit="space")
        return Outcome(labels=(f"exit {heard.status}: {heard.errors}",))
    if "points" in document:
        return _of_study(document)
    labels = tuple(document["labels"])
    if document["state"] == "suspended":
        return Outcome(labels=labels, limit="space" if _SPACE.search(str(document["reason"])) else None)
    return Outcome(labels=labels, limit="generator" if _has(labels, GENERATOR) else None)


def _of_study(document: Mapping[str, Any]) -> Outcome:
    point = document["points"][-1]
    drift = (part for part in document["verdict"].split("; ") if part.startswith(DRIFT))
    labels, run = (*document["labels"], *drift), point["repeats"][0]
    share = (point["figures"].get("storage_share") or {}).get("median")
    return Outcome(labels=labels, limit=_limit(document, labels), share=share, run=run, verdict=document["verdict"])


def _limit(document: Mapping[str, Any], labels: tuple[str, ...]) -> str | None:
    if _has(labels, GENERATOR):
        return "generator"
    if named := _LIMIT.search(document["verdict"]):
        return named[1]
    paced = document["workload"] == "replay" and document["conditions"]["configuration"]["pace"] != "max"
    return "pace" if paced else None


def judged(situation: Situation, heard: Heard) -> Verdict:
    """Right where every label, limit, share and ceiling is as the table has it."""
    outcome = outcome_of(heard)
    verdict = Verdict(situation=situation, outcome=outcome)
    wrong = [f"{label} is missing" for label in situation.labels if not _has(outcome.labels, label)]
    wrong += [f"{label} is false" for label in situation.never if _has(outcome.labels, label)]
    wrong += [f"{words!r} is not said" for words in situation.finds if words not in outcome.verdict]
    if situation.limit is not None and outcome.limit != situation.limit:
        wrong.append(f"the limit is {situation.limit}, not {outcome.limit}")
    if situation.share is not None and (outcome.share is None or outcome.share < situation.share):
        wrong.append(f"the storage share is at least {situation.share:.0%}, not {outcome.share}")
    if situation.ceiling is not None:
        wanted, measured = situation.ceiling, verdict.measured
        if measured is None or abs(measured / wanted.value - 1) > wanted.within:
            wrong.append(f"the ceiling is {wanted.value:,.0f} {wanted.figure}, not {measured}")
    if (there := outcome.run.get("refused_there")) is not None and there != outcome.run["refused"]:
        wrong.append(f"the server refused {there} connections, not {outcome.run['refused']}")
    if heard.status and outcome.limit != "space":
        wrong.append(f"exit status {heard.status}: {heard.errors}")
    return Verdict(situation=situation, outcome=outcome, wrong=tuple(wrong))


def _has(labels: tuple[str, ...], begins: str) -> bool:
    return any(label.startswith(begins) for label in labels)


def row(verdict: Verdict) -> tuple[str, ...]:
    """Its cells: situation, known truth, what was said, ceiling known, measured, ratio, right?"""
    situation, ceiling, measured = verdict.situation, verdict.situation.ceiling, verdict.measured
    known = "" if ceiling is None else f"{ceiling.value:,.0f} {ceiling.figure}"
    found = "" if ceiling is None or measured is None else f"{measured:,.0f}" if measured >= 10 else f"{measured:.3f}"
    ratio = "" if ceiling is None or measured is None else f"{measured / ceiling.value:.3f}"
    if verdict.skipped is not None:
        return situation.name, situation.truth, f"skipped: {verdict.skipped}", known, "", "", "–"
    shown = "" if verdict.outcome is None else verdict.outcome.text()
    right = "yes" if not verdict.wrong else f"NO: {'; '.join(verdict.wrong)}"
    return situation.name, situation.truth, shown, known, found, ratio, right
