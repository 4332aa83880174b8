"""How much slower than on the site the rows have to run, so that this machine keeps up: `--time-scale auto`."""

from __future__ import annotations

import math

from core.errors import UsageError
from core.filer.site import LEAST_TIME, MOST_TIMES

AUTO = "auto"
MOST_SCALE = 100.0
# Of this machine's processors; from 70 % on a run is an overrun. Their speed is that of before the first run, all of them at work; in
# runs it was a fifth lower (0.62 and 0.49), with 120 slots in their caches. At 0.55 the row on two databases took 69 %.
_AIM = 0.48
_STEP = 0.1
# Processor seconds of speed 1 that the busiest row takes: for each second of the site's time, of 120 slots that do little, and of
# the data at 1/500; and for each second that passes here, to watch them. Worked out of runs at 1/500 and 1/2000 (docs/dev/site.md): the
# row on two databases kept two processors of speed 0.49 and 0.50 busy for 69 % at time x 2.1 and 1.1, where the data took 0.68; and two
# of speed 1.24 for 67 % at time x 1 and 52 % at x 1.3, where they took 1.0: not all of the work is faster where the probe is.
_LITTLE, _DATA, _WATCH = 0.42, 1.0, 0.15
_TIMES = 500
# With few processors 120 slots that have to go on at once wait for one, though these are idle for half of the time: two of speed 1.38
# were busy for 38 and 54 % at time x 1 and 1/2000, and waits ended so late that it was an overrun. At x 1.7 and 1/500 none was.
_FEW, _LEAST_OF_FEW = 8, 1.6


def time_scale(asked: str, speed: float, processors: int, times: int) -> float:
    """What was asked for; of `auto` the least, not under 1 (1.6 with few processors), with which so many processors of that speed keep up with data of one in
    `times`. Raises UsageError for what is neither that nor a number, and for a machine that no scale helps."""
    said = said_scale(asked)
    if said is not None:
        return said
    left = _AIM * speed * processors - _WATCH
    needed = work_of(times) / left if left > 0 else math.inf
    if needed > MOST_SCALE:
        raise UsageError(
            f"this machine's {processors} cores of speed {speed:.2f} cannot emulate 120 slots at any time scale;"
            " use a machine with more cores, or set --time-scale K and check the result"
        )
    return max(_LEAST_OF_FEW if processors < _FEW else 1.0, round(math.ceil(round(needed / _STEP, 6)) * _STEP, 1))


def larger_scale(scale: float, busy: float) -> float:
    """What to say instead where a run was an overrun at this one, its processors busy for so much of the time (0 to 1). Where they
    were not, and calls ended late all the same, half as much again."""
    return math.ceil(round(scale * max(busy / _AIM, 1.5) / _STEP, 6)) * _STEP


def work_of(times: int) -> float:
    """Processor seconds for a second of the site's time: more data than at 1/500 take longer, and no more a second."""
    return _LITTLE + _DATA * min(1.0, _TIMES / times)


def said_scale(asked: str) -> float | None:
    """The number that was asked for, None for `auto`; raises UsageError for what is neither."""
    if asked == AUTO:
        return None
    try:
        found = float(asked)
    except ValueError:
        found = math.nan
    if not LEAST_TIME <= found <= MOST_TIMES:
        raise UsageError(
            f"--time-scale is {asked[:40]!r}; it must be {AUTO}, or a number such as 0.5 or 2, from {LEAST_TIME:g} to {MOST_TIMES:g}"
        )
    return found
