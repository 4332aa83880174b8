"""What was asked for with `--hosts`."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import UsageError
from experiments.hosts import MOST_HOSTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked for."""

    hosts: int
    address: str  # of this host, that the others reach
    port: int
    seconds: float  # that the hosts are waited for at first

    def __post_init__(self) -> None:
        if not 1 <= self.hosts <= MOST_HOSTS:
            raise UsageError(f"--hosts is {self.hosts}; it must be from 1 to {MOST_HOSTS}")
