"""What a campaign has to have of its own for some faults, and why it cannot have it here."""

from collections.abc import Callable, Iterable, Mapping

from chaos import disk, namespace
from chaos.faults.base import Fault
from chaos.site import DISKS, NETWORK

_CANNOT: Mapping[str, Callable[[], str]] = {DISKS: disk.cannot, NETWORK: namespace.cannot}


def needs_of(faults: Iterable[Fault]) -> frozenset[str]:
    """All that they need."""
    return frozenset(fault.needs for fault in faults if fault.needs)


def lacking(needs: Iterable[str]) -> dict[str, str]:
    """Needs that are not available here, and why. Each is tried once."""
    reasons = {need: _CANNOT[need]() for need in needs if need in _CANNOT}
    return {need: why for need, why in reasons.items() if why}
