"""What a strike did is taken back, once, and before a job is judged."""

import threading
from typing import Any, cast

import pytest
from chaos.faults.base import FOREVER, Effect, Fault
from chaos.moments import Moments
from chaos.plan import Aim, Strike
from chaos.run import Striker
from chaos.site import Site
from chaos.source import Source

from core.errors import SystemFault

NOTHING: Any = None  # the faults of these tests look at no site


def _striker(fault: Fault) -> Striker:
    return Striker(cast(Site, NOTHING), cast(Moments, NOTHING), cast(Source, NOTHING), {fault.name: fault})


def _strike(fault: Fault) -> Strike:
    return Strike(fault=fault.name, aim=Aim(moment="claim", phase="", position=0.0, delay=0.0), share=0.0, choice=0)


def test_what_lasts_for_ever_is_taken_back_once() -> None:
    undone: list[str] = []
    fault = Fault("f", "what", lambda _: Effect("done", lambda: undone.append("once")), seconds=(FOREVER, FOREVER))
    striker = _striker(fault)
    striker.strike(_strike(fault), 0)
    assert undone == []
    striker.mend()
    striker.mend()
    assert (undone, striker.errors, len(striker.done)) == (["once"], [], 1)


def test_mending_waits_for_what_is_being_taken_back() -> None:
    """Else a job is resumed while its file system is still read-only."""
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def undo() -> None:
        begun.set()
        go_on.wait()
        ended.set()

    fault = Fault("f", "what", lambda _: Effect("done", undo))
    striker = _striker(fault)
    striker.strike(_strike(fault), 0)
    begun.wait()
    threading.Timer(0.0, go_on.set).start()
    striker.mend()
    assert ended.is_set()


@pytest.mark.parametrize("error", [OSError("it is gone"), SystemFault("it is gone")])
def test_what_cannot_be_taken_back_fails_the_run(error: Exception) -> None:
    def undo() -> None:
        raise error

    fault = Fault("f", "what", lambda _: Effect("done", undo), seconds=(FOREVER, FOREVER))
    striker = _striker(fault)
    striker.strike(_strike(fault), 0)
    striker.mend()
    assert striker.errors == ["it could not be taken back: it is gone"]


def test_a_strike_that_finds_nothing_is_none() -> None:
    fault = Fault("f", "what", lambda _: None)
    striker = _striker(fault)
    striker.strike(_strike(fault), 0)
    assert (striker.done, striker.errors) == ([], [])
