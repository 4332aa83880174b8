"""Candidates for similar texts: MinHash (Broder 1997) in bands (Leskovec, Rajaraman, Ullman: Mining of Massive
Datasets, 3.4).

A signature has HASHES minima over a text's shingles; the expected share of equal minima of two texts is the similarity
of their sets. Signatures are divided into bands of some rows, and texts with an equal band are candidates. The number
of rows is the largest that misses at most MISSED of the pairs at the threshold: fewer candidates mean fewer
comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import rensa

from review.near.shingles import Shingles

HASHES = 128
MISSED = 0.005  # of pairs exactly at the threshold; of those above it fewer
_MOST_ROWS = 16
_SEED = 1
_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(31)
Keys = npt.NDArray[np.uint64]  # texts × bands


@dataclass(frozen=True, slots=True)
class Bands:
    """The division of a signature."""

    rows: int

    @property
    def count(self) -> int:
        """Bands in a signature."""
        return HASHES // self.rows

    def keys(self, sets: Sequence[Shingles]) -> Keys:
        """Return a number of 64 bits for each band of each set; no set may be empty."""
        ends = np.cumsum([0, *map(len, sets)], dtype=np.uint64)
        matrix = rensa.RMinHash.digest_matrix_from_flat_token_hashes(np.concatenate(sets), ends, HASHES, _SEED)
        minima = np.array(matrix.to_rows(), dtype=np.uint64)[:, : self.rows * self.count]
        cut = minima.reshape(len(sets), self.count, self.rows)
        keys = np.zeros((len(sets), self.count), np.uint64)
        for row in range(self.rows):
            keys = (keys ^ cut[:, :, row]) * _ODD
            keys ^= keys >> _SHIFT
        return keys


def bands_for(threshold: float) -> Bands:
    """Return bands with as many rows as the threshold allows."""
    for rows in range(_MOST_ROWS, 1, -1):
        if (1 - threshold**rows) ** (HASHES // rows) <= MISSED:
            return Bands(rows)
    return Bands(1)
