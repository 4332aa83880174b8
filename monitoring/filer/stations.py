"""The stations of an emulated filer, once a second: where it would tell of its processors, if it were a real one."""

from __future__ import annotations

from core.filer.arbiter import Arbiter
from core.filer.emulation import open_arbiter
from core.filer.load import load_filer
from core.settings import Settings
from monitoring.observations import EMULATED, Observation


class StationSampler:
    """Cumulative counters of each station that has served a call; nothing without an emulated filer.

    The arbiter is attached at the first look, so after the fork of the process that looks. Raises StorageFault.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        model = load_filer(settings.filer)
        self._name = "" if model is None else model.name
        self._arbiter: Arbiter | None = None

    def sample(self) -> list[Observation]:
        if not self._name:
            return []
        if self._arbiter is None:
            self._arbiter = open_arbiter(self._settings)
            assert self._arbiter is not None  # there is a model
        stations = {
            name: {
                "servers": counts.servers,
                "calls": counts.calls,
                "filer_ops": round(counts.filer_ops, 3),
                "busy_s": round(counts.busy_ns / 1e9, 6),
                "waited_s": round(counts.waited_ns / 1e9, 6),
            }
            for name, counts in self._arbiter.snapshot().stations.items()
            if counts.calls
        }
        return [Observation(EMULATED, self._name, {"station": stations})] if stations else []
