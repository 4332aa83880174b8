"""Results for a comparison: only those that check, or, asked for by name, others with a label."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.errors import UsageError
from experiments.package.check import check
from experiments.package.manifest import broken
from experiments.result.codec import FILE, read_result
from experiments.result.schema import Result


def take(paths: Sequence[Path], *, unchecked: bool) -> tuple[list[Result], list[str]]:
    """The results, and a label for each that does not check; without `unchecked` the first of these raises UsageError.

    A path is a package's, or a result's of before packages.
    """
    results = [read_result(path) for path in paths]
    labels = []
    for number, path in enumerate(paths, 1):
        why = doubt(path)
        if why is None:
            continue
        if not unchecked:
            raise UsageError(f"result {number}: {why}; --unchecked accepts it and labels it")
        labels.append(f"result {number}: {why}")
    return results, labels


def unsealed(directory: Path) -> str | None:
    """Why a directory is no package whose files are those of its manifest; None when it is. Nothing is recomputed."""
    try:
        differences = broken(directory)
    except UsageError as error:
        return str(error)
    return f"{directory.name}: {differences[0]}" if differences else None


def doubt(path: Path) -> str | None:
    """Why a result is not to be believed, in one line; None when it checks."""
    if not path.is_dir() and path.name != FILE:
        return f"{path} is not a result package: give its directory"
    directory = path if path.is_dir() else path.parent
    try:
        differences = check(directory).differences
    except UsageError as error:
        return str(error)
    if not differences:
        return None
    more = f" (and {len(differences) - 1:,} more)" if len(differences) > 1 else ""
    return f"{path} fails its check: {differences[0]}{more}"
