"""The runs of a campaign that are done, so that it can be gone on with and its slices be added up."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.errors import UsageError


class Journal:
    """One line of JSON for each run, in a file of the campaign's own: another seed, corpus, version or choice of faults is
    another campaign."""

    def __init__(self, directory: Path, *, seed: int, corpus: str, version: str, faults: Sequence[str]) -> None:
        identity = json.dumps([seed, corpus, version, list(faults)])
        digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
        self.path = directory / f"campaign-{seed}-{digest}.jsonl"
        directory.mkdir(parents=True, exist_ok=True)

    def runs(self) -> dict[int, dict[str, Any]]:
        """By number."""
        return runs_in(self.path) if self.path.exists() else {}

    def add(self, row: dict[str, Any]) -> None:
        """Write it down at once."""
        with self.path.open("a") as out:
            out.write(json.dumps(row) + "\n")


def runs_in(path: Path) -> dict[int, dict[str, Any]]:
    """Those of a journal, by number; of a run that was done twice the later. A line that was cut short is none. Raises
    UsageError."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not the journal of a chaos campaign: {error}") from error
    runs: dict[int, dict[str, Any]] = {}
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        runs[int(row["number"])] = row
    return runs
