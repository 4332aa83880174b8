"""What a write's latency does not say: when the bytes are on the storage."""

from __future__ import annotations

from core.operations import Op
from core.records import FsyncPolicy
from experiments.result.schema import Knee


def bounds_copies(knee: Knee | None, fsync: str) -> str | None:
    """What a bound on `write` is worth under a policy, for the first line; None where there is nothing to remark."""
    if knee is None or Op.WRITE.label not in knee.bounds_us or fsync != FsyncPolicy.NONE.value:
        return None
    return "the bound on write is one on copies into memory (fsync none): close and the flush at the end bring them to the storage"
