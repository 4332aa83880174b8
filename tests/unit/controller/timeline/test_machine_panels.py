"""What workers say of themselves, as panels."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controller.timeline.axis import Axis
from controller.timeline.panels import worker_panels

_BEGUN, _SLOTS = 1_000_000, 4


@given(st.lists(st.floats(0, 0.999), min_size=3, max_size=12))
def test_no_more_slots_are_busy_than_there_are(taken: list[float]) -> None:
    """All of them all the time, looked at once a second but at any moment of it: neighbouring looks lie up to two seconds apart."""
    moments = [_BEGUN + second + at for second, at in enumerate(taken)]
    readings = [
        (int(moment), {"busy_s": _SLOTS * (moment - _BEGUN), "taken": moment - int(moment)}) for moment in moments
    ]
    axis = Axis(start=_BEGUN, end=_BEGUN + len(taken), step=1)
    slots = next(panel for panel in worker_panels(axis, {"w1": readings}) if panel.id == "slots")
    known = [point for point in slots.series[0].values if point is not None]
    assert known
    assert all(abs(point - _SLOTS) < 1e-3 for point in known)
