"""Which target path each node lies on, and whether clones share it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import repeat

import numpy as np

from core.errors import UsageError
from replay.plan import ReplayPlan
from replay.survey import CHANGED, KEEPS_CHILDREN, WRITTEN, Survey
from traces.model import NO_NODE, NodeKind

_MOST_SPLITS = 1_000


class Spread:
    """Per node, 3 bytes each.

    `places`: which of the paths; a clone's number is added to it, so that clones begin on different ones. Subtrees stay
    whole, the busiest first on the path with the least calls so far. One with more than half a path's share of the calls
    is divided into the subtrees below it, where its directory was there before and is never renamed or removed; that
    directory then stands on every path (`everywhere`). Whatever is renamed from one to another subtree keeps both together.
    `private`: every clone has its own. Shared is, where the plan says so, what was there before and is only read.
    Raises UsageError when a path would get nothing to do.
    """

    def __init__(self, survey: Survey, plan: ReplayPlan) -> None:
        size = len(survey)
        self.everywhere = array("B", repeat(0, size))
        self.private = array("B", repeat(1, size))
        self.places = array("B", repeat(0, size))
        if plan.paths > 1:
            self._divide(survey, plan)
        if plan.shared:
            self._share(survey)

    def _divide(self, survey: Survey, plan: ReplayPlan) -> None:
        below = array("Q", survey.calls)  # calls in the subtree of each node
        for node in range(len(below) - 1, -1, -1):
            if survey.parents[node] != NO_NODE:
                below[survey.parents[node]] += below[node]
        units = self._units(survey, below, plan.paths)
        load = [0] * plan.paths
        placed: dict[int, int] = {}
        groups = [(sum(units[unit] for unit in group), group) for group in self._together(survey, units)]
        for calls, group in sorted(groups, key=lambda one: (-one[0], one[1])):
            place = load.index(min(load))
            load[place] += calls
            placed.update((unit, place) for unit in group)
        busy = sum(1 for calls in load if calls)
        if busy + len(plan.clones) - 1 < plan.paths:
            raise UsageError(
                f"{plan.paths} paths, but the files of the trace can be divided among {busy} only; give fewer paths"
            )
        for node, above in enumerate(survey.parents):
            place = placed.get(node, -1)
            self.places[node] = place if place >= 0 else self.places[above]

    def _units(self, survey: Survey, below: Sequence[int], paths: int) -> dict[int, int]:
        """Subtrees that stay whole, by their topmost node, with their calls; a divided directory is one by itself."""
        parents = np.frombuffer(survey.parents, np.int32)
        units = {root: below[root] for root in np.flatnonzero(parents == NO_NODE).tolist()}
        most = sum(units.values()) / (2 * paths)
        for _ in range(_MOST_SPLITS):
            heavy = [unit for unit, calls in units.items() if self._can_split(survey, unit) and calls > most]
            if not heavy:
                break
            unit = max(heavy, key=lambda one: (units[one], -one))
            self.everywhere[unit] = 1
            units[unit] = survey.calls[unit]
            units.update((child, below[child]) for child in np.flatnonzero(parents == unit).tolist())
        return units

    def _can_split(self, survey: Survey, node: int) -> bool:
        there = survey.is_root(node) or (survey.existed[node] and survey.kinds[node] == NodeKind.DIRECTORY)
        return bool(there and not self.everywhere[node] and not survey.traits[node] & (CHANGED | KEEPS_CHILDREN))

    def _together(self, survey: Survey, units: dict[int, int]) -> Iterable[list[int]]:
        """The units in groups that renames tie together."""
        head = {unit: unit for unit in units}

        def group_of(unit: int) -> int:
            while head[unit] != unit:
                head[unit] = head[head[unit]]
                unit = head[unit]
            return unit

        def unit_of(node: int) -> int:
            while node not in units:
                node = survey.parents[node]
            return node

        for old, new in survey.moved:
            one, other = sorted((group_of(unit_of(old)), group_of(unit_of(new))))
            head[other] = one
        groups: dict[int, list[int]] = {}
        for unit in sorted(units):
            groups.setdefault(group_of(unit), []).append(unit)
        return groups.values()

    def _share(self, survey: Survey) -> None:
        moved = array("B", repeat(0, len(survey)))  # it, or a directory above it, is made, renamed or removed
        for node, above in enumerate(survey.parents):
            root = above == NO_NODE
            moved[node] = bool(survey.traits[node] & CHANGED) or (not root and moved[above])
            there = root or survey.existed[node]
            self.private[node] = bool(moved[node] or survey.traits[node] & WRITTEN or not there)
