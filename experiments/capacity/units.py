"""How large the tasks of a phase are for so many slots: as they were, or cut again or put together at the barrier (`sql.recut`)."""

from __future__ import annotations

import heapq
import math
import random

from core.records import FINALISE_LIST, JobOptions
from core.records import Phase as PhaseName
from experiments.capacity.calibration import PhaseLoad
from experiments.capacity.course import MOST_SIZES
from sql.recut import FILES, ITEMS, LEAST, TASKS_A_SLOT

_BATCH = JobOptions()
_MOST_SHARE = 0.95  # of a phase's time with the heaviest files
_FILLED = 1.3  # batches over full ones: a custodian's last batch is what is left
_LISTS = {
    PhaseName.EXPAND.value: FILES,
    PhaseName.FINALISE.value: FINALISE_LIST,
}  # that tasks are cut by; of the others items


def unit_sizes(
    phase: PhaseLoad,
    slots: int,
    dice: random.Random,
    *,
    items: int,
    discovered: int,
    bytes_share: float,
    times: float,
    together: int | None = None,
) -> tuple[int, tuple[float, ...]]:
    """How many, and relative sizes in the order of dispatch, mean 1; fewer sizes than tasks are of as many neighbours each.
    `bytes_share`: of the phase's time that goes with bytes rather than with items; `times`: how often the measured data set
    is to be done; `together`: the tasks that the phase is put together to, whatever the slots.

    Where tasks are cut again, their entries are dealt out in turn, but a loose file stays whole.
    """
    tasks = _tasks(phase, items * times, discovered * times, times)
    wanted = together or TASKS_A_SLOT * slots
    if (
        together is not None and tasks < together and phase.entries
    ):  # the ledger has finer ones than these to put together
        least = LEAST[_LISTS.get(phase.name, ITEMS)]
        together = min(together, max(tasks, int(phase.entries * times) // least))
        return together, (1.0,) * together
    if together is not None and tasks > together:
        drawn = _more(phase.sizes, min(tasks, MOST_SIZES), dice)
        return together, _joined(drawn, min(together, len(drawn)))
    if tasks >= wanted or not phase.entries:
        return tasks, _more(phase.sizes, min(tasks, MOST_SIZES), dice)
    sizes = _more(phase.sizes, tasks, dice)
    parts: list[tuple[float, int]] = []  # size of a part, and of how many tasks it is one
    entries_each = phase.entries * times / len(sizes)
    for size in sizes:
        most = max(1, int(entries_each * size) // LEAST[_LISTS.get(phase.name, ITEMS)])
        number = max(1, min(math.ceil(wanted * size / len(sizes)), most))
        parts += [(size / number, number)] * number
    if len(parts) == len(sizes):
        return tasks, sizes
    shares = _heaviest(phase, items, discovered, bytes_share, times, dice)
    weights = [size * (1.0 - sum(shares)) for size, _ in parts]
    total = sum(size for size, _ in parts)
    for share in shares:  # in whichever part it fell
        weights[dice.choices(range(len(parts)), weights=[size for size, _ in parts])[0]] += share * total
    mean = sum(weights) / len(weights)
    order = sorted(range(len(parts)), key=lambda n: (-parts[n][0], n))  # the ledger knows a part's share of its task
    return len(order), tuple(weights[n] / mean for n in order)


def _tasks(phase: PhaseLoad, items: float, discovered: float, times: float) -> int:
    """How many tasks there are before any is cut again. A larger data set fills its batches better."""
    number = phase.tasks * times
    if times > 1.0 and phase.entries:
        full = max(items / _BATCH.batch_files, discovered / _BATCH.batch_bytes)
        number = min(number, max(_FILLED * full, phase.tasks))
    return max(1, round(number))


def _joined(sizes: tuple[float, ...], number: int) -> tuple[float, ...]:
    """So many of them, about equally heavy, the heaviest first, mean 1."""
    lightest = [0.0] * number
    for size in sorted(sizes, reverse=True):
        heapq.heapreplace(lightest, lightest[0] + size)
    mean = sum(lightest) / number
    return tuple(sorted((weight / mean for weight in lightest), reverse=True))


def _more(sizes: tuple[float, ...], number: int, dice: random.Random) -> tuple[float, ...]:
    """So many, drawn from those there are, in the order that those have."""
    if number == len(sizes):
        return sizes
    places = range(len(sizes))
    drawn = [sizes[place] for place in sorted(dice.choice(places) for _ in range(number))]
    mean = sum(drawn) / number
    return tuple(size / mean for size in drawn)


def _heaviest(
    phase: PhaseLoad, items: int, discovered: int, bytes_share: float, times: float, dice: random.Random
) -> list[float]:
    """Shares of the phase's time that each of the heaviest loose files takes. A larger data set has each of them more
    often; of a smaller one, a part of the measured, it is a matter of luck."""
    if not items or not discovered:
        return []
    out = []
    for count, nbytes in phase.heaviest:
        share = ((1.0 - bytes_share) * count / items + bytes_share * nbytes / discovered) / times
        out += [share] * (int(times) + (dice.random() < times % 1.0))
    return out if sum(out) < _MOST_SHARE else [share * _MOST_SHARE / sum(out) for share in out]
