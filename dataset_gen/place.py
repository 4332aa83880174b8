"""Where a corpus is to lie: whether there is room, and whether names stay what they are there."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from core.errors import UsageError
from core.storage.naming import naming_of

_ODD_NAME = 'Re: "What?"'  # DOS' file systems have no such name; NTFS-3G and exFAT's driver say so in different ways


def check_place(directory: Path, raw: int, written: Path) -> None:
    """For so many raw bytes, of which there may be some already. Raises UsageError; leaves nothing there."""
    there = directory
    while not there.exists():
        there = there.parent
    _check_space(there, raw, written)
    _check_names(there)


def _check_space(there: Path, raw: int, written: Path) -> None:
    have = shutil.disk_usage(there).free
    have += sum(f.stat().st_size for f in written.rglob("*") if f.is_file()) if written.exists() else 0
    need = int(raw * 1.05) + 20_000_000
    if have < need:
        raise UsageError(
            f"{there} has {have / 1e9:.2f} GB free, the corpus needs about {need / 1e9:.2f} GB; "
            "free space or use a smaller --scale"
        )


def _check_names(there: Path) -> None:
    with tempfile.TemporaryDirectory(dir=there, prefix=".edbench-names-") as probe:
        if not naming_of(Path(probe)).kept:
            raise _no_place(there, "it ignores the case of names, or changes them")
        try:
            (Path(probe) / _ODD_NAME).touch()
        except OSError as error:
            raise _no_place(there, f"{_ODD_NAME!r} cannot be created there ({error.strerror})") from error


def _no_place(there: Path, why: str) -> UsageError:
    return UsageError(f"{there} cannot hold a corpus, which has names of every kind: {why}; use another file system")
