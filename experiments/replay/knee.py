"""The largest load within bounds on response time: clients are doubled until a bound breaks, then the gap is halved."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from core.errors import UsageError
from experiments.replay.result import ALL, ReplayKnee
from experiments.result import Latency

Look = Callable[[int], Mapping[str, Latency]]  # replay with so many clients; its response times by op label


def search(look: Look, bounds_us: Mapping[str, float], *, most: int) -> ReplayKnee:
    """`most`: clients that are tried at the most, at least 1. Each number is tried once."""
    good, bad, clients = 0, None, 1
    broken = None
    while bad is None:
        found = broken_bound(look(clients), bounds_us, clients)
        if found is None:
            good = clients
            if clients >= most:
                break
            clients = min(2 * clients, most)
        else:
            bad, broken = clients, found
    while bad is not None and bad - good > 1:
        middle = (good + bad) // 2
        found = broken_bound(look(middle), bounds_us, middle)
        if found is None:
            good = middle
        else:
            bad, broken = middle, found
    return ReplayKnee(bounds_us=dict(bounds_us), clients=good or None, broken=broken)


def refuse_bounds_on_nothing(bounds_us: Mapping[str, float], recorded: Mapping[str, Latency]) -> None:
    """Raises UsageError for a bound on an op that the trace has not: every load would keep it."""
    lacking = [op for op in bounds_us if op not in recorded]
    if lacking:
        there = ", ".join(op for op in recorded if op != ALL)
        raise UsageError(f"--max-p99: the trace has no {lacking[0]} call; it has {there}")


def broken_bound(response: Mapping[str, Latency], bounds_us: Mapping[str, float], clients: int) -> str | None:
    """The bound that is most exceeded, in words; None when all are kept."""
    over = [
        (response[op].p99_us / bound, op, bound)
        for op, bound in bounds_us.items()
        if op in response and response[op].p99_us > bound
    ]
    if not over:
        return None
    _, op, bound = max(over)
    many = f"{clients} client{'s' if clients > 1 else ''}"
    return f"{op} p99 {response[op].p99_us / 1000:.2f} ms over {bound / 1000:.2f} ms at {many}"
