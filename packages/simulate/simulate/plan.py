"""The data set of a simulation: every item of a corpus with its kind and size, planned and not written.

Loose files are those that `corpus generate` plans for the profile, scale and seed. Their contents are drawn: a number
of children for each file or byte, of kinds and sizes as in generated corpora of the same formats (`Contents`). The
generator levels its corpus with what it has written; here the prediction of `Contents` takes its place."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from core.errors import UsageError
from dataset_gen.planning.files import FileSpec, Planner
from dataset_gen.planning.tally import CorpusTotals, Sums, tally_of
from dataset_gen.profile import load_profile
from simulate.demands import CONTAINERS, TYPES, kind_of, type_of

MOST_PLANNED = 5_000_000  # items; of a larger data set, a sample is planned, and its tasks are repeated
SAMPLE = 1_000_000  # items
_MOST_SAMPLES = 3_000  # children kept of one format
_IS_CONTAINER = np.array([name in CONTAINERS for name in TYPES for _ in range(2)])

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Contents and sizes of the loose files of each format."""

    totals: CorpusTotals
    asked: Mapping[str, int]  # bytes that the planner requested, by format; files have about as many
    children: Mapping[str, Sequence[tuple[int, int]]]  # samples of kind and bytes

    def to_plain(self) -> dict[str, Any]:
        """The inverse of `contents_of_plain`."""
        return {
            "totals": json.loads(self.totals.to_json()),
            "asked": dict(self.asked),
            "children": {fmt: [list(one) for one in some] for fmt, some in self.children.items()},
        }


def contents_of_plain(plain: Mapping[str, Any]) -> Contents:
    """The inverse of `to_plain`."""
    return Contents(
        totals=tally_of(json.dumps(plain["totals"]).encode()),
        asked=plain["asked"],
        children={fmt: [(kind, size) for kind, size in some] for fmt, some in plain["children"].items()},
    )


