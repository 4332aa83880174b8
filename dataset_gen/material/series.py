"""Data for storage tests (report R5): zeros, random, scientific data, backups in generations, images of machines.

Files are made block by block, so their size does not matter for memory. Backups and images are chains: what a block
holds in a generation follows from the last generation that changed it, so unchanged blocks are the same bytes in
every full copy, and an incremental copy holds the changed ones only.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dataset_gen.made import Truth
from dataset_gen.material.text import prose
from dataset_gen.mix import Series
from dataset_gen.packing.compress import deflated
from dataset_gen.rng import Dice, derive

BLOCK = 65_536  # bytes
KINDS = ("zeros", "random", "scientific", "backup", "vm-image")
_CHAINS = ("backup", "vm-image")
_RUN = 12  # changed blocks lie together in runs of up to so many
_MEDIA_TYPE = "application/octet-stream"
_HEAD = b"EDBENCH\0"  # nothing that begins so is taken for a known format


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesFile:
    """One file of a series."""

    series: Series
    number: int  # of the file or of the chain
    generation: int
    blocks: int  # of a full copy
    size: int  # bytes of this file

    @property
    def full(self) -> bool:
        """Whether it holds all blocks."""
        return self.generation % self.series.full_every == 0

    @property
    def name(self) -> str:
        """Its path below a custodian's directory."""
        if self.series.kind not in _CHAINS:
            ending = "root" if self.series.kind == "scientific" else "bin"
            return f"{self.series.kind}/{self.number // 100:03d}/{self.series.kind}-{self.number:05d}.{ending}"
        if self.series.kind == "backup":
            return f"backup/job {self.number:03d}/{self.generation:03d} {'full' if self.full else 'incremental'}.bak"
        return f"machines/vm{self.number:03d}/{self.generation:03d}.img"


def plan_series(series: Series, seed: int, budget: float) -> list[SeriesFile]:
    """Files that have `budget` bytes together, in chains of the series' generations; small budgets get small files."""
    least = 4 if series.kind not in _CHAINS else 1
    copies = _copies(series) if series.kind in _CHAINS else 1.0
    wanted = min(series.file_bytes, max(BLOCK, budget / copies / least))
    chains = max(1, round(budget / copies / wanted))
    blocks = max(1, round(budget / copies / chains / BLOCK))
    generations = series.generations if series.kind in _CHAINS else 1
    out = []
    for number in range(chains):
        ages = _Ages(series, seed, number, blocks)
        for generation in range(generations):
            changed = ages.step() if generation else blocks
            held = blocks if generation % series.full_every == 0 else changed + 1
            out.append(
                SeriesFile(series=series, number=number, generation=generation, blocks=blocks, size=held * BLOCK)
            )
    return out


def _copies(series: Series) -> float:
    """Bytes of a whole chain, in full copies."""
    full = len(range(0, series.generations, series.full_every))
    return full + (series.generations - full) * series.change_rate


def write_series(file: SeriesFile, seed: int, put: Callable[[bytes], object]) -> Truth:
    """Write the file block by block."""
    state = hashlib.sha256()
    size = 0
    for piece in series_blocks(file, seed):
        put(piece)
        state.update(piece)
        size += len(piece)
    digest = state.digest()
    return Truth(media_type=_MEDIA_TYPE, size=size, sha256=digest, content=digest, exceptions=("unsupported",))


def series_blocks(file: SeriesFile, seed: int) -> Iterator[bytes]:
    """Its bytes, a block at a time."""
    kind = file.series.kind
    if kind == "zeros":
        zeros = bytes(BLOCK)
        yield from (zeros for _ in range(file.blocks))
    elif kind in _CHAINS:
        yield from _chain_blocks(file, seed)
    else:
        make = _random if kind == "random" else _scientific
        for number in range(file.blocks):
            block = make(Dice(derive(seed, kind, file.series.file_bytes, file.number, number)))
            yield block if number else _HEAD + block[len(_HEAD) :]


def _random(dice: Dice) -> bytes:
    return dice.noise(BLOCK)


def _scientific(dice: Dice) -> bytes:
    """A basket of measurements, compressed as such files are: a header, packed values, an index of offsets."""
    values = dice.noise(BLOCK + BLOCK // 3).translate(_readings())
    packed = deflated(values)[: BLOCK - 4096]
    head = b"basket %012d" % dice.below(10**12)
    index = b"".join((i * 97).to_bytes(4, "big") for i in range((BLOCK - len(head) - len(packed)) // 4 + 1))
    return (head + packed + index)[:BLOCK]


@functools.cache
def _readings() -> bytes:
    """A table that leaves six and a half bits of each byte."""
    return bytes(i if i < 64 else (i * 3) // 4 for i in range(256))


class _Ages:
    """The generation that changed each block of a chain last."""

    def __init__(self, series: Series, seed: int, number: int, blocks: int) -> None:
        self._series, self._seed, self._number = series, seed, number
        self.ages = [0] * blocks
        self.generation = 0

    def step(self) -> int:
        """Go on by one generation; blocks that changed."""
        self.generation += 1
        blocks = len(self.ages)
        dice = Dice(derive(self._seed, self._series.kind, self._number, "changes", self.generation))
        wanted = max(1, round(blocks * self._series.change_rate))
        changed = 0
        for _ in range(wanted * 4):
            if changed >= wanted:
                break
            draw = dice.random()
            start = int(blocks * draw * draw)  # some regions change more often than others
            for at in range(start, min(blocks, start + dice.between(1, _RUN), start + wanted - changed)):
                if self.ages[at] != self.generation:
                    self.ages[at] = self.generation
                    changed += 1
        return changed


def _chain_blocks(file: SeriesFile, seed: int) -> Iterator[bytes]:
    ages = _Ages(file.series, seed, file.number, file.blocks)
    for _ in range(file.generation):
        ages.step()
    held = [at for at, age in enumerate(ages.ages) if file.full or age == file.generation]
    if not file.full:
        table = b"".join(at.to_bytes(4, "big") for at in held)[: BLOCK - 16]
        yield (_HEAD + table).ljust(BLOCK, b"\0")
    for at in held:
        block = _content(file, seed, at, ages.ages[at])
        yield block if at else _HEAD + block[len(_HEAD) :]


def _content(file: SeriesFile, seed: int, at: int, age: int) -> bytes:
    """A block as generation `age` wrote it: unused, text or tables, or already compressed."""
    own = Dice(derive(seed, file.series.kind, file.number, "block", at))
    if own.random() >= file.series.used_share and age == 0:
        return bytes(BLOCK)
    dice = Dice(derive(seed, file.series.kind, file.number, "block", at, age))
    if own.chance(0.5):
        return dice.noise(BLOCK)
    text = "\n".join(prose().lines(dice, BLOCK)).encode("ascii")
    return text[:BLOCK].ljust(BLOCK, b" ")
