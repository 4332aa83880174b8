"""A hook at the points of the work where a failure is most dangerous: before and after claim, finish, commit, publish,
barrier.

The fault campaign (tests/chaos) sets it to kill a process, or take something away from it, at exactly such a point.
Anywhere else it costs one comparison."""

from __future__ import annotations

from collections.abc import Callable

hook: Callable[[str, str], object] | None = None


def reached(moment: str, detail: str = "") -> None:
    """Call the hook, if one is set, with the moment and its detail (the phase); raises the OSError that the hook injects."""
    if hook is not None:
        hook(moment, detail)
