"""Whether storage keeps names as they are written: some list them otherwise, take two for one, or refuse them."""

from __future__ import annotations

import os
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

_WRITTEN, _OTHER_CASE = "Name", "nAME"


@dataclass(frozen=True, slots=True)
class Naming:
    """What storage made of a name with capitals."""

    written: str
    listed: str
    case_matters: bool

    @property
    def kept(self) -> bool:
        """Each name stays what it is, and is one of its own."""
        return self.listed == self.written and self.case_matters


def naming_of(empty: Path) -> Naming:
    """Asked of an empty directory, which is left empty. Raises OSError."""
    path = empty / _WRITTEN
    path.touch()
    try:
        (listed,) = os.listdir(empty)
        return Naming(written=_WRITTEN, listed=listed, case_matters=not (empty / _OTHER_CASE).exists())
    finally:
        path.unlink()


def strays(listed: AbstractSet[str], known: AbstractSet[str]) -> set[str]:
    """Of files that were listed those that are none of the known ones. Storage that does not tell upper and lower case apart may
    list a file in another case than it was made: it stands for a known one that is not listed itself."""
    missing = {path.lower() for path in known - listed}
    return {path for path in listed - known if path.lower() not in missing}
