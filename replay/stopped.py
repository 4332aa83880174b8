"""Why a client ends before its script does."""

from __future__ import annotations

from core.errors import RunFailed


class ReplayStopped(RunFailed):
    """Another client of this clone died or gave up, so this one cannot go on; says which."""
