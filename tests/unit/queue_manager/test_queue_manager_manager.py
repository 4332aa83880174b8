"""How long the queue manager waits between two looks."""

from __future__ import annotations

from queue_manager.dispatcher import Look
from queue_manager.manager import (
    AFTER_SENDING_SECONDS,
    BARRIER_SECONDS,
    BUSY_SECONDS,
    IDLE_SECONDS,
    pause_after,
)


def _pauses(look: Look) -> list[float]:
    pause = 0.0
    return [pause := pause_after(look, pause) for _ in range(10)]


def test_no_pause_while_there_is_much_to_do() -> None:
    """Promise: a whole round of slots refilled, or a phase changed, is followed by a look at once; otherwise a
    short pause lets some tasks end."""
    assert pause_after(Look(sent=8, out=8, pending=9, slots=8, changed=False), 0.5) == 0.0
    assert pause_after(Look(sent=0, out=0, pending=0, slots=8, changed=True), 0.5) == 0.0
    assert pause_after(Look(sent=3, out=8, pending=9, slots=8, changed=False), 0.5) == AFTER_SENDING_SECONDS


def test_waiting_costs_little() -> None:
    """Promise: the end of a phase is seen within 20 ms of its last task; waiting for many or for long tasks costs ten
    looks a second and an idle installation two."""
    assert set(_pauses(Look(sent=0, out=1, pending=0, slots=8, changed=False))) == {BARRIER_SECONDS}
    several = _pauses(Look(sent=0, out=8, pending=0, slots=8, changed=False))
    assert several == sorted(several)
    assert (several[0], several[-1]) == (BARRIER_SECONDS, BUSY_SECONDS)
    assert pause_after(Look(sent=0, out=2, pending=0, slots=8, changed=False), BUSY_SECONDS) == 2 * BARRIER_SECONDS
    for out, most in ((8, BUSY_SECONDS), (0, IDLE_SECONDS)):
        pauses = _pauses(Look(sent=0, out=out, pending=out, slots=8, changed=False))
        assert pauses == sorted(pauses)
        assert pauses[0] == AFTER_SENDING_SECONDS
        assert pauses[-1] == most
