"""What a check found."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Level(enum.StrEnum):
    """ok: as it should be. warn: works, but results or comfort suffer. bad: a job cannot run, or not safely."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding; `fix` is what to do, empty only when it is ok."""

    level: Level
    what: str
    fix: str = ""


def ok(what: str) -> Finding:
    """As it should be."""
    return Finding(Level.OK, what)


def warn(what: str, fix: str) -> Finding:
    """Works, but."""
    return Finding(Level.WARN, what, fix)


def bad(what: str, fix: str) -> Finding:
    """Does not work."""
    return Finding(Level.BAD, what, fix)
