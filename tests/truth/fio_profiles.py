"""Storage tests through fio (`edbench bench storage`) on storage whose answer is known, and dd(1) beside them.

The emulated filer delays nothing that fio does, so the limit is the block layer's: a loop device under blkio.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loads import Heard, _hear
from testbeds import Place

_COPIED = re.compile(r"^(\d+) bytes .* copied, ([0-9.]+) s", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FioProfile:
    """A profile at these settings. The last point's first run gets what is told of the whole: `found`, the point of case 6
    that answers the search; `dd_mb_per_s`, where dd reads a file of the same size there."""

    name: str
    settings: tuple[str, ...]
    dd_bytes: int = 0  # 0: without dd

    def hear(self, place: Place, work: Path) -> Heard:
        """In a directory of its own there."""
        target, said = place.directory / "profile", work / "result.json"
        target.mkdir()
        given = [word for one in self.settings for word in ("--set", one)]
        command = ["bench", "storage", "--repeats", "1", self.name, "--path", str(target), "--seed", "1", *given]
        heard = _hear(place, work, [*command, *place.arguments], said)
        if heard.status or not heard.document:
            return heard
        document = heard.document
        run = document["points"][-1]["repeats"][0]
        run["found"] = _found(document)
        if self.dd_bytes:
            run["dd_mb_per_s"] = _dd(place.directory / "dd", self.dd_bytes)
        return replace(heard, document=document)


def _found(document: Mapping[str, Any]) -> dict[str, float]:
    """The search's answer: figures and load of the highest point of case 6 up to which all kept the bound."""
    best: dict[str, float] = {}
    bound = document["conditions"]["configuration"]["settings"].get("most_ms", 0.0) * 1000
    searched = [point for point in document["points"] if point["at"].get("case") == 6]
    for point in sorted(searched, key=lambda point: point["at"]["outstanding"]):
        figures = {name: estimate["median"] for name, estimate in point["figures"].items()}
        if figures["mean_us"] > bound:
            break
        best = figures | {"outstanding": point["at"]["outstanding"] * point["at"]["volumes"]}
    return best


def _dd(file: Path, size: int) -> float:
    """MB/s by dd's own totals, of a file that is on the storage and nowhere else."""
    write = ["dd", "if=/dev/urandom", f"of={file}", "bs=1M", f"count={size >> 20}", "conv=fsync"]
    forget = ["dd", f"of={file}", "oflag=nocache", "conv=notrunc,fdatasync", "count=0"]
    read = ["dd", f"if={file}", "of=/dev/null", "bs=1M"]
    for command in (write, forget, read):
        done = subprocess.run(
            command, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}, capture_output=True, text=True, check=True
        )
    copied = _COPIED.search(done.stderr)
    if copied is None:
        raise RuntimeError(f"dd said {done.stderr!r}")
    return int(copied[1]) / float(copied[2]) / 1e6
