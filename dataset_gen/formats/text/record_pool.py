"""Pools of records: what consists of many small pieces (log lines, rows, functions) is made once a process, then sliced.

A document is a sequence of stretches of its pool, so it costs what copying memory costs. Pools do not depend on the
corpus's seed; which stretches a document gets does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from dataset_gen.rng import Dice

_SEED = 20_250_106
_LONGEST = 24_000  # bytes of a stretch, about


@dataclass(frozen=True, slots=True)
class RecordPool:
    """Records one after the other, and where each begins; the last entry is the end."""

    data: bytes
    starts: tuple[int, ...]

    def take(self, dice: Dice, size: int) -> list[bytes]:
        """Stretches of whole records with about `size` bytes in all, at least one record; over or under by a record, and
        by as much as the records of the last stretch are longer than the average."""
        data, starts = self.data, self.starts
        count = len(starts) - 1
        average = max(1, starts[-1] // count)
        out: list[bytes] = []
        left = size
        while left > average // 2 or not out:
            most = max(1, min(left, _LONGEST) // average)
            wanted = most if most < 4 else dice.between(most // 2, most)
            first = dice.below(max(1, count - wanted))
            piece = data[starts[first] : starts[min(first + wanted, count)]]
            out.append(piece)
            left -= len(piece)
        return out


def make_pool(name: str, size: int, record: Callable[[Dice, int], str]) -> RecordPool:
    """About `size` bytes of records; `record` makes number N of them, line break included."""
    dice = Dice(_SEED + int.from_bytes(name.encode(), "big"))
    records: list[bytes] = []
    total = 0
    while total < size:
        records.append(record(dice, len(records)).encode("utf-8"))
        total += len(records[-1])
    return RecordPool(b"".join(records), (0, *accumulate(map(len, records))))
