"""A discovery to be: one job, or a group over several databases."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import UsageError
from core.passwords import PasswordBank
from core.records import JobOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryPlan:
    """A discovery without its source and locations."""

    options: JobOptions
    name: str = ""  # empty: the source's
    client: str = ""
    project: str = ""
    shard: bool = False  # the custodians are dealt out to the databases
    source_copies: int = 1  # or as many as databases: each job reads a copy of its own
    passwords: PasswordBank | None = None  # tried on encrypted items
    workers: int = 0  # planned; recorded in the result
    slots: int = 0  # of each, likewise


def check_plan(databases: int, *, shard: bool, source_copies: int) -> None:
    """Of a group. Raises UsageError for a plan that cannot be."""
    if databases < 2:
        raise UsageError("a group needs at least two databases", field="databases")
    if source_copies not in (1, databases):
        raise UsageError(
            f"--source-copies is {source_copies}; with {databases} databases use 1 or {databases}",
            field="source_copies",
        )
    if shard and source_copies != 1:
        raise UsageError(
            "--shard and --source-copies exclude each other: no two jobs of a shard read the same file", field="shard"
        )
