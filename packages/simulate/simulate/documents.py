"""`simulation.json`: the result of a simulation (docs/schemas/simulation.json)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from core.document import Document
from simulate.facts import Fact
from simulate.simulation import Limit


class SeriesDocument(Document):
    """One value a minute; all lists are equally long."""

    filer_ops: list[float]  # a second
    fsa: list[float]  # utilisation, 0 to 1
    fsb: list[float]
    database_io: list[float]  # a second
    read_ms: list[float]  # mean of a disk's read command
    write_ms: list[float]
    queued: list[float]  # commands waiting at each disk


class RowDocument(Document):
    """One row: a number of workers and databases."""

    workers: int
    databases: int
    elapsed_s: float
    discovery_end_s: float  # end of phase expand of the last job
    gb_before: float
    gb_after: float
    gb_per_hour: float
    limits: list[Limit]
    series: SeriesDocument


class GainDocument(Document):
    """The effect of doubling a resource on the first row."""

    doubled: str
    elapsed_s: float
    gain: float  # elapsed before over after


class DayDocument(Document):
    """A business day with one setting, as `edbench bench day` measures it."""

    setting: str | None = None
    within_s_per_gb: float
    carried: int  # matters a day
    curve: list[tuple[int, float]]  # matters a day, and seconds a GB that 95 % of discoveries end within


class SimulationDocument(Document):
    """A simulation."""

    schema_: Literal["edbench-simulation/1"] = Field(alias="schema")
    verdict: str
    site: str
    profile: str
    scale: float
    seed: int
    items: int
    items_a_chunk: float
    calibration: str
    rows: dict[str, RowDocument]
    facts: list[Fact]
    gains: list[GainDocument]
    days: list[DayDocument] = Field(default_factory=list)
