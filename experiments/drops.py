"""What was dropped of this host's caches before or within a run, and what stayed: the cache state of a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from core.residency import Dropped

NOT_DROPPED = "not dropped: caches of the filer itself, of its disks, and of other hosts"
_STAYS = 0.01  # a share of resident bytes up to this counts as cold: pages that are mapped cannot go


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop(Dropped):
    """What one attempt to drop caches did, and when."""

    when: str  # "before" the run, at the barrier into "index", "before the calls" of a replay
    host: str = ""  # of an experiment on several; empty: this command's

    @classmethod
    def of(cls, when: str, dropped: Dropped) -> Self:
        """With its moment."""
        return cls(when=when, **asdict(dropped))

    @property
    def cold(self) -> bool:
        """Whether nothing worth speaking of stayed, as far as is known."""
        return not self.refused and not self.unknown and self.resident_after <= _STAYS * self.bytes

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"seconds": round(self.seconds, 3), "cold": self.cold}


def cache_state(drops: Sequence[Drop], *, asked: bool) -> str:
    """`cold …`, `partly cold: …`, or `unknown` when nothing was dropped; with how much was in memory after a drop."""
    if not asked:
        return "unknown (nothing was dropped; --cold drops what may be dropped)"
    stayed = max((one.resident_after / one.bytes for one in drops if one.bytes), default=0.0)
    if drops and all(one.cold for one in drops):
        where = "every host" if any(one.host for one in drops) else "this host"
        return f"cold on {where}, at most {stayed:.1%} of the bytes in memory after a drop ({NOT_DROPPED})"
    unknown = max((one.unknown for one in drops), default=0)
    refused = max((one.refused for one in drops), default=0)
    return (
        f"partly cold: up to {stayed:.1%} of the bytes stayed in memory, {unknown:,} bytes unknown,"
        f" {refused:,} files refused ({NOT_DROPPED})"
    )
