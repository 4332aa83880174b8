"""What a worker tells once a second of the host it runs on, beside its calls: one place that knows all samplers."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Protocol

from core.settings import Settings
from monitoring.filer.block import BlockSampler
from monitoring.filer.once import HostTurn, OncePerHost
from monitoring.filer.space import SpaceSampler
from monitoring.filer.stations import StationSampler
from monitoring.filer.wire import WireSampler
from monitoring.observations import Observation

log = logging.getLogger(__name__)


class HostSampler(Protocol):
    """Looks at one thing of this host. Several workers of a host see the same and name it alike: the first counts."""

    def sample(self) -> list[Observation]:
        """What there is to see now; must not wait for storage and costs well under a millisecond."""


def host_samplers(settings: Settings) -> list[HostSampler]:
    """Every sampler of this host that has something to look at."""
    turn, storage = HostTurn(settings.scratch), settings.storage
    samplers = (
        WireSampler(storage),
        BlockSampler((storage, settings.scratch)),
        SpaceSampler(storage),
        StationSampler(settings),
    )
    return [OncePerHost(turn, sampler) for sampler in samplers]


class HostSampling:
    """All samplers together; one that fails is told of once and never holds up the others."""

    def __init__(self, samplers: Iterable[HostSampler]) -> None:
        self._samplers = list(samplers)
        self._told: set[int] = set()

    def sample(self) -> list[Observation]:
        """What all of them see now."""
        out: list[Observation] = []
        for number, sampler in enumerate(self._samplers):
            try:
                out += sampler.sample()
            except Exception as error:  # noqa: BLE001 - the calls of this second must go out, whatever a kernel says
                if number not in self._told:
                    self._told.add(number)
                    log.warning("%s failed, its series have gaps: %s", type(sampler).__name__, error)
        return out
