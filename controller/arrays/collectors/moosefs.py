"""MooseFS: operations of all sessions, as `mfscli -SMO -m 1` prints them (moosefs-cli 3.0, mfscli(1)).

The master counts for each session by hour and begins anew with the next one: `-m 1` is the hour that it is. What a client's own
process answers from its caches never comes to the master; reads and writes are lookups of chunks, the bytes go to chunk servers.
"""

from __future__ import annotations

OPS = (
    *("statfs", "getattr", "setattr", "lookup", "mkdir", "rmdir", "symlink", "readlink", "mknod", "unlink", "rename"),
    *("link", "readdir", "open", "read", "write"),
)  # in the order of mfscli's columns
_TITLE = "active mounts, operations:"
SEPARATOR = ","


def operations(text: str) -> dict[str, float]:
    """Ops by name, over all sessions. Raises ValueError for what is not that table."""
    rows = [row for line in text.splitlines() if line.startswith(_TITLE) and (row := _row(line))]
    if not rows:
        raise ValueError(f"no line begins with {_TITLE!r}: {text.strip()[:200]!r}")
    return {name: float(sum(row[place] for row in rows)) for place, name in enumerate(OPS)}


def _row(line: str) -> list[int]:
    """The numbers of one session: its mount point, which stands before them, may hold anything."""
    fields = [field.strip() for field in line.rsplit(SEPARATOR, len(OPS) + 1)]
    if len(fields) != len(OPS) + 2:
        raise ValueError(f"{len(OPS) + 1} numbers are expected: {line[:200]!r}")
    numbers = [int(field) for field in fields[1:]]
    if sum(numbers[:-1]) != numbers[-1]:
        raise ValueError(f"the total is not the sum of the ops: {line[:200]!r}")
    return numbers[:-1]
