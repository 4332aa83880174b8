"""Check that a corpus is whole and genuine: every loose file is hashed again and compared with the manifest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from core.errors import UsageError
from core.names import display_name
from dataset_gen.corpus import DATA, DESCRIPTION, read_json
from dataset_gen.material.system_files import FILE_NAME as SYSTEM_LIST
from dataset_gen.truth import manifest as m
from dataset_gen.truth.facts import hash_of

# (profile, version, scale, seed) → `hash` of dataset.json
PUBLISHED: dict[tuple[str, int, float, int], str] = {
    ("reference", 1, 0.01, 1): "22e60c06a53f0e204a32ae93c10eb9781130c807dcac39361eb7c617051af66a",
}


_AT_ONCE = 200  # files for a process in one go
Progress = Callable[[int, int], None]  # bytes read, bytes to read
Known = tuple[bytes, int, bytes, bytes]  # path, size, SHA-256, content


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference from the manifest or description."""

    what: str  # missing, extra, changed, unreadable, dataset.json, manifest
    where: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Result of a check of a corpus."""

    description: dict[str, Any]
    files: int
    read: int  # bytes
    published: bool  # there is a published hash, and the corpus has it
    differences: tuple[Difference, ...]


def check_corpus(directory: Path, processes: int, progress: Progress) -> Checked:
    """Check a corpus. Raises UsageError if the directory contains none."""
    if not (directory / DESCRIPTION).is_file():
        raise UsageError(f"{directory} is not a corpus: it has no {DESCRIPTION}")
    description = read_json(directory / DESCRIPTION)
    table = m.read_manifest(directory)
    loose = table.filter([depth == 0 for depth in table[m.DEPTH].to_pylist()])
    columns: Any = (loose[name].to_pylist() for name in (m.ORDINAL, m.BYTES, m.SHA256, m.CONTENT))
    known: list[Known] = list(zip(*columns, strict=True))
    differences = [*_of_description(description, known, table.num_rows), *_of_list(directory, table)]
    data = os.fsencode(directory / DATA)
    there = {os.path.relpath(os.path.join(folder, name), data) for folder, _, names in os.walk(data) for name in names}
    expected = {path for path, _, _, _ in known}
    differences += [Difference("missing", display_name(path)) for path in sorted(expected - there)]
    differences += [Difference("extra", display_name(path)) for path in sorted(there - expected)]
    total, done = sum(size for _, size, _, _ in known), 0
    for batch, wrong in _hashed(data, [entry for entry in known if entry[0] in there], processes):
        differences += wrong
        done += sum(size for _, size, _, _ in batch)
        progress(done, total)
    key: Any = tuple(description.get(name) for name in ("profile", "profile_version", "scale", "seed"))
    published = PUBLISHED.get(key)
    if published not in (None, description.get("hash")):
        differences.append(Difference(DESCRIPTION, "hash", f"is not the published one, {published}"))
    return Checked(
        description=description,
        files=len(known),
        read=done,
        published=published is not None and published == description.get("hash"),
        differences=tuple(differences),
    )


def _of_description(description: dict[str, Any], known: list[Known], items: int) -> Iterator[Difference]:
    """Yield the differences between dataset.json and the manifest."""
    derived = {
        "items": items,
        "loose_files": len(known),
        "raw_bytes": sum(size for _, size, _, _ in known),
        "hash": hash_of(b"".join(hashlib.sha256(path + b"\0" + digest).digest() for path, _, digest, _ in known)),
        "content_hash": hash_of(
            b"".join(hashlib.sha256(path + b"\0" + content).digest() for path, _, _, content in known)
        ),
    }
    for key, value in derived.items():
        if description.get(key) != value:
            yield Difference(DESCRIPTION, key, f"is {description.get(key)}, the manifest gives {value}")


def _of_list(directory: Path, table: Any) -> Iterator[Difference]:
    """Yield the differences between the list of system files and the flags of the manifest."""
    try:
        lines = (directory / SYSTEM_LIST).read_text(encoding="utf-8").splitlines()[1:]
        listed = {bytes.fromhex(line.partition(",")[0]) for line in lines}
    except (OSError, ValueError) as error:
        yield Difference("unreadable", SYSTEM_LIST, str(error))
        return
    flags, hashes = table[m.SYSTEM].to_pylist(), table[m.SHA256].to_pylist()
    wrong = sum(flag != (digest in listed) for flag, digest in zip(flags, hashes, strict=True))
    if wrong:
        yield Difference(m.FILE_NAME, m.SYSTEM, f"differs from {SYSTEM_LIST} in {wrong:,} items")


def _hashed(data: bytes, known: list[Known], processes: int) -> Iterator[tuple[list[Known], list[Difference]]]:
    batches = [known[start : start + _AT_ONCE] for start in range(0, len(known), _AT_ONCE)]
    if processes == 1 or len(batches) < 2:
        for batch in batches:
            yield batch, _check_files(data, batch)
        return
    with ProcessPoolExecutor(min(processes, len(batches)), mp_context=get_context("spawn")) as pool:
        results = pool.map(_check_files, [data] * len(batches), batches)
        yield from zip(batches, results, strict=True)


def _check_files(data: bytes, batch: list[Known]) -> list[Difference]:
    out = []
    for path, size, digest, _ in batch:
        try:
            with open(os.path.join(data, path), "rb") as file:
                have = os.fstat(file.fileno()).st_size
                same = have == size and hashlib.file_digest(file, "sha256").digest() == digest
        except OSError as error:
            out.append(Difference("unreadable", display_name(path), error.strerror or str(error)))
            continue
        if not same:
            why = f"{have:,} bytes instead of {size:,}" if have != size else "other bytes"
            out.append(Difference("changed", display_name(path), why))
    return out
