"""A sizing as command lines, in the order in which they are given, and as a document."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Literal

from pydantic import Field

from core.document import Document, Milli
from core.settings import Settings
from experiments.sizing.sizing import PROFILE, Sizing

_SEED = 1


def corpus_of(sizing: Sizing, storage: Path) -> Path:
    """Where the corpus goes."""
    return storage / "corpora" / f"{PROFILE}-{sizing.scale:g}-seed-{_SEED}"


def commands(sizing: Sizing, settings: Settings) -> list[str]:
    """What to type; RESULT is what the experiment's last line names."""
    corpus = shlex.quote(str(corpus_of(sizing, settings.storage)))
    cache = _declared(sizing.wish.filer_cache)
    workers = ",".join(map(str, sizing.workers))
    return [
        f"export EDBENCH_STORAGE={shlex.quote(str(settings.storage))} EDBENCH_SCRATCH={shlex.quote(str(settings.scratch))}"
        f" EDBENCH_FILER_CACHE={cache}",
        "edbench doctor",
        f"edbench corpus generate {corpus} --profile {PROFILE} --scale {sizing.scale:g} --seed {_SEED}",
        f"edbench bench scale-up --corpus {corpus} --workers {workers} --slots {sizing.rates.slots}"
        f" --repeats {sizing.repeats} --cold --seed {_SEED}",
        "edbench result check RESULT",
        "edbench result describe RESULT > filer.toml",
        "edbench result describe RESULT --sheet filer.toml",
    ]


def _declared(nbytes: int) -> str:
    """As EDBENCH_FILER_CACHE takes it, exactly."""
    return f"{nbytes}B" if nbytes % 1000 else f"{nbytes / 1e9:.6f}".rstrip("0").rstrip(".") + "GB"


class Measured(Document):
    """A rate that the plan is based on."""

    workers: int
    gb_per_hour_discovered: Milli


class Time(Document):
    """One line of the time."""

    what: str
    times: int
    each_s: Milli


class SizingDocument(Document):
    """What `edbench bench plan -o json` writes; bytes are whole, times seconds."""

    schema_: Literal["edbench-plan/1"] = Field(alias="schema")
    source: str
    labels: list[str]
    measured: list[Measured]
    needed_bytes: int
    why: str
    profile: str
    scale: float
    seed: int
    raw_bytes: int
    discovered_bytes: int
    items: int
    workers: list[int]
    slots: int
    repeats: int
    shortest_run_s: Milli
    seconds: Milli
    time: list[Time]
    room_bytes: int
    notes: list[str]
    commands: list[str]


def document(sizing: Sizing, settings: Settings) -> SizingDocument:
    """What `edbench bench plan -o json` writes."""
    return SizingDocument(
        schema="edbench-plan/1",
        source=sizing.rates.source,
        labels=list(sizing.rates.labels),
        measured=[Measured(workers=r.workers, gb_per_hour_discovered=r.gb_per_hour) for r in sizing.rates.measured],
        needed_bytes=sizing.needed_bytes,
        why=sizing.why,
        profile=PROFILE,
        scale=sizing.scale,
        seed=_SEED,
        raw_bytes=sizing.raw_bytes,
        discovered_bytes=sizing.discovered_bytes,
        items=sizing.items,
        workers=list(sizing.workers),
        slots=sizing.rates.slots,
        repeats=sizing.repeats,
        shortest_run_s=sizing.shortest_s,
        seconds=sizing.seconds,
        time=[Time(what=part.what, times=part.times, each_s=part.each_s) for part in sizing.parts],
        room_bytes=sizing.room_bytes,
        notes=list(sizing.notes),
        commands=commands(sizing, settings),
    )
