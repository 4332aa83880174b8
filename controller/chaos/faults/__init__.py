"""Everything that a campaign can do to an installation, a file a family."""

from __future__ import annotations

from controller.chaos.faults.base import Fault
from controller.chaos.faults.broker import FAULTS as BROKER
from controller.chaos.faults.clock import FAULTS as CLOCK
from controller.chaos.faults.command import FAULTS as CONTROLLER
from controller.chaos.faults.database import FAULTS as DATABASE
from controller.chaos.faults.disks import FAULTS as DISKS
from controller.chaos.faults.limits import FAULTS as LIMITS
from controller.chaos.faults.network import FAULTS as NETWORK
from controller.chaos.faults.processes import FAULTS as PROCESSES
from controller.chaos.faults.source import FAULTS as SOURCE
from controller.chaos.faults.source import POISON
from controller.chaos.faults.storage import FAULTS as STORAGE
from core.errors import UsageError

ALL: tuple[Fault, ...] = (
    *DATABASE,
    *PROCESSES,
    *CONTROLLER,
    *BROKER,
    *NETWORK,
    *STORAGE,
    *DISKS,
    *LIMITS,
    *CLOCK,
    *SOURCE,
    *POISON,
)
FAMILIES = tuple(dict.fromkeys(fault.family for fault in ALL))


def chosen(text: str) -> list[Fault]:
    """Those that `all`, or a list of families and names, means, in a fixed order; raises UsageError for an unknown."""
    if text == "all":
        return list(ALL)
    wanted = [word.strip() for word in text.split(",") if word.strip()]
    known = {*FAMILIES, *(fault.name for fault in ALL)}
    if not wanted or (unknown := [word for word in wanted if word not in known]):
        raise UsageError(
            f"--faults: {unknown[0] if wanted else text!r} is none; give `all` or some of {', '.join(FAMILIES)},"
            f" or single ones: {', '.join(fault.name for fault in ALL)}"
        )
    return [fault for fault in ALL if fault.family in wanted or fault.name in wanted]
