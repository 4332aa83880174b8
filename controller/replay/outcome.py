"""What the clients of a replay found, all together."""

from __future__ import annotations

import errno
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from controller.databases import JobHandle
from controller.replay.order import pace_text
from core.document import Document, Milli
from core.errors import RunFailed
from core.histogram import Histogram
from core.job_types import JobType
from core.records import ReplayChoice
from replay.result import ClientResult, Difference, OpResult, merge_results
from sql import replay
from sql.replay import ReplayClient


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOutcome:
    """A replay that is over."""

    clients: int
    hosts: int
    began: float  # the start of all, seconds since the epoch by the database's clock
    prepared_s: float  # from the first client's claim to the last one's being ready
    prepared_files: int
    prepared_bytes: int
    run_queue_s: float  # that clients waited for a processor, summed
    result: ClientResult  # merged
    dropped: tuple[Mapping[str, Any], ...] = ()  # by each client before the calls (replay.cold); empty: nothing was


def replay_outcome(handle: JobHandle) -> ReplayOutcome:
    """Of a replay that completed. Raises RunFailed when a client has no result, DatabaseFault."""
    return outcome_of(clients_of(handle), f"job {handle.id}")


def clients_of(handle: JobHandle) -> Sequence[ReplayClient]:
    """What each client left. Raises DatabaseFault."""
    with handle.database.transaction() as conn:
        return replay.clients(conn, handle.id)


def outcome_of(clients: Sequence[ReplayClient], what: str) -> ReplayOutcome:
    """All of `what`'s clients together; raises RunFailed when one has no result."""
    results = [client.result for client in clients if client.result is not None]
    if not results or len(results) < len(clients):
        raise RunFailed(f"{what}: {len(clients) - len(results)} clients have no result; replay again")
    taken = [client.taken for client in clients if client.taken is not None]
    ready = [client.ready for client in clients if client.ready is not None]
    return ReplayOutcome(
        clients=len(clients),
        hosts=len({client.host for client in clients}),
        began=min(float(result["start"]) for result in results),
        prepared_s=max(ready) - min(taken),
        prepared_files=sum(int(result["files"]) for result in results),
        prepared_bytes=sum(int(result["bytes"]) for result in results),
        run_queue_s=sum(float(result["run_queue_s"]) for result in results),
        dropped=dropped_by(clients),
        result=merge_results(ClientResult.from_json(result["found"]) for result in results),
    )


def dropped_by(clients: Iterable[ReplayClient]) -> tuple[Mapping[str, Any], ...]:
    """What each client dropped before the calls, of those that did."""
    results = (client.result or {} for client in clients)
    return tuple(result["dropped"] for result in results if result.get("dropped"))


class PlayedTimes(Document):
    """Of some calls, in microseconds."""

    count: int
    response_p50_us: Milli
    response_p99_us: Milli
    service_p50_us: Milli
    service_p99_us: Milli


class PlayedCalls(PlayedTimes):
    """Calls of one op."""

    bytes: int
    errors: int
    # By class (core.operations); calls that moved nothing are in none.
    sizes: dict[str, PlayedTimes] = Field(default={}, exclude_if=operator.not_)


class Played(Document):
    """A replay's figures."""

    clients: int
    pace: str
    prepared_s: Milli
    elapsed_s: Milli
    calls_per_second: Milli
    differences: dict[str, int]
    calls: dict[str, PlayedCalls]


def played(handle: JobHandle) -> Played | None:
    """None for another job, and for a replay that did not go through."""
    if handle.job.options.type is not JobType.REPLAY:
        return None
    try:
        outcome = replay_outcome(handle)
    except RunFailed:
        return None
    whole = outcome.result
    return Played(
        clients=outcome.clients,
        pace=pace_text(handle.job.options.of(ReplayChoice).speed, handle.job.options.of(ReplayChoice).closed),
        prepared_s=outcome.prepared_s,
        elapsed_s=whole.elapsed_s,
        calls_per_second=whole.calls / whole.elapsed_s if whole.elapsed_s else 0.0,
        differences={difference_text(one): one.calls for one in whole.differences},
        calls={
            op.label: PlayedCalls(
                bytes=one.bytes,
                errors=one.errors,
                sizes={size: PlayedTimes(**_both(one, *of)) for size, of in _by_size(one)},
                **_both(one, one.response, one.service),
            )
            for op, one in whole.ops.items()
        },
    )


def _by_size(one: OpResult) -> Iterator[tuple[str, tuple[Histogram, Histogram]]]:
    service = one.service.by_size()  # of the same calls as the response times
    return ((size, (response, service[size])) for size, response in one.response.by_size().items())


def _both(one: OpResult, response: Histogram, service: Histogram) -> dict[str, Any]:
    """Of all its calls, or of some."""
    return {
        "count": response.total,
        **_times("response", response, one.response_max_ns),
        **_times("service", service, one.service_max_ns),
    }


def _times(name: str, histogram: Histogram, longest: int) -> dict[str, Any]:
    p50, p99 = histogram.percentiles((50, 99), longest)
    return {f"{name}_p50_us": p50 / 1000, f"{name}_p99_us": p99 / 1000}


def difference_text(difference: Difference) -> str:
    """`open: recorded ENOENT, replayed OK`."""
    if difference.expected == difference.found:
        return f"{difference.op.label}: fewer bytes than recorded"
    return f"{difference.op.label}: recorded {_name(difference.expected)}, replayed {_name(difference.found)}"


def _name(number: int) -> str:
    return errno.errorcode.get(number, str(number)) if number else "OK"
