"""Space and inodes of the file system under the storage root, as observations once a second.

Asking is a call to the filer, and one that does not answer would hold the asker for ever: a thread of its own asks,
and `sample` never waits. What was not asked anew within `FRESH_SECONDS` is not told as if it were now.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from core.mounts import MOUNTINFO, holding, read_mountinfo
from core.names import display_name
from monitoring.filer.boot import short_boot_id
from monitoring.observations import SPACE, Observation

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
    """Of an export the server alone: containers may have mounted different directories of it."""
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
        """The latest answer, and ask for the next; empty until there is one and when the filer is silent."""
        if self._asking is None or not self._asking.is_alive():
            self._asking = threading.Thread(target=self._fetch, name="space", daemon=True)
            self._asking.start()
        answer = self._answer
        if answer is None or self._monotonic() - answer[0] > FRESH_SECONDS:
            return []
        return [Observation(SPACE, self._source, answer[1])]

    def wait(self, seconds: float) -> None:
        """Until the question that is under way is answered, for at most so long."""
        if self._asking is not None:
            self._asking.join(seconds)

    def _fetch(self) -> None:
        try:
            self._answer = (self._monotonic(), self._ask(self._path))
        except OSError:
            self._answer = None
