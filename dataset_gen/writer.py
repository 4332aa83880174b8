"""Writes the loose files of one unit, in whatever process, and notes the truth about them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.feather as feather

from dataset_gen.formats import msg_letter, pst_store
from dataset_gen.formats.eml import Letter, write
from dataset_gen.formats.mbox import write_store
from dataset_gen.made import Made, Truth
from dataset_gen.mail import letters, thread
from dataset_gen.manifest import Row, each_row, table_of
from dataset_gen.series import plan_series, write_series
from dataset_gen.shelf import LETTER, MAILDIR, NOTE, PST, SERIES, STORE, SYSTEM_FILE, FileSpec
from dataset_gen.system_files import SYSTEM_FILES
from dataset_gen.tally import Tally, tally_of
from dataset_gen.workshop import Workshop

UNIT_BYTES = 12_000_000
UNIT_FILES = 300
_ROWS_AT_ONCE = 4000
_TALLY = b"tally"  # key in the schema of a part


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Neighbouring loose files that one process writes in one go; `part` is its piece of the manifest."""

    number: int
    specs: tuple[FileSpec, ...]

    @property
    def estimate(self) -> int:
        """Bytes, about."""
        return sum(s.size for s in self.specs)

    @property
    def part(self) -> str:
        """File name of the piece; its presence says that the unit is done."""
        return f"{self.number:06d}.arrow"


def units_of(specs: Sequence[FileSpec], first: int = 0) -> list[Unit]:
    """Files in order of path, cut into units; `first` is the first one's number."""
    out: list[Unit] = []
    group: list[FileSpec] = []
    size = 0
    for spec in sorted(specs, key=lambda s: s.path):
        if group and (size + spec.size > UNIT_BYTES or len(group) >= UNIT_FILES):
            out.append(Unit(number=first + len(out), specs=tuple(group)))
            group, size = [], 0
        group.append(spec)
        size += spec.size
    if group:
        out.append(Unit(number=first + len(out), specs=tuple(group)))
    return out


def write_unit(shop: Workshop, unit: Unit, data: Path, parts: Path) -> int:
    """Write the unit's files under `data`, then its piece under `parts`; returns bytes of loose files."""
    tables: list[pa.Table] = []
    rows: list[Row] = []
    count = 0
    tally = Tally()
    for spec in unit.specs:
        path = os.path.join(os.fsencode(data), spec.path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        truth = _write_file(shop, spec, path)
        os.utime(path, ns=(spec.mtime_ns, spec.mtime_ns))
        tally.blocks.read(path)
        for row in each_row(spec.path, truth, count):
            tally.row(spec.fmt, row)
            rows.append(row)
            count += 1
            if len(rows) >= _ROWS_AT_ONCE:  # a large store has ten thousands, and Arrow holds them in a tenth of it
                tables.append(table_of(rows))
                rows = []
    partial = parts / f"{unit.part}.partial"
    table = pa.concat_tables([*tables, table_of(rows)]).replace_schema_metadata({_TALLY: tally.to_json()})
    feather.write_feather(table, str(partial), compression="uncompressed")
    partial.rename(parts / unit.part)
    return tally.raw


def tally_of_part(part: Path) -> Tally:
    """What the files of a written unit came to."""
    with pa.memory_map(str(part)) as file:
        return tally_of(pa.ipc.open_file(file).schema.metadata[_TALLY])


Store = Callable[[Iterator[Letter], IO[bytes]], Truth]
Single = Callable[[Letter], Made]
# How a file is made of the letters in it: a store of many, or one of its own.
STORES: dict[str, Store] = {STORE: lambda found, out: write_store(found, out.write), PST: pst_store.write_store}
SINGLES: dict[str, Single] = {
    LETTER: lambda letter: write(letter, crlf=True),
    MAILDIR: write,
    NOTE: msg_letter.write,
}


def _write_file(shop: Workshop, spec: FileSpec, path: bytes) -> Truth:
    with open(path, "w+b") as out:
        if spec.fmt in STORES:
            return STORES[spec.fmt](_letters(shop, spec), out)
        if spec.fmt == SERIES:
            at, _, n = spec.key.partition("/")
            series = shop.profile.series[int(at)]
            files = plan_series(series, shop.seed, int(shop.profile.raw_bytes * shop.scale) * series.share)
            return write_series(files[int(n)], shop.seed, out.write)
        if spec.fmt in SINGLES:
            (letter,) = _letters(shop, spec)
            made = SINGLES[spec.fmt](letter)
        elif spec.fmt == SYSTEM_FILE:
            made = shop.document(SYSTEM_FILES[int(spec.key.rpartition("/")[2])].fmt, spec.key, spec.size)
        else:
            made = shop.document(spec.fmt, spec.key, spec.size)
        out.write(made.data)
    return made.truth


def _letters(shop: Workshop, spec: FileSpec) -> Iterator[Letter]:
    for owner, number, positions in spec.letters:
        for _, letter in letters(shop, thread(shop, owner, number, spec.largest), frozenset(positions)):
            yield letter
