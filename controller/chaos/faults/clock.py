"""The database's clock stepped, as the ledger's statements see it."""

from __future__ import annotations

from collections.abc import Callable

from controller.chaos.clock import step
from controller.chaos.faults.base import FOREVER, Effect, Fault, Scene
from controller.chaos.plan import Reach

FAMILY = "clock"
_HOUR = 3_600.0


def _stepped(seconds: float) -> Callable[[Scene], Effect]:
    """Of the first database; it is set right again in the end."""

    def strike(scene: Scene) -> Effect:
        database = scene.site.databases[0]
        step(database, seconds)
        return Effect(what=f"the clock of {database.name} is {seconds:+.0f} s off", undo=lambda: step(database, 0.0))

    return strike


FAULTS = (
    Fault(
        reach=Reach(name="clock-forward"),
        family=FAMILY,
        what="the database's clock steps an hour forward, and back again",
        strike=_stepped(_HOUR),
        seconds=(0.5, 3.0),
    ),
    Fault(
        reach=Reach(name="clock-back"),
        family=FAMILY,
        what="the database's clock steps an hour back, and forward again when the job is over or suspended",
        strike=_stepped(-_HOUR),
        seconds=(FOREVER, FOREVER),
    ),
)
