"""Space in use is believed when it stays the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from storage_tests.devices import Usage, usage_at_rest


class _Told:
    """A storage that tells of its space at given moments, and the clock that goes on by being waited for."""

    def __init__(self, told: dict[float, int], grows: int = 0) -> None:
        self.now, self._told, self._grows = 0.0, told, grows

    def look(self, _roots: Sequence[Path]) -> Usage:
        known = [used for moment, used in self._told.items() if moment <= self.now]
        return Usage(used_bytes=known[-1] + int(self.now * self._grows), used_inodes=0)

    def wait(self, seconds: float) -> None:
        self.now += seconds


def _rest(told: _Told, still: float) -> Usage | None:
    return usage_at_rest([], still, told.look, lambda: told.now, told.wait)


@pytest.mark.parametrize(("still", "used"), [(3.0, 35), (0.0, 0)])
def test_what_is_told_late_is_waited_for(still: float, used: int) -> None:
    """MooseFS tells once a second, and of what was just written up to three seconds later."""
    said = _rest(_Told({0.0: 0, 1.3: 17, 2.3: 35}), still)
    assert said is not None
    assert said.used_bytes == used


def test_space_that_never_rests_is_not_told() -> None:
    """Someone else writes there all the time: no ratio is better than a false one."""
    assert _rest(_Told({0.0: 0}, grows=1_000_000), 3.0) is None
