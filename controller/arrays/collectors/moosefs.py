"""MooseFS: operations of all sessions, as `mfscli -SMO -m 1` prints them (moosefs-cli 3.0, mfscli(1)).

The master counts for each session by hour and starts from 0 with the next one: `-m 1` is the current hour. What a
client's own process answers from its caches never comes to the master; reads and writes are lookups of chunks, the
bytes go to chunk servers.
"""

from __future__ import annotations

_ALL, _NO_COUNTER = "fuse_ops", "getattr-cached"


def asked(text: str) -> dict[str, float]:
    """Ops by name, looking at `.stats` among them. Raises ValueError for what is not that file, or a part of it."""
    lines = text.splitlines()
    if not lines or lines[-1].startswith(_ALL):
        raise ValueError(f"nothing follows the lines of {_ALL}: it was cut off: {text.strip()[:200]!r}")
    told = dict(line.split(": ", 1) for line in lines if line.startswith(_ALL) and ": " in line)
    if _ALL not in told:
        raise ValueError(f"no line begins with {_ALL + ':'!r}: {text.strip()[:200]!r}")
    # lookup.master.positive and the like are parts of lookup
    ops = {name.removeprefix(f"{_ALL}."): int(count) for name, count in told.items() if name.count(".") == 1}
    if sum(ops.values()) != int(told[_ALL]):
        raise ValueError(f"the total, {told[_ALL]}, is not the sum of the ops")
    return {name: float(count) for name, count in ops.items() if name != _NO_COUNTER}


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
    """The numbers of one session. Its mount point, the first field, may contain anything."""
    fields = [field.strip() for field in line.rsplit(SEPARATOR, len(OPS) + 1)]
    if len(fields) != len(OPS) + 2:
        raise ValueError(f"{len(OPS) + 1} numbers are expected: {line[:200]!r}")
    numbers = [int(field) for field in fields[1:]]
    if sum(numbers[:-1]) != numbers[-1]:
        raise ValueError(f"the total is not the sum of the ops: {line[:200]!r}")
    return numbers[:-1]
