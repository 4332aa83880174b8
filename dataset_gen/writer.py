"""Writing of the loose files of one unit, in any process, with their ground truth."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa

from core.errors import UsageError
from dataset_gen.formats import msg
from dataset_gen.formats.eml import Letter, write
from dataset_gen.formats.mbox import write_store
from dataset_gen.formats.pst import store
from dataset_gen.languages import build_sample
from dataset_gen.made import Made, Truth
from dataset_gen.material.blocks import Blocks, plan_series, write_series
from dataset_gen.material.mail import letters, thread
from dataset_gen.material.system_files import SYSTEM_FILES
from dataset_gen.planning.files import LANGUAGE, LETTER, MAILDIR, NOTE, PST, SERIES, STORE, SYSTEM_FILE, FileSpec
from dataset_gen.planning.tally import CorpusTotals, tally_of
from dataset_gen.truth import manifest as m
from dataset_gen.workshop import NEAR, WITH_TEXT, Workshop

UNIT_BYTES = 12_000_000
UNIT_FILES = 300
_ROWS_AT_ONCE = 4000
_TALLY = b"tally"  # key in the metadata of the last rows of a part
_NO_SUCH_NAME = (errno.EINVAL, errno.EILSEQ, errno.ENAMETOOLONG)  # of names that file systems refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Neighbouring loose files that one process writes together; `part` is its piece of the manifest."""

    number: int
    specs: tuple[FileSpec, ...]

    @property
    def estimate(self) -> int:
        """Approximate bytes."""
        return sum(s.size for s in self.specs)

    @property
    def part(self) -> str:
        """File name of the piece; its presence shows that the unit is done."""
        return f"{self.number:06d}.arrow"


def units_of(specs: Sequence[FileSpec], first: int = 0) -> list[Unit]:
    """Cut files, in order of path, into units; `first` is the first one's number."""
    groups: list[list[FileSpec]] = []
    size = 0
    for spec in sorted(specs, key=lambda s: s.path):
        if not groups or size + spec.size > UNIT_BYTES or len(groups[-1]) >= UNIT_FILES:
            groups.append([])
            size = 0
        groups[-1].append(spec)
        size += spec.size
    return [Unit(number=first + number, specs=tuple(group)) for number, group in enumerate(groups)]


def write_unit(shop: Workshop, unit: Unit, data: Path, parts: Path) -> int:
    """Write the unit's files under `data`, then its piece under `parts`; return the bytes of loose files.

    Raises UsageError if the file system does not take a name of a corpus."""
    rows: list[m.Row] = []
    count = 0
    tally = CorpusTotals()
    folder = b""
    partial = parts / f"{unit.part}.partial"
    with pa.OSFile(str(partial), "wb") as file, pa.ipc.new_file(file, m.SCHEMA) as out:
        for spec in unit.specs:
            path = os.path.join(os.fsencode(data), spec.path)
            try:
                if os.path.dirname(path) != folder:
                    folder = os.path.dirname(path)
                    os.makedirs(folder, exist_ok=True)
                truth = _write_file(shop, spec, path, tally.blocks)
            except OSError as error:
                if error.errno not in _NO_SUCH_NAME:
                    raise
                raise UsageError(
                    f"{os.fsdecode(path)!r} cannot be created there ({error.strerror}): a corpus has names of every kind; "
                    "generate it on another file system"
                ) from error
            for place, row in enumerate(m.each_row(spec.path, truth, count)):
                if not place:
                    row |= _of_text(shop, spec)
                tally.row(spec.fmt, row)
                rows.append(row)
                count += 1
                if len(rows) >= _ROWS_AT_ONCE:  # a large store has ten thousands
                    out.write_batch(pa.RecordBatch.from_pylist(rows, schema=m.SCHEMA))
                    rows = []
        out.write_batch(pa.RecordBatch.from_pylist(rows, schema=m.SCHEMA), custom_metadata={_TALLY: tally.to_json()})
    partial.rename(parts / unit.part)
    return tally.raw


def _of_text(shop: Workshop, spec: FileSpec) -> m.Row:
    """Return the columns about a loose file's text that follow from its order."""
    if spec.fmt == LANGUAGE:
        return {m.LANGUAGE: spec.key.partition("/")[0]}
    if spec.fmt in WITH_TEXT and shop.profile.duplicates.near_copies:
        return {m.TEXT_OF: spec.key.partition(NEAR)[0]}
    return {}


def tally_of_part(part: Path) -> CorpusTotals:
    """Return the totals of the files of a written unit, stored with the last rows."""
    with pa.memory_map(str(part)) as file:
        reader = pa.ipc.open_file(file)
        metadata = reader.get_batch_with_custom_metadata(reader.num_record_batches - 1).custom_metadata
        return tally_of(metadata[_TALLY])


Store = Callable[[Iterator[Letter], IO[bytes]], Truth]
Single = Callable[[Letter], Made]
# Function for a file of letters: a store of many, or a file for one.
STORES: dict[str, Store] = {STORE: lambda mails, out: write_store(mails, out.write), PST: store.write_store}
SINGLES: dict[str, Single] = {
    LETTER: lambda letter: write(letter, crlf=True),
    MAILDIR: write,
    NOTE: msg.write,
}


def _write_file(shop: Workshop, spec: FileSpec, path: bytes, blocks: Blocks) -> Truth:
    """Write a file with its time, and count its blocks."""
    if spec.fmt in STORES or spec.fmt == SERIES:
        with open(path, "w+b") as out:
            truth = _write_large(shop, spec, out)
        os.utime(path, ns=(spec.mtime_ns, spec.mtime_ns))
        blocks.read(path)
        return truth
    made = _document(shop, spec)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)  # no buffer: there is one piece to write
    try:
        left = memoryview(made.data)
        while left:
            left = left[os.write(file, left) :]
        os.utime(file, ns=(spec.mtime_ns, spec.mtime_ns))
    finally:
        os.close(file)
    blocks.take(made.data)
    return made.truth


def _write_large(shop: Workshop, spec: FileSpec, out: IO[bytes]) -> Truth:
    """Write a file that is not built in memory."""
    if spec.fmt in STORES:
        return STORES[spec.fmt](_letters(shop, spec), out)
    at, _, n = spec.key.partition("/")
    series = shop.profile.series[int(at)]
    files = plan_series(series, shop.seed, int(shop.profile.raw_bytes * shop.scale) * series.share)
    return write_series(files[int(n)], shop.seed, out.write)


def _document(shop: Workshop, spec: FileSpec) -> Made:
    if spec.fmt in SINGLES:
        (letter,) = _letters(shop, spec)
        return SINGLES[spec.fmt](letter)
    if spec.fmt == LANGUAGE:
        return build_sample(shop.seed, spec.key, spec.size)
    if spec.fmt == SYSTEM_FILE:
        return shop.document(SYSTEM_FILES[int(spec.key.rpartition("/")[2])].fmt, spec.key, spec.size)
    return shop.document(spec.fmt, spec.key, spec.size)


def _letters(shop: Workshop, spec: FileSpec) -> Iterator[Letter]:
    for owner, number, positions in spec.letters:
        for _, letter in letters(shop, thread(shop, owner, number, spec.largest), frozenset(positions)):
            yield letter
