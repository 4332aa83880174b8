"""The files that mutants are made of: real ones, and one of each format of the generator that they lack."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from dataset_gen import faults
from dataset_gen.profile import load_profile
from dataset_gen.workshop import BUILDERS, CONTAINERS, Workshop, extension

REAL_FILES = Path(__file__).parents[3].parent / "shared/data/real-files"
_LARGEST = 1_300_000
_SIZE = 12_000  # bytes of a made document, about
_SEED = 11


@dataclass(frozen=True, slots=True)
class Original:
    """A file that can be read without loss."""

    name: str  # for people: its path, or its builder
    file_name: str
    data: bytes

    @property
    def group(self) -> str:
        """Files of the same sort; each sort gets the same number of mutants."""
        return Path(self.file_name).suffix.lower() or self.file_name


def real() -> list[Original]:
    """The real files, in the order of their paths; none where this machine has none."""
    paths = sorted(p for p in REAL_FILES.rglob("*") if p.is_file() and 0 < p.stat().st_size <= _LARGEST)
    return [Original(str(p.relative_to(REAL_FILES)), p.name, p.read_bytes()) for p in paths]


def made(having: set[str]) -> list[Original]:
    """One document of each builder whose extension is not in `having`, and of each that makes containers."""
    shop = Workshop(load_profile("reference"), _SEED, 0.001)
    out = []
    for fmt in BUILDERS:
        ending = extension(fmt)
        if fmt not in faults.BUILDERS and (fmt in CONTAINERS or f".{ending}" not in having):
            data = shop.document(fmt, f"mutants/{fmt}", _SIZE).data
            out.append(Original(f"builder {fmt}", f"{fmt}.{ending}", data))
    return out


def originals() -> list[Original]:
    """All of them."""
    found = real()
    return found + made({one.group for one in found})


class Turns:
    """Which original is whose: mutant N is made of the next file of sort N modulo the number of sorts."""

    def __init__(self, found: list[Original]) -> None:
        self._sorts: dict[str, list[Original]] = defaultdict(list)
        for one in found:
            self._sorts[one.group].append(one)
        self._order = list(self._sorts.values())

    def original(self, number: int) -> Original:
        turn, sort = divmod(number, len(self._order))
        files = self._order[sort]
        return files[turn % len(files)]
