"""Everything that a campaign can do to an installation, a file a family."""

from collections.abc import Mapping

from chaos.faults import (
    broker,
    clock,
    command,
    database,
    disks,
    limits,
    network,
    processes,
    source,
    storage,
)
from chaos.faults.base import Fault
from core.errors import UsageError

FAMILIES: Mapping[str, tuple[Fault, ...]] = {
    "database": database.FAULTS,
    "processes": processes.FAULTS,
    "controller": command.FAULTS,
    "broker": broker.FAULTS,
    "network": network.FAULTS,
    "storage": storage.FAULTS,
    "disks": disks.FAULTS,
    "limits": limits.FAULTS,
    "clock": clock.FAULTS,
    "source": source.FAULTS,
    "poison": source.POISON,
}
ALL: tuple[Fault, ...] = tuple(fault for family in FAMILIES.values() for fault in family)


def chosen(text: str) -> list[Fault]:
    """Those that `all`, or a list of families and names, means, in a fixed order; raises UsageError for an unknown."""
    wanted = [word.strip() for word in text.split(",") if word.strip()]
    known = {"all", *FAMILIES, *(fault.name for fault in ALL)}
    if not wanted or (unknown := [word for word in wanted if word not in known]):
        raise UsageError(
            f"--faults: {unknown[0] if wanted else text!r} is not a fault; give `all` or some of {', '.join(FAMILIES)},"
            f" or single ones: {', '.join(fault.name for fault in ALL)}"
        )
    if wanted == ["all"]:
        return list(ALL)
    return [fault for name, family in FAMILIES.items() for fault in family if {name, fault.name} & {*wanted}]
