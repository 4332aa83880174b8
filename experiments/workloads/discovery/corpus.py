"""The corpus of an experiment: its identity, so that results over different data are never compared, and a hash of its
content.

Content is read before the first run and after the last, up to SAMPLED bytes. A corpus of more is sampled: files in the
order of the hashes of their paths, so that no user chooses them and two results over the same data chose the same, and
of a file over WHOLE bytes so many blocks at even distances. A generated corpus is compared with its manifest file by
file. Limit: what is not in the sample may differ; the result states how much is in it."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.jobs.source import PreparedSource
from core.errors import UsageError, reading_errors
from core.names import display_name
from core.residency import regular_files
from dataset_gen.truth import manifest as m

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
        """Return plain data for the result."""
        return {
            "path": display_name(self.source.path),
            "hash": self.hash,
            "raw_bytes": self.raw_bytes,
            "files": self.files,
            **self.made,
        }


def look_at(source: PreparedSource) -> Corpus:
    """Return the corpus of a source, counted. Raises UsageError if it is empty or its dataset.json is damaged."""
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
    with reading_errors(file, "; generate the corpus again"):
        made = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(made, dict):
            raise ValueError("it is not an object")
        return made


SAMPLED = 2_000_000_000  # bytes
WHOLE = 64_000_000
_BLOCK = 1_000_000
_BLOCKS = WHOLE // _BLOCK


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A hash over paths, sizes and contents, and how much of the corpus it covers."""

    hash: str
    files: int
    of_files: int
    bytes: int
    of_bytes: int


def content_of(corpus: Corpus, *, most: int = SAMPLED) -> Content:
    """Hash the content of a corpus. Raises UsageError for a generated corpus with a file that differs from its
    manifest."""
    data = os.fsdecode(corpus.source.path)
    sizes = {os.fsencode(file.relative_to(data)): file.lstat().st_size for file in regular_files(Path(data))}
    known = _known(corpus)
    digest, files, nbytes = hashlib.sha256(), 0, 0
    for path in sorted(sizes, key=lambda path: hashlib.sha256(path).digest()):
        if files and nbytes + min(sizes[path], WHOLE) > most:
            break
        hashed = _file(os.path.join(os.fsencode(data), path), sizes[path])
        if known is not None and sizes[path] <= WHOLE and known.get(path) != hashed:
            raise UsageError(
                f"{display_name(path)} of {corpus.root} differs from its manifest; `edbench corpus check` lists all differences"
            )
        digest.update(b"%s\0%d\0%s" % (path, sizes[path], hashed))
        files, nbytes = files + 1, nbytes + min(sizes[path], WHOLE)
    return Content(
        hash=digest.hexdigest(), files=files, of_files=len(sizes), bytes=nbytes, of_bytes=sum(sizes.values())
    )


def _known(corpus: Corpus) -> dict[bytes, bytes] | None:
    """Return the hashes of a generated corpus by path; None for any other directory."""
    if not corpus.made or corpus.source.manifest is None:
        return None
    table = m.read_manifest(corpus.root)
    loose = table.filter([depth == 0 for depth in table[m.DEPTH].to_pylist()])
    columns: Any = (loose[name].to_pylist() for name in (m.ORDINAL, m.SHA256))
    return dict(zip(*columns, strict=True))


def _file(path: bytes, size: int) -> bytes:
    """Return the SHA-256 of a file or of its blocks; for an unreadable file, of the reason."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            if size <= WHOLE:
                return hashlib.file_digest(file, "sha256").digest()
            for number in range(_BLOCKS):  # the first of the file and the last among them
                file.seek(number * (size - _BLOCK) // (_BLOCKS - 1))
                digest.update(file.read(_BLOCK))
    except OSError as error:
        return hashlib.sha256(f"unreadable: {error.errno}".encode()).digest()
    return digest.digest()
