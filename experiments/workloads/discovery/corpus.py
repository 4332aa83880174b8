"""What an experiment reads: its identity, so that results over different data are never compared."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.jobs.source import PreparedSource
from core.errors import UsageError, read_problem
from core.names import display_name
from core.residency import regular_files

DATASET = "dataset.json"
_KEPT = ("profile", "profile_version", "scale", "seed", "generator_version", "items", "content_hash")


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """The data of an experiment."""

    source: PreparedSource
    root: Path  # the corpus, or the source itself where it is any other directory
    hash: str  # of dataset.json's bytes hash; else `listing:` and a hash over paths and sizes
    raw_bytes: int  # as found now
    files: int
    made: dict[str, Any]  # how the generator made it; empty for any other directory

    def describe(self) -> dict[str, Any]:
        """Plain data for the result."""
        return {
            "path": display_name(self.source.path),
            "hash": self.hash,
            "raw_bytes": self.raw_bytes,
            "files": self.files,
            **self.made,
        }


def look_at(source: PreparedSource) -> Corpus:
    """The corpus behind a source, counted. Raises UsageError when it is empty or its dataset.json is damaged."""
    path = Path(os.fsdecode(source.path))
    digest = hashlib.sha256()
    files = size = 0
    for file in regular_files(path):
        nbytes = file.stat(follow_symlinks=False).st_size
        digest.update(b"%s\0%d\0" % (os.fsencode(file.relative_to(path)), nbytes))
        files, size = files + 1, size + nbytes
    if not size:
        raise UsageError(f"{display_name(source.path)} contains no data; generate some with `edbench corpus generate`")
    root = path.parent if source.corpus else path
    made = _dataset(root / DATASET) if source.corpus else {}
    return Corpus(
        source=source,
        root=root,
        hash=str(made.get("hash") or f"listing:{digest.hexdigest()}"),
        raw_bytes=size,
        files=files,
        made={key: made[key] for key in _KEPT if key in made},
    )


def _dataset(file: Path) -> dict[str, Any]:
    if not file.exists():
        return {}
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"{read_problem(file, error)}; generate the corpus again") from error