def contents_of(corpus: Path, profile: str, scale: float, seed: int) -> Contents:
    """Read contents from a generated corpus: files of the plan's first round, which does not depend on written
    files."""
    import pyarrow.parquet as parquet

    planner = Planner(load_profile(profile), seed, scale)
    planned = {spec.path: spec for spec in next(planner.rounds(CorpusTotals()))}
    columns = [
        "custodian",
        "container_path",
        "name",
        "media_type",
        "bytes",
        "container",
        "depth",
        "parent",
        "pages",
        "characters",
    ]
    totals, asked = CorpusTotals(), Counter[str]()
    children: dict[str, list[tuple[int, int]]] = {}
    spec = None
    for row in parquet.read_table(corpus / "manifest.parquet", columns=columns).to_pylist():
        if row["depth"] == 0:  # its contents follow
            spec = planned.get(row["container_path"][0].encode())
            if spec is not None:
                asked[spec.fmt] += spec.size
        if spec is None:
            continue
        totals.row(spec.fmt, row)
        if row["depth"]:
            children.setdefault(spec.fmt, []).append((kind_of(row["media_type"], 1), row["bytes"]))
    thinned = {fmt: some[:: max(1, len(some) // _MOST_SAMPLES)] for fmt, some in children.items()}
    return Contents(totals=totals, asked=asked, children=thinned)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A data set. Loose files are in the order in which they are walked; `child_of` names the file of a child."""

    custodian: Ints  # of each loose file
    kind: Ints
    size: Ints
    directories: Mapping[int, int]  # by custodian
    child_of: Ints  # of each child
    child_kind: Ints
    child_size: Ints
    copies: int = 1  # the data set is so many times this sample

    @property
    def items(self) -> int:
        """Number of items at all depths."""
        return (len(self.kind) + len(self.child_kind)) * self.copies

    @property
    def raw_bytes(self) -> int:
        return int(self.size.sum()) * self.copies

    @property
    def discovered_bytes(self) -> int:
        return self.raw_bytes + int(self.child_size.sum()) * self.copies


def is_container(kinds: Ints) -> npt.NDArray[np.bool_]:
    """Whether the kind is a container, which is not read again in phase index."""
    return _IS_CONTAINER[kinds]


def plan_of(
    profile_name: str, scale: float, seed: int, contents: Contents, *, most: int = MOST_PLANNED, sample: int = SAMPLE
) -> Plan:
    """The data set of a profile; with more than `most` items, it is a multiple of a sample. Raises UsageError."""
    profile = load_profile(profile_name)
    expected = (profile.targets.items_per_gb or 20_000) * profile.raw_bytes * scale / 1e9
    copies = 1 if expected <= most else math.ceil(expected / sample)
    planner = Planner(profile, seed, scale / copies)
    tally = CorpusTotals()
    specs: list[FileSpec] = []
    try:
        for files in planner.rounds(tally):
            specs += files
            _count(tally, files, contents)
    except KeyError as error:
        raise UsageError(
            f"profile {profile_name}: no generated corpus shows the content of files of {error}"
        ) from error
    specs.sort(key=lambda spec: spec.path)
    return replace(_items(specs, contents, seed), copies=copies)


def _count(tally: CorpusTotals, specs: Sequence[FileSpec], contents: Contents) -> None:
    """Add the expected sizes of the files."""
    asked: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for spec in specs:
        asked[spec.fmt] += spec.size
        files[spec.fmt] += 1
        tally.custodians[spec.path.partition(b"/")[0].decode()] += int(spec.size * _drift(spec.fmt, contents))
    more = CorpusTotals()
    for fmt, number in files.items():
        known = contents.totals.formats.get(fmt)
        if known is None:
            more.formats[fmt] = Sums(files=number, raw=asked[fmt], own_type="", smallest=300)
            continue
        raw = round(asked[fmt] * _drift(fmt, contents))
        factor = raw / max(1, known.raw) if _holds_bytes(known) else number / known.files
        types = Counter({name: round(count * factor) for name, count in known.types.items()})
        types[known.own_type] += number - round(known.files * factor)
        more.formats[fmt] = Sums(
            files=number, raw=raw, extracted=round(known.extracted * factor), pages=round(known.pages * factor),
            types=types, own_type=known.own_type, smallest=known.smallest,
        )  # fmt: skip
    tally.add(more)


def _drift(fmt: str, contents: Contents) -> float:
    """Bytes written for each byte that the planner requested."""
    asked = contents.asked.get(fmt)
    return contents.totals.formats[fmt].raw / asked if asked else 1.0


def _holds_bytes(sums: Sums) -> bool:
    """Whether the contents of a file grow with its bytes, as in stores and archives, and not with the number of
    files."""
    return TYPES[type_of(sums.own_type)] in CONTAINERS


def _items(specs: Sequence[FileSpec], contents: Contents, seed: int) -> Plan:
    dice = np.random.default_rng(seed)
    formats = {fmt: number for number, fmt in enumerate(sorted({spec.fmt for spec in specs}))}
    fmt_of = np.fromiter((formats[spec.fmt] for spec in specs), np.int64, len(specs))
    size = np.fromiter((spec.size for spec in specs), np.int64, len(specs))
    kind = np.zeros(len(specs), np.int64)
    inside = np.zeros(len(specs))
    for fmt, number in formats.items():
        mine = fmt_of == number
        sums = contents.totals.formats.get(fmt)
        if sums is None:
            continue
        size[mine] = np.maximum(1, size[mine] * _drift(fmt, contents))
        kind[mine] = kind_of(sums.own_type, 0)
        within = sums.types.total() - sums.files
        inside[mine] = within / max(1, sums.raw) * size[mine] if _holds_bytes(sums) else within / sums.files
    # Levelled: each seed has as many children of each format, of the same kinds and sizes, in other files.
    number_inside = np.zeros(len(specs), np.int64)
    for number in formats.values():
        mine = np.flatnonzero(fmt_of == number)
        number_inside[mine] = np.diff(np.floor(np.cumsum(inside[mine]) + 0.5), prepend=0.0)
    child_of = np.repeat(np.arange(len(specs)), number_inside)
    child_kind, child_size = np.zeros(len(child_of), np.int64), np.zeros(len(child_of), np.int64)
    for fmt, number in formats.items():
        pool = np.array(sorted(contents.children.get(fmt, ())), np.int64).reshape(-1, 2)
        mine = np.flatnonzero(fmt_of[child_of] == number)
        if len(mine) and len(pool):
            drawn = pool[dice.permutation(np.arange(len(mine)) * len(pool) // len(mine))]
            child_kind[mine], child_size[mine] = drawn[:, 0], drawn[:, 1]
    custodians: dict[bytes, int] = {}
    custodian = np.fromiter(
        (custodians.setdefault(spec.path.partition(b"/")[0], len(custodians)) for spec in specs), np.int64, len(specs)
    )
    folders = Counter(folder.partition(b"/")[0] for folder in {spec.path.rpartition(b"/")[0] for spec in specs})
    return Plan(
        custodian=custodian, kind=kind, size=size,
        directories={custodians[who]: count for who, count in folders.items()},
        child_of=child_of, child_kind=child_kind, child_size=child_size,
    )  # fmt: skip
