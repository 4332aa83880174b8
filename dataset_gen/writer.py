"""Writes the loose files of one unit, in whatever process, and notes the truth about them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.feather as feather

from dataset_gen.formats.eml import Letter, write
from dataset_gen.formats.mbox import write_store
from dataset_gen.made import Truth
from dataset_gen.mail import letters, thread
from dataset_gen.manifest import Row, rows_of, table_of
from dataset_gen.plan import LETTER, STORE, FileSpec
from dataset_gen.workshop import Workshop

UNIT_BYTES = 12_000_000
UNIT_FILES = 300


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


def units_of(specs: tuple[FileSpec, ...]) -> list[Unit]:
    """All files in order, cut into units."""
    out: list[Unit] = []
    group: list[FileSpec] = []
    size = 0
    for spec in specs:
        if group and (size + spec.size > UNIT_BYTES or len(group) >= UNIT_FILES):
            out.append(Unit(number=len(out), specs=tuple(group)))
            group, size = [], 0
        group.append(spec)
        size += spec.size
    if group:
        out.append(Unit(number=len(out), specs=tuple(group)))
    return out


def write_unit(shop: Workshop, unit: Unit, data: Path, parts: Path) -> int:
    """Write the unit's files under `data`, then its piece under `parts`; returns bytes of loose files."""
    rows: list[Row] = []
    total = 0
    for spec in unit.specs:
        path = os.path.join(os.fsencode(data), spec.path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        truth = _write_file(shop, spec, path)
        os.utime(path, ns=(spec.mtime_ns, spec.mtime_ns))
        rows += rows_of(spec.path, truth, len(rows))
        total += truth.size
    partial = parts / f"{unit.part}.partial"
    feather.write_feather(table_of(rows), str(partial), compression="uncompressed")
    partial.rename(parts / unit.part)
    return total


def _write_file(shop: Workshop, spec: FileSpec, path: bytes) -> Truth:
    with open(path, "wb") as out:
        if spec.fmt == STORE:
            return write_store(_letters(shop, spec), out.write)
        if spec.fmt == LETTER:
            (letter,) = _letters(shop, spec)
            made = write(letter, crlf=True)
        else:
            made = shop.document(spec.fmt, spec.key, spec.size)
        out.write(made.data)
    return made.truth


def _letters(shop: Workshop, spec: FileSpec) -> Iterator[Letter]:
    for owner, number, positions in spec.letters:
        for _, letter in letters(shop, thread(shop, owner, number, spec.largest), positions):
            yield letter
