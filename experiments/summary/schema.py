"""`summary.json`, schema `edbench-summary/1`: which tests were run, and where each one's package lies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import msgspec

from core.errors import RunFailed, UsageError
from core.plain import unambiguous
from core.reading import read_problem
from experiments.result.codec import decode, read_result
from experiments.result.schema import Result

SCHEMA: Final = "edbench-summary/1"
FILE, PACKAGES = "summary.json", "packages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A test."""

    name: str  # a profile, or "discovery"
    report: str  # whose it is: "R2"; empty: ours
    why_not: str | None = None  # it was not measured; None: its package lies under its name below `packages/`


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All tests, in the order in which they are shown."""

    schema: Literal["edbench-summary/1"] = SCHEMA
    run_id: str
    created: float  # wall clock, seconds since the epoch
    edbench: str  # the version that made it
    paths: tuple[str, ...]
    entries: tuple[Entry, ...]


def write_summary(summary: Summary, directory: Path) -> None:
    """Raises RunFailed."""
    try:
        text = json.dumps(msgspec.to_builtins(summary), indent=1, ensure_ascii=False)
        (directory / FILE).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise RunFailed(f"{directory}: {error.strerror}") from error


def read_summary(directory: Path) -> Summary:
    """Raises UsageError."""
    try:
        summary = decode(Summary, unambiguous((directory / FILE).read_text(encoding="utf-8")), "summary")
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(read_problem(FILE, error)) from error
    if any("/" in entry.name or entry.name in ("", ".", "..") for entry in summary.entries):
        raise UsageError(f"{FILE}: the name of a test must not be a path")
    return summary


def package_of(directory: Path, entry: Entry) -> Path:
    """Where it lies."""
    return directory / PACKAGES / entry.name


def results_of(directory: Path, summary: Summary) -> Mapping[str, Result]:
    """By the names of the tests, of those that were measured; raises UsageError."""
    return {entry.name: read_result(package_of(directory, entry)) for entry in summary.entries if entry.why_not is None}
