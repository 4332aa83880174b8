"""What measurements do not begin beside: whichever of the two asks first, the other one is refused."""

from __future__ import annotations

import threading

import pytest

from core.errors import UsageError
from web.background import Activities

PATIENCE = 90.0


def _fine() -> None:
    """No measurement runs."""


def test_nothing_is_alone_beside_what_is_done() -> None:
    activities = Activities()
    with activities.during("a tag is being given", _fine):
        with (
            activities.during("a job is being created", _fine),
            pytest.raises(UsageError, match="a tag is being given; it would distort the measurement"),
        ):
            activities.alone().__enter__()
        with pytest.raises(UsageError, match="a tag"), activities.alone():
            pass
    with pytest.raises(KeyError), activities.during("a job is being created", _fine):
        raise KeyError
    with activities.alone():
        pass


def test_what_begins_while_a_measurement_does_is_refused() -> None:
    activities, running, outcome = Activities(), threading.Event(), []

    def refuse() -> None:
        if running.is_set():
            raise UsageError("a measurement is running here")

    def begin() -> None:
        try:
            with activities.during("a tag is being given", refuse):
                outcome.append("given")
        except UsageError:
            outcome.append("refused")

    beginning = threading.Thread(target=begin)
    with activities.alone():
        beginning.start()
        beginning.join(0.1)  # time enough for one that does not wait
        running.set()
    beginning.join(PATIENCE)
    assert outcome == ["refused"]
