"""A copy of the corpus that one run may spoil, and what is allowed to differ because of it."""

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from controller.jobs.source import MANIFEST
from dataset_gen.truth import manifest as m
from dataset_gen.truth.manifest import read_manifest

DATA = "data"
_PLAIN = (".txt", ".rtf", ".docx", ".xlsx", ".pptx", ".eml", ".msg", ".html", ".pdf", ".zip")


@dataclass(slots=True, kw_only=True)
class Source:
    """What a run's job reads."""

    corpus: Path
    own: bool  # a copy of this run's own
    candidates: tuple[str, ...]  # loose files that a fault may spoil: nothing else depends on them
    spoiled: list[str] = field(default_factory=list)  # of these, and what was put beside them: here anything may differ
    added: list[str] = field(default_factory=list)  # files that the manifest does not have, which must be exceptions

    def path(self, relative: str) -> Path:
        """Of a loose file."""
        return self.corpus / DATA / relative

    def unreadable(self, path: str) -> None:
        """A call on this file or directory, named absolutely, fails: below the source that may become an exception."""
        within = os.path.relpath(path, self.corpus / DATA)
        if within != "." and not within.startswith(".."):
            self.spoiled.append(within)


def candidates_of(corpus: Path) -> tuple[str, ...]:
    """Loose files without a planned fault, none of whose items has a duplicate elsewhere; in a fixed order."""
    rows = list(m.iterate(read_manifest(corpus / MANIFEST)))
    sizes = Counter(row[m.DUPLICATE_GROUP] for row in rows)
    alone: dict[str, bool] = {}
    for row in rows:
        path = str(row[m.CONTAINER_PATH][0])
        group = row[m.DUPLICATE_GROUP]
        fine = row[m.FAULT] is None and (group is None or sizes[group] == 1)
        if row[m.PARENT] < 0:
            fine = fine and path.lower().endswith(_PLAIN) and row[m.BYTES] > 0
        alone[path] = alone.get(path, True) and fine
    return tuple(sorted(path for path, fine in alone.items() if fine))


def copied(corpus: Path, to: Path, candidates: tuple[str, ...]) -> Source:
    """A copy in `to`, which must not be there; contents are copied, so that nothing of the corpus can be spoiled."""
    shutil.copytree(corpus, to, symlinks=True)
    return Source(corpus=to, own=True, candidates=candidates)


def inside(container_path: Iterator[str] | tuple[str, ...], spoiled: list[str]) -> bool:
    """Whether an item is one of these loose files, inside one, or below a directory of them."""
    first = next(iter(container_path), "")
    return any(first == one or first.startswith(f"{one}/") for one in spoiled)


def swap(path: Path, kind: str) -> None:
    """Put something else in its place, in one step."""
    others = path.with_name(path.name + ".swapped")
    if kind == "directory":
        path.unlink()
        path.mkdir()
        return
    if kind == "link":
        os.symlink("/etc/hostname", others)
    else:
        others.write_bytes(b"another file altogether\n" * 40)
    os.replace(others, path)
