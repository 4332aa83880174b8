"""How fast a processor of this machine is, against the one that emulated sites are stated for.

A site says how many seconds of an emulated core a processor second stands for. Machines differ, and one machine differs from
hour to hour where others share its cores, so that the second is one of a processor of speed 1: that which takes `REFERENCE_S` for a
fixed piece of work, of the kind that slots do: text taken apart in Python, hashed, inflated.
"""

from __future__ import annotations

import hashlib
import select
import statistics
import subprocess
import sys
import time
import zlib
from collections import deque
from collections.abc import Callable
from typing import Any

REFERENCE_S = 0.00047  # of a piece; the processor that the numbers of our sites were found with
_FIRST = 15  # looks before the first speed is told: a sixth of a second
_LATEST = 15  # looks that the speed is the median of: one of them, or a few, say more about the neighbours
_PIECES = 3  # of one look
_AT_WORK = 100  # looks at a speed that is to hold for a study: half a second and more
_TEXT = b"".join(b"X-Field-%d: part %d of %d; charset=utf-8; name=%x\r\n" % (n, n * 7, n, n**5) for n in range(400))
_BULK = _TEXT * 4
_PACKED = zlib.compress(_BULK, 6)


def probe() -> float:
    """Processor seconds of this thread for a piece of the work, its caches warm; some milliseconds in all."""
    _work()
    return statistics.median(_timed() for _ in range(_PIECES))


def speed_at_work(processors: int, probe: Callable[[], float] = probe) -> float:
    """Speed of one of so many processors while the others work too. One that works alone is quicker, up to twice where two are
    threads of one core. Some seconds."""
    others = [_other() for _ in range(processors - 1)]
    try:
        for other in others:
            assert other.stdout is not None
            other.stdout.readline()  # it works now
        return REFERENCE_S / statistics.median(probe() for _ in range(_AT_WORK))
    finally:
        for other in others:
            other.communicate()  # closes what it waits for


def _other() -> subprocess.Popen[bytes]:
    code = f"from {__name__} import work_until_left; work_until_left()"
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def work_until_left() -> None:
    """Keep a processor busy until standard input ends, as it does with whoever opened it."""
    _work()
    print(flush=True)  # noqa: T201  # to the process that waits for it
    while not select.select([sys.stdin], [], [], 0)[0]:
        _work()


def _timed() -> float:
    before = time.thread_time()
    _work()
    return time.thread_time() - before


def _work() -> bytes:
    fields: dict[bytes, list[bytes]] = {}
    for line in _TEXT.splitlines():
        name, _, value = line.partition(b":")
        fields[name.lower()] = [part.strip() for part in value.split(b";")]
    return hashlib.sha256(zlib.decompress(_PACKED) + b" ".join(fields)).digest()


class SpeedMeter:
    """Looks at this machine's speed now and then; `look` about once a second, while slots work: what they share it with, one
    another too, makes their processor seconds dearer, and the probe's alike."""

    def __init__(self, probe: Callable[[], float] = probe) -> None:
        self._probe = probe
        self._latest = deque((probe() for _ in range(_FIRST)), maxlen=_LATEST)
        self._told = [self.speed]

    @property
    def speed(self) -> float:
        """Now; 1 is the processor that sites are stated for, 0.5 one that takes twice the time."""
        return REFERENCE_S / statistics.median(self._latest)

    def look(self) -> float:
        """Once more; the speed then."""
        self._latest.append(self._probe())
        self._told.append(self.speed)
        return self.speed

    def to_json(self) -> dict[str, Any]:
        """For a result: the median of what was told, and how far it went."""
        return {
            "median": round(statistics.median(self._told), 4),
            "lowest": round(min(self._told), 4),
            "highest": round(max(self._told), 4),
        }
