"""Compressibility and duplicate blocks of a corpus, from blocks that are sampled by content.

One block in sixteen is taken, by its CRC-32: of a block that occurs in many places all copies are taken or none, so the
share of duplicates in the sample is that of all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dataset_gen.made import Truth
from dataset_gen.material.text import prose
from dataset_gen.mix import Series
from dataset_gen.packing import crc32, deflated
from dataset_gen.rng import Dice, derive

BLOCK = 65_536  # bytes
_CHAINS = ("backup", "vm-image")
_RUN = 12  # changed blocks are adjacent, in runs of up to so many
_MEDIA_TYPE = "application/octet-stream"
_HEAD = b"EDBENCH\0"  # bytes at which no known format begins


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
        """Whether the file has all blocks."""
        return self.generation % self.series.full_every == 0

    @property
    def name(self) -> str:
        """Path of the file below a custodian's directory."""
        if self.series.kind not in _CHAINS:
            ending = "root" if self.series.kind == "scientific" else "bin"
            return f"{self.series.kind}/{self.number // 100:03d}/{self.series.kind}-{self.number:05d}.{ending}"
        if self.series.kind == "backup":
            return f"backup/job {self.number:03d}/{self.generation:03d} {'full' if self.full else 'incremental'}.bak"
        return f"machines/vm{self.number:03d}/{self.generation:03d}.img"


def plan_series(series: Series, seed: int, budget: float) -> list[SeriesFile]:
    """Plan files of `budget` bytes together, in chains of the series' generations; small budgets get small files."""
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
    """Return the bytes of a whole chain, in full copies."""
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
    """Yield the bytes of a file, a block at a time."""
    kind = file.series.kind
    if kind == "zeros":
        zeros = bytes(BLOCK)
        yield from (zeros for _ in range(file.blocks))
    elif kind in _CHAINS:
        yield from _chain_blocks(file, seed)
    else:
        for number in range(file.blocks):
            dice = Dice(derive(seed, kind, file.series.file_bytes, file.number, number))
            block = dice.noise(BLOCK) if kind == "random" else _scientific(dice)
            yield block if number else _HEAD + block[len(_HEAD) :]


# A table that leaves six and a half bits of each byte.
_READINGS = bytes(i if i < 64 else (i * 3) // 4 for i in range(256))


def _scientific(dice: Dice) -> bytes:
    """Return a basket of measurements, compressed as such files are: a header, packed values, an index of offsets."""
    values = dice.noise(BLOCK + BLOCK // 3).translate(_READINGS)
    packed = deflated(values)[: BLOCK - 4096]
    head = b"basket %012d" % dice.below(10**12)
    index = b"".join((i * 97).to_bytes(4, "big") for i in range((BLOCK - len(head) - len(packed)) // 4 + 1))
    return (head + packed + index)[:BLOCK]


class _Ages:
    """The generation that changed each block of a chain last."""

    def __init__(self, series: Series, seed: int, number: int, blocks: int) -> None:
        self._series, self._seed, self._number = series, seed, number
        self.ages = [0] * blocks
        self.generation = 0

    def step(self) -> int:
        """Advance by one generation; returns the number of changed blocks."""
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
    """Return a block as generation `age` wrote it: unused, text or tables, or already compressed."""
    own = Dice(derive(seed, file.series.kind, file.number, "block", at))
    if own.random() >= file.series.used_share and age == 0:
        return bytes(BLOCK)
    dice = Dice(derive(seed, file.series.kind, file.number, "block", at, age))
    if own.chance(0.5):
        return dice.noise(BLOCK)
    text = "\n".join(prose().lines(dice, BLOCK)).encode("ascii")
    return text[:BLOCK].ljust(BLOCK, b" ")


SIZE = 4096  # bytes of a block
_ONE_IN = 16
_COMPRESSED_ONE_IN = 16  # of those taken
_ZEROS = bytes(SIZE)
_ZEROS_CHECK = crc32(_ZEROS)
_AT_ONCE = 256 * SIZE


@dataclass(slots=True)
class Blocks:
    """Counts of the blocks of some files."""

    blocks: int = 0
    zero: int = 0
    plain: int = 0  # bytes that were compressed
    packed: int = 0  # bytes that came out
    digests: list[int] = field(default_factory=list)

    def read(self, path: bytes) -> None:
        """Count the whole blocks of a file."""
        with open(path, "rb", buffering=0) as file:
            while data := file.read(_AT_ONCE):
                self.take(data)

    def take(self, data: bytes) -> None:
        """Count the whole blocks of data that begin at a block."""
        check = crc32
        self.blocks += len(data) // SIZE
        for start in range(0, len(data) - SIZE + 1, SIZE):
            block = data[start : start + SIZE]
            checksum = check(block)
            if not checksum % _ONE_IN or checksum == _ZEROS_CHECK:
                self._sample(block, checksum)

    def _sample(self, block: bytes, check: int) -> None:
        if check == _ZEROS_CHECK and block == _ZEROS:
            self.zero += 1
            return
        if check % _ONE_IN:
            return
        self.digests.append(int.from_bytes(hashlib.blake2b(block, digest_size=6).digest(), "big"))
        if check // _ONE_IN % _COMPRESSED_ONE_IN == 0:
            self.plain += SIZE
            self.packed += min(SIZE, len(deflated(block)))

    def add(self, other: Blocks) -> None:
        """Add the counts of another part."""
        self.blocks += other.blocks
        self.zero += other.zero
        self.plain += other.plain
        self.packed += other.packed
        self.digests += other.digests

    def to_json(self) -> dict[str, Any]:
        """Return the shares, as `dataset.json` has them."""
        taken = len(self.digests)
        return {
            "bytes": SIZE,
            "whole_blocks": self.blocks,
            "zero_share": round(self.zero / self.blocks, 4) if self.blocks else 0.0,
            "taken": taken,
            "duplicate_share": round(1 - len(set(self.digests)) / taken, 4) if taken else 0.0,
            "compressed_to": round(self.packed / self.plain, 4) if self.plain else 1.0,
        }
