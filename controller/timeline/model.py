"""Timelines as plain data; `to_json` gives the document of the HTTP API."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import PlainSerializer, TypeAdapter

from controller.jobs.figures import Calls
from controller.timeline.readings import Readings

_NUMBERED = re.compile(r"w(\d+)")
_CONTAINER = re.compile(r"[0-9a-f]{12}(-\d+)?")  # the host name that Docker gives a container, and a process id
_DEVICE = re.compile(r":\d+:\d+$")


def host_names(workers: Mapping[str, Readings]) -> dict[str, str]:
    """Return host names by boot id, with which the sources of that host begin."""
    latest = (readings[-1][1] for readings in workers.values())
    return {str(values["host"]): str(values["host_name"]) for values in latest if "host_name" in values}


def device_names(sources: Iterable[str], hosts: Mapping[str, str]) -> dict[str, str]:
    """Return `vda` for `b6d6a1e6:vda`, or `vda on HOST` if several hosts were observed. Names that would be equal keep
    their device number."""
    parts = {source: source.partition(":") for source in sources}
    several = len({boot for boot, _, _ in parts.values()}) > 1

    def named(source: str, device: str) -> str:
        boot, mark, _ = parts[source]
        return f"{device} on {hosts.get(boot, boot)}" if mark and several else device

    whole = {source: named(source, rest if mark else boot) for source, (boot, mark, rest) in parts.items()}
    short = {
        source: named(source, _DEVICE.sub("", rest if mark else boot)) for source, (boot, mark, rest) in parts.items()
    }
    taken = list(short.values())
    return {source: name if taken.count(name) == 1 else whole[source] for source, name in short.items()}


def worker_names(names: Iterable[str]) -> dict[str, str]:
    """Return `worker 3` for `w3`; containers are numbered, because their names are random digits."""
    out, number = {}, 0
    for name in names:
        if found := _NUMBERED.fullmatch(name):
            out[name] = f"worker {found[1]}"
        elif _CONTAINER.fullmatch(name):
            number += 1
            out[name] = f"worker {number} ({name[:6]})"
        else:
            out[name] = name
    return out


def _short(values: Sequence[float | None]) -> list[float | None]:
    """Round to enough digits for a chart; a long run has tens of thousands of values."""
    return [None if value is None else round(value, 4 if -100 < value < 100 else 1) for value in values]


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a panel: a value for each point of the timeline's axis, None if unknown."""

    id: str
    label: str
    values: Annotated[Sequence[float | None], PlainSerializer(_short, return_type=Any)]


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart: `kind` is `line` or `stacked`; all its series have the same unit."""

    id: str
    title: str
    unit: str
    kind: str
    series: Sequence[Series]


@dataclass(frozen=True, slots=True)
class PhaseSpan:
    """The time of a phase, in seconds since the first claim; `end_s` is None while it runs."""

    phase: str
    start_s: float
    end_s: float | None


@dataclass(frozen=True, slots=True)
class PauseSpan:
    """A time in which nothing ran, on the same axis: `state` is the job's state meanwhile (paused, suspended, or the
    state in which it had ended before it was requeued), `reason` why it was suspended; `end_s` is None while it
    lasts."""

    state: str
    reason: str | None
    start_s: float
    end_s: float | None


@dataclass(frozen=True, slots=True)
class Limit:
    """The bottleneck as a sentence, the part that it names, and the evidence; no verdict if that is insufficient. For a
    run that is over, the bottleneck of its longest uninterrupted phase."""

    verdict: str | None = None
    who: str | None = None  # workers, host (other programs), storage, databases or queue
    evidence: Sequence[str] = ()


_Counted = Annotated[Mapping[str, int], PlainSerializer(lambda codes: {"by_code": dict(codes)})]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A job or group over time; `t` has seconds since the first claim, the start of each bucket of `step_s`."""

    job: str
    state: str
    labels: Sequence[str] = ()  # such as CACHED, EMULATED FILER, GENERATOR-LIMITED
    advice: Sequence[str] = ()  # what to do about them
    now_s: Annotated[float, PlainSerializer(lambda value: round(value, 3))]  # seconds since the first claim
    step_s: float
    phases: Sequence[PhaseSpan] = ()
    pauses: Sequence[PauseSpan] = ()
    t: Sequence[float] = ()
    panels: Sequence[Panel] = ()
    exceptions: _Counted = field(default_factory=dict)  # code → count, so far
    totals: Mapping[str, int | float] = field(default_factory=dict)  # items, raw_bytes, discovered_bytes, calls
    calls: Mapping[str, Calls] = field(default_factory=dict)  # by operation, so far
    progress: float | None = None  # 0 to 1
    eta_s: float | None = None
    limit: Limit = field(default_factory=Limit)

    def to_json(self) -> dict[str, Any]:
        """Return plain data, as `/api/v1/jobs/{id}/timeline` has it."""
        plain: dict[str, Any] = _PLAIN.dump_python(self, mode="json")
        return plain


_PLAIN = TypeAdapter(Timeline)
