"""Parameter sets of the R1 model, as arrays over sets: three phases, each with its own mix and its main resource.

`discovery` finds every file: much metadata, so mainly the filer's. `extraction` records every item and its relations:
mainly the database's. `indexing` reads everything again: mainly the processors'. The report describes the job so. How much
goes elsewhere is not known and is drawn from boxes, wide where the report is silent. The boxes were set by someone who
had read the whole report and worked a set out by hand from its timeline, so they cannot be called blind; no edge of them was
moved after the checks were computed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from experiments.capacity import r1_facts as facts

Numbers = npt.NDArray[np.float64]

PHASES = ("discovery", "extraction", "indexing")
SCALES = ("filer_ops", "database_h", "processor_h")  # what is fitted


@dataclass(frozen=True, slots=True)
class Box:
    """A parameter that is drawn; evenly in its logarithm where `log`."""

    name: str
    low: float
    high: float
    why: str
    log: bool = False


BOXES = (
    Box("latency_ms", 0.2, 3.0, "a slot's wait for one filer operation beside the filer: network, disk, client", True),
    Box("ops_extraction", 0.3, 6.0, "filer operations in extraction, for each in discovery", True),
    Box("ops_indexing", 0.1, 3.0, "filer operations in indexing, for each in discovery", True),
    Box("metadata_discovery", 0.3, 0.9, "share of metadata in discovery's operations"),
    Box("metadata_extraction", 0.5, 1.0, "the same in extraction, as a part of discovery's"),
    Box("metadata_indexing", 0.5, 1.0, "the same in indexing, as a part of extraction's"),
    Box("database_main", 0.5, 1.0, "share of the database's time that is in extraction"),
    Box("database_rest", 0.0, 1.0, "share of the rest of it that is in discovery"),
    Box("processor_main", 0.5, 1.0, "share of the processors' time that is in indexing"),
    Box("processor_rest", 0.0, 1.0, "share of the rest of it that is in discovery"),
    Box("second_database", *facts.SECOND_DATABASE, "speed of the second database server by the first", True),
    Box("shared_crew", 0.0, 1.0, "over 0.5: workers take tasks of both jobs; else half of them belong to each"),
)
NAMES = tuple(box.name for box in BOXES)


@dataclass(frozen=True, slots=True)
class Sets:
    """`shape`: sets x boxes. `scale`: sets x 3, of one job: million operations in discovery, hours, hours."""

    shape: Numbers
    scale: Numbers

    def __len__(self) -> int:
        return len(self.shape)

    def of(self, name: str) -> Numbers:
        """One drawn or fitted parameter of every set."""
        if name in SCALES:
            return self.scale[:, SCALES.index(name)]
        return self.shape[:, NAMES.index(name)]

    def only(self, keep: npt.NDArray[np.bool_] | npt.NDArray[np.intp] | list[int]) -> Sets:
        """Some of them."""
        return Sets(self.shape[keep], self.scale[keep])


def draw(number: int, seed: int) -> Numbers:
    """Shapes drawn from the boxes by Latin hypercube: every parameter covers its box evenly."""
    source = np.random.default_rng(seed)
    columns = []
    for box in BOXES:
        even = (source.permutation(number) + source.random(number)) / number
        columns.append(within(box, even))
    return np.column_stack(columns)


def within(box: Box, part: Numbers) -> Numbers:
    """Where in the box a part of 0 to 1 lies."""
    if box.log:
        return np.asarray(box.low * (box.high / box.low) ** part)
    return np.asarray(box.low + (box.high - box.low) * part)


def parts(shape: Numbers) -> Numbers:
    """Where in its box each parameter lies, 0 to 1: the inverse of `within`."""
    columns = []
    for n, box in enumerate(BOXES):
        value = shape[:, n]
        if box.log:
            columns.append(np.log(value / box.low) / np.log(box.high / box.low))
        else:
            columns.append((value - box.low) / (box.high - box.low))
    return np.column_stack(columns)


@dataclass(frozen=True, slots=True)
class Demands:
    """Seconds of one whole phase: sets x 3 phases. `ops`: operations of it, of the application only."""

    processors: Numbers
    fsa: Numbers
    fsb: Numbers
    link: Numbers
    database: Numbers
    latency: Numbers
    ops: Numbers


def demands(sets: Sets, *, databases_on_filer: bool = True) -> Demands:
    """What one job asks for."""
    one = np.ones(len(sets))
    ops = sets.of("filer_ops")[:, None] * 1e6
    ops = ops * np.column_stack([one, sets.of("ops_extraction"), sets.of("ops_indexing")])
    discovery = sets.of("metadata_discovery")
    extraction = discovery * sets.of("metadata_extraction")
    metadata = np.column_stack([discovery, extraction, extraction * sets.of("metadata_indexing")])
    fsa = facts.ANCHOR_FSA / facts.ANCHOR_OPS * metadata / discovery[:, None]
    fsb = facts.ANCHOR_FSB / facts.ANCHOR_OPS * (1 - metadata) / (1 - discovery[:, None])
    database = sets.of("database_h")[:, None] * 3600 * _shares(sets, "database", 1)
    iscsi = database * facts.DATABASE_FILER_OPS if databases_on_filer else np.zeros_like(database)
    gigabytes = np.array([0.0, facts.GB_DISCOVERED, facts.GB_DISCOVERED + facts.GB_INDEX])
    return Demands(
        processors=sets.of("processor_h")[:, None] * 3600 * _shares(sets, "processor", 2),
        fsa=ops * fsa,
        fsb=ops * fsb + iscsi * facts.ANCHOR_FSB / facts.ANCHOR_OPS,
        link=one[:, None] * gigabytes * 1e9 / facts.LINK_BYTES_PER_S,
        database=database,
        latency=ops * sets.of("latency_ms")[:, None] / 1000,
        ops=ops,
    )


def _shares(sets: Sets, what: str, main: int) -> Numbers:
    """By phase: the main one's, and the rest between discovery and the other one."""
    share, rest = sets.of(f"{what}_main"), sets.of(f"{what}_rest")
    shares = np.empty((len(sets), 3))
    shares[:, main] = share
    shares[:, 0] = (1 - share) * rest
    shares[:, 3 - main] = (1 - share) * (1 - rest)
    return shares
