"""Samplers of a worker's host, for a report once a second; the one module that knows all of them."""

from __future__ import annotations

import fcntl
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from core.filer.arbiter import Arbiter
from core.filer.emulation import open_arbiter
from core.filer.model import load_filer
from core.mounts import MOUNTINFO, holding, read_mountinfo
from core.names import display_name
from core.settings import Settings
from monitoring.block import BlockSampler, short_boot_id
from monitoring.observations import EMULATED, SPACE, Observation
from monitoring.wire import WireSampler

FRESH_SECONDS = 5.0


def space_of(path: str | os.PathLike[str]) -> dict[str, int]:
    """Bytes and inodes, and those free to ordinary users; raises OSError. File systems without inode tables have 0."""
    room = os.statvfs(path)
    return {
        "bytes": room.f_blocks * room.f_frsize,
        "bytes_free": room.f_bavail * room.f_frsize,
        "inodes": room.f_files,
        "inodes_free": room.f_favail,
    }


def _server_or_device(source: str) -> str:
    """Return the server of an export without its path: containers may have mounted different directories."""
    return display_name(os.fsencode(source.rpartition(":/")[0] or source))


class SpaceSampler:
    """One path's file system. The source is boot id, server or device, and device number, as for wire ops."""

    def __init__(
        self,
        path: Path,
        *,
        boot: str | None = None,
        mountinfo: Path = MOUNTINFO,
        ask: Callable[[Path], dict[str, int]] = space_of,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        mount = holding(os.path.realpath(path), read_mountinfo(mountinfo))
        what = "?" if mount is None else f"{_server_or_device(mount.source)}:{mount.device}"
        self._source = f"{short_boot_id() if boot is None else boot}:{what}"
        self._path = path
        self._ask = ask
        self._monotonic = monotonic
        self._answer: tuple[float, dict[str, int]] | None = None
        self._asking: threading.Thread | None = None

    def sample(self) -> list[Observation]:
        """Return the latest answer and start the next question; empty while the filer has not answered."""
        if self._asking is None or not self._asking.is_alive():
            self._asking = threading.Thread(target=self._fetch, name="space", daemon=True)
            self._asking.start()
        answer = self._answer
        if answer is None or self._monotonic() - answer[0] > FRESH_SECONDS:
            return []
        return [Observation(SPACE, self._source, answer[1])]

    def wait(self, seconds: float) -> None:
        """Wait until the question under way is answered, for at most `seconds`."""
        if self._asking is not None:
            self._asking.join(seconds)

    def _fetch(self) -> None:
        try:
            self._answer = (self._monotonic(), self._ask(self._path))
        except OSError:
            self._answer = None


LOCK = "host-samplers.lock"


class HostSampler(Protocol):
    """Looks at one thing of this host. Several workers of a host see the same and name it alike: the first counts."""

    def sample(self) -> list[Observation]:
        """Return the present observations; must not wait for storage and costs well under a millisecond."""


class HostTurn:
    """Turn of one process of the host to sample, held until it ends; the kernel frees the lock of a dead process."""

    def __init__(self, scratch: Path) -> None:
        self._path = scratch / LOCK
        self._descriptor: int | None = None

    def mine(self) -> bool:
        """Whether it is this process's turn. Without a usable scratch all processes sample."""
        if self._descriptor is not None:
            return True
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            return not isinstance(error, BlockingIOError)  # another reason: a file system without locks
        self._descriptor = descriptor
        return True

    def close(self) -> None:
        """Give up the turn."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class OncePerHost:
    """A sampler that is silent while another worker of the host looks."""

    def __init__(self, turn: HostTurn, sampler: HostSampler) -> None:
        self._turn = turn
        self._sampler = sampler

    def sample(self) -> list[Observation]:
        """Return the sampler's observations, or none if another process has the turn."""
        return self._sampler.sample() if self._turn.mine() else []


class StationSampler:
    """Cumulative counters of each station that has served a call; nothing without an emulated filer.

    The arbiter is attached at the first look, so after the fork of the process that looks. Raises StorageFault."""

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


log = logging.getLogger(__name__)


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
    """All samplers together; a failure of one is reported once and never holds up the others."""

    def __init__(self, samplers: Iterable[HostSampler]) -> None:
        self._samplers = list(samplers)
        self._reported: set[int] = set()

    def sample(self) -> list[Observation]:
        """Return the observations of all samplers."""
        out: list[Observation] = []
        for number, sampler in enumerate(self._samplers):
            try:
                out += sampler.sample()
            except Exception as error:  # noqa: BLE001 - the calls of this second must go out, whatever a kernel returns
                if number not in self._reported:
                    self._reported.add(number)
                    log.warning("%s failed; its series have gaps: %s", type(sampler).__name__, error)
        return out
