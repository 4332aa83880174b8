"""MooseFS: what the kernel asked one mount for, as the file `.stats` at its mount point has it (mfsmount 3.0).

Counts since the mount came up. `getattr-cached` and part of `lookup` are answered by the mount's own process; what the kernel's
caches answer never comes to it.
"""

from __future__ import annotations

_ALL = "fuse_ops"


def asked(text: str) -> dict[str, float]:
    """Ops by name, looking at `.stats` among them. Raises ValueError for what is not that file, or a part of it."""
    told = dict(line.split(": ", 1) for line in text.splitlines() if line.startswith(_ALL) and ": " in line)
    if _ALL not in told:
        raise ValueError(f"no line begins with {_ALL + ':'!r}: {text.strip()[:200]!r}")
    # lookup.master.positive and the like are parts of lookup
    ops = {name.removeprefix(f"{_ALL}."): int(count) for name, count in told.items() if name.count(".") == 1}
    if sum(ops.values()) != int(told[_ALL]):
        raise ValueError(f"the total, {told[_ALL]}, is not the sum of the ops")
    return {name: float(count) for name, count in ops.items()}
