"""Which host plays which clients: those of one clone share memory, so they sit on one host."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import UsageError
from sql.replay import Seats


def hosts_of(clones: Sequence[int], seats: Sequence[Seats]) -> list[str]:
    """The host of each client's host, by client. `clones`: how many clients each clone has, in order of clients.

    The largest clones are placed first, each on the host with the most slots left. Raises UsageError when one does
    not fit on any host.
    """
    free = {seat.host: seat.slots for seat in seats}
    chosen: dict[int, str] = {}
    for clone in sorted(range(len(clones)), key=lambda number: (-clones[number], number)):
        best = max(free, key=lambda host: free[host], default=None)
        if best is None or free[best] < clones[clone]:
            most = max((seat.slots for seat in seats), default=0)
            raise UsageError(
                f"--clients {sum(clones)} needs {clones[clone]} slots on one host for each clone of the trace, and the"
                f" live workers' hosts have {_listed(seats)} in all (at most {most} on one):"
                " start more slots, or replay with fewer clients"
            )
        free[best] -= clones[clone]
        chosen[clone] = best
    return [chosen[number] for number, clients in enumerate(clones) for _ in range(clients)]


def _listed(seats: Sequence[Seats]) -> str:
    return " + ".join(str(seat.slots) for seat in seats) or "none"
