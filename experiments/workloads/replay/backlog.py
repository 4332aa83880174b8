"""How far behind its intended starts each client was: the storage's arrears, stream by stream."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, zip_longest

from experiments.workloads.replay.result import Backlog
from replay.result import ClientResult
from sql.replay import ReplayClient

MOST = 32  # clients that a result names
LEAST_SECONDS = 1.0  # a client that was never later is not behind


def backlogs(clients: Sequence[ReplayClient], streams: Sequence[Sequence[str]]) -> tuple[Backlog, ...]:
    """Of clients whose calls had a schedule and that were behind it, the worst first. `streams`: of each client."""
    found = []
    for client in clients:
        if client.result is None:
            continue
        seen = ClientResult.from_json(client.result["found"])
        seconds = seen.lateness_max_ns / 1e9
        if seen.due_by_second and seconds >= LEAST_SECONDS:
            its = tuple(streams[client.client]) if client.client < len(streams) else ()
            found.append(Backlog(client=client.client, streams=its, seconds=seconds, calls=most_behind(seen)))
    return tuple(sorted(found, key=lambda one: (-one.seconds, one.client))[:MOST])


def most_behind(seen: ClientResult) -> int:
    """Calls that were due and had not ended, at the end of the second in which they were most."""
    both = zip_longest(seen.due_by_second, seen.by_second, fillvalue=0)
    return max(accumulate(due - ended for due, ended in both), default=0)


def told(backlog: Backlog) -> str:
    """`w1/2 was up to 12.3 s and 1,234 calls behind its intended starts`."""
    name = ", ".join(backlog.streams[:3]) or f"client {backlog.client}"
    more = f" and {len(backlog.streams) - 3} more" if len(backlog.streams) > 3 else ""
    return f"{name}{more} was up to {backlog.seconds:,.1f} s and {backlog.calls:,} calls behind its intended starts"
