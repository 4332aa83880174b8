"""Lists of known software files: files in `hash-lists` of the storage root and in EDBENCH_HASH_LISTS."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.names import display_name
from web.context import WebContext
from web.errors import FieldErrors

FOLDER = "hash-lists"
_MOST = 1_000


@dataclass(frozen=True, slots=True)
class Choice:
    """A list that can be chosen. Its id is the number of its directory and its name."""

    id: str
    path: Path
    bytes: int

    @property
    def name(self) -> str:
        """For display."""
        return display_name(os.fsencode(self.path.name))


def places(context: WebContext) -> list[Path]:
    """The directories that may contain lists."""
    return [context.settings.storage / FOLDER, *context.hash_lists]


def list_hash_lists(context: WebContext) -> list[Choice]:
    """Regular files in these directories, without links."""
    out: list[Choice] = []
    for number, directory in enumerate(places(context)):
        try:
            with os.scandir(directory) as entries:
                files = sorted((e.name, e.stat().st_size) for e in entries if e.is_file(follow_symlinks=False))
        except OSError:  # missing, or not readable by this user
            continue
        out += [
            Choice(f"{number}:{display_name(os.fsencode(name))}", directory / name, size)
            for name, size in files
            if not name.startswith(".")
        ]
    return out[:_MOST]


def chosen_lists(context: WebContext, wanted: Sequence[str]) -> list[Path]:
    """The files with these ids, which are looked up and never used as paths. Raises FieldErrors."""
    known = {choice.id: choice.path for choice in list_hash_lists(context)}
    for one in wanted:
        if one not in known:
            raise FieldErrors(
                {"lists": f"list {one[:200]!r} does not exist; GET /api/v1/hash-lists shows the available ones"}
            )
    return [known[one] for one in wanted]
