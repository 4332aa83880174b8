"""The schedule of a day: which matters arrive when, with which data, and how much of it each later step takes.

A drawn schedule is a Poisson process, given the number of its arrivals: so many exponential gaps, scaled to the day. A
load of 12 matters a day therefore always has 12, and under a higher load the same matters arrive sooner, followed by
others: loads are compared on the same work. A schedule from a file is repeated, or cut off, in the same way."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import reading_errors
from core.job_types import JobType
from core.toml_table import TomlTable

STEPS = (JobType.EXTRACTION, JobType.PROCESSING, JobType.EXPORT)  # after the discovery and the review, in this order
MOST_MATTERS = 100_000
_LEAST_SHARE, _MOST_SHARE = 0.1, 0.6  # of a matter's items: range for a step of a drawn schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Matter:
    """One client's data, from its arrival to its export."""

    arrives_s: float  # since the start of the run
    client: str
    source: str  # the custodian whose files it has
    shares: Mapping[str, float]  # by job type: the share of its items that review tags for it
    steps: tuple[str, ...]  # of these the job types that then run


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A matter listed in a file."""

    at: float  # 0…1 of the day
    client: str
    source: str
    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The source of the matters of every load of an experiment."""

    seconds: float  # of a day, compressed
    seed: int
    clients: int
    sources: tuple[str, ...]
    steps: tuple[str, ...]  # job types that are installed
    listed: tuple[Listed, ...] = ()  # of a file; empty: drawn
    alone: float = (_LEAST_SHARE + _MOST_SHARE) / 2  # share of items that each step takes if matters run one at a time

    def matters(self, load: int, repeat: int) -> list[Matter]:
        """Return the matters of a day with so many, in the order of their arrival. Another repeat is another day."""
        if self.listed:
            days = [(turn + one.at, one) for turn in range(load // len(self.listed) + 1) for one in self.listed]
            scale = self.seconds * len(self.listed) / load
            return [self._matter(at * scale, one.client, one.source, one.shares) for at, one in days[:load]]
        dice = random.Random(f"{self.seed}/{repeat}")
        at, drawn = 0.0, []
        for _ in range(load):
            at += dice.expovariate(1.0)
            client, source = f"client {dice.randrange(self.clients) + 1}", dice.choice(self.sources)
            shares = {step.value: round(dice.uniform(_LEAST_SHARE, _MOST_SHARE), 3) for step in STEPS}
            drawn.append((at, client, source, shares))
        scale = self.seconds / (at + random.Random(f"{self.seed}/{repeat}/end").expovariate(1.0))
        return [self._matter(at * scale, client, source, shares) for at, client, source, shares in drawn]

    def each_alone(self) -> list[Matter]:
        """Return one matter with the data of each source, for a run in which they follow each other."""
        shares = {step.value: self.alone for step in STEPS}
        return [self._matter(0.0, "client 1", source, shares) for source in self.sources]

    def _matter(self, at: float, client: str, source: str, shares: Mapping[str, float]) -> Matter:
        tagged = {step: share for step, share in shares.items() if share}
        steps = tuple(step for step in tagged if step in self.steps)
        return Matter(arrives_s=at, client=client, source=source, shares=tagged, steps=steps)


def read_schedule(path: Path, sources: Sequence[str]) -> tuple[Listed, ...]:
    """Return the matters of a TOML file (docs/experiments.md), in the order of their arrival. Raises UsageError in one
    line."""
    with reading_errors(f"schedule {path}", "; give a TOML file with [[matter]] tables"):
        top = TomlTable(str(path), "", tomllib.loads(path.read_text(encoding="utf-8")))
    hours = top.number("hours", 8.0, low=0.01, high=10_000.0)
    tables = top.tables("matter")
    if not 1 <= len(tables) <= MOST_MATTERS:
        raise top.refuse("matter", f"must be 1 to {MOST_MATTERS:,} tables, [[matter]]")
    listed = []
    for table in tables:
        at = table.number("at_hours", high=hours) / hours
        one = Listed(at=at, client=table.text("client", "client 1"), source=table.text("source", sources[0], among=sources),
                     shares={step.value: table.share(step.value, 0.0) for step in STEPS})  # fmt: skip
        table.done()
        listed.append(one)
    top.done()
    return tuple(sorted(listed, key=lambda one: one.at))
