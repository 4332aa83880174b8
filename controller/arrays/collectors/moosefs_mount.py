"""MooseFS: what the kernel asked one mount for, as the file `.stats` at its mount point has it (mfsmount 3.0).

Counts since the mount came up. Part of `lookup` is answered by the mount's own process; what the kernel's caches answer never comes to
it. `getattr-cached` is left out: it was seen to fall.
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
