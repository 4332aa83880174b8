"""Which numbers of a load file were had, and under which names their records lie in a source: two things, since numbers
that differ may give one name."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

_BYTES = 16  # of a number in memory, whatever it is: no two that anybody finds have the same


class Numbers:
    """Every number that was asked for."""

    def __init__(self) -> None:
        self._had: set[bytes] = set()

    def had(self, number: str) -> bool:
        """Whether it was asked for before."""
        digest = hashlib.blake2b(number.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()
        if digest in self._had:
            return True
        self._had.add(digest)
        return False


class Names:
    """Names of a directory that are free when they are asked for: which one depends on what came before alone."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._beside = Counter[str]()  # of a name that was not free the last number behind it: nothing is tried twice

    def free(self, stem: str, suffix: str) -> str:
        """This, or with a number between where that is taken. Raises OSError."""
        name = wanted = f"{stem}{suffix}"
        while (self._directory / name).exists():
            self._beside[wanted] += 1
            name = f"{stem}-{self._beside[wanted]}{suffix}"
        return name
