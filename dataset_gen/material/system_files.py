"""Files that are on every machine of a kind: the same bytes in every corpus, whatever its seed, for de-NISTing.

Their hashes are listed in `system-files.csv` next to the manifest, in the form of a list of known software files."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

from dataset_gen.rng import Dice, derive
from dataset_gen.workshop import SYSTEM, Workshop

FILE_NAME = "system-files.csv"
COUNT = 240
_SEED = 20_250_105
_FORMATS = ("txt", "html", "png", "gif", "txt", "csv", "jpg", "png")
_FOLDERS = {
    "txt": ("Program Files/Common/Licenses", "Windows/System32/Info"),
    "html": ("Program Files/Office/Help", "Windows/Help"),
    "csv": ("Program Files/Office/Data",),
    "png": ("Program Files/Office/Icons", "Windows/Web/Icons"),
    "gif": ("Windows/Web/Icons",),
    "jpg": ("Windows/Web/Wallpaper",),
}
_MEDIAN = {"txt": 3_000, "html": 5_000, "csv": 4_000, "png": 2_500, "gif": 1_200, "jpg": 30_000}
_INSTALLED = 1_467_331_200  # 2016-07-01


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFile:
    """One system file."""

    number: int
    fmt: str
    folder: str
    stem: str
    size: int  # bytes, about

    @property
    def key(self) -> str:
        """Key that determines the bytes of the file."""
        return f"{SYSTEM}{self.number}"

    @property
    def mtime_ns(self) -> int:
        """Time at which the file was installed."""
        return (_INSTALLED + self.number * 60) * 1_000_000_000


def _entries() -> tuple[SystemFile, ...]:
    out = []
    for number in range(COUNT):
        fmt = _FORMATS[number % len(_FORMATS)]
        dice = Dice(derive(_SEED, number))
        out.append(
            SystemFile(
                number=number,
                fmt=fmt,
                folder=dice.pick(_FOLDERS[fmt]),
                stem=f"{fmt}{number:04d}_{1000 + dice.below(60)}",
                size=dice.size(_MEDIAN[fmt], 1.0, 400, 200_000),
            )
        )
    return tuple(out)


SYSTEM_FILES = _entries()


def system_list(shop: Workshop) -> tuple[frozenset[bytes], str]:
    """Return the SHA-256 of all system files, and the list: a line with SHA-256 and name for each."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(("sha256", "name"))
    hashes = set()
    for file in SYSTEM_FILES:
        digest = shop.document(file.fmt, file.key, file.size).truth.sha256
        hashes.add(digest)
        lines.writerow((digest.hex(), f"{file.stem}.{file.fmt}"))
    return frozenset(hashes), out.getvalue()
