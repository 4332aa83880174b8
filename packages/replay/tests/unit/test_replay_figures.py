"""A client's figures: counted in blocks as they would be one by one, merged by addition, the same after JSON."""

import json
from collections.abc import Iterable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.histogram import BUCKETS, Histogram, bucket_bounds, bucket_of, buckets_of
from core.operations import Op
from replay import script
from replay.tally import ClientResult, Difference, OpResult, ReplayCounters, merge_results

Bounds = st.integers(0, BUCKETS - 1).flatmap(lambda b: st.sampled_from(bucket_bounds(b)))
Durations = st.one_of(st.integers(0, 1 << 40), Bounds, Bounds.map(lambda ns: max(0, ns - 1)))
Steps = st.tuples(
    st.sampled_from(sorted(script.OP_OF_CODE) + sorted(script.UNRECORDED)),
    Durations,
    Durations,
    st.integers(0, 1 << 31),
)


@given(st.lists(Durations, min_size=1))
def test_buckets_of_many_are_the_histograms_own(durations: list[int]) -> None:
    assert buckets_of(np.array(durations, np.int64)).tolist() == [bucket_of(ns) for ns in durations]


def tallied(steps: list[tuple[int, int, int, int]], start: int = 5) -> ClientResult:
    """Of steps (code, late by, service time, bytes), one after the other."""
    tally = ReplayCounters(start)
    intended, begun, ended, moved = [], [], [], []
    now = start
    for _, late, service, nbytes in steps:
        intended.append(now)
        begun.append(now + late)
        now += late + service
        ended.append(now)
        moved.append(nbytes)
    tally.add_block(np.array([step[0] for step in steps], np.uint8), intended, begun, ended, moved)
    return ClientResult(
        ops=tally.ops(),
        by_second=tally.ended.counted(),
        due_by_second=tally.due.counted(),
        last_due_s=tally.last_due_ns / 1e9,
        lateness_max_ns=tally.lateness_max_ns,
    )


@settings(max_examples=40)
@given(st.lists(Steps, min_size=1, max_size=20))
def test_a_block_counts_as_its_steps_do(steps: list[tuple[int, int, int, int]]) -> None:
    found = tallied(steps)
    calls = [(script.OP_OF_CODE[code], *rest) for code, *rest in steps if code in script.OP_OF_CODE]
    assert found.calls == len(calls)
    for op in Op:
        mine = [(late, service, nbytes) for one, late, service, nbytes in calls if one is op]
        if not mine:
            assert op not in found.ops
            continue
        assert found.ops[op].bytes == sum(nbytes for _, _, nbytes in mine)
        assert found.ops[op].service == histogram((service, nbytes) for _, service, nbytes in mine)
        assert found.ops[op].response == histogram((late + service, nbytes) for late, service, nbytes in mine)
        assert found.ops[op].response_max_ns == max(late + service for late, service, _ in mine)
    assert found.lateness_max_ns == max((late for _, late, *_ in calls), default=0)
    assert sum(found.by_second) == sum(found.due_by_second) == len(calls)
    if calls:
        assert int(found.last_due_s) == len(found.due_by_second) - 1


@settings(max_examples=40)
@given(st.lists(st.lists(Steps, min_size=1, max_size=5), min_size=1, max_size=4))
def test_merging_adds(clients: list[list[tuple[int, int, int, int]]]) -> None:
    results = [tallied(steps) for steps in clients]
    merged = merge_results(ClientResult.from_json(json.loads(json.dumps(one.to_json()))) for one in results)
    assert merged.clients == len(clients)
    assert merged.calls == sum(one.calls for one in results)
    assert merged.bytes == sum(one.bytes for one in results)
    assert sum(one.service.total for one in merged.ops.values()) == merged.calls
    assert sum(one.response.total for one in merged.ops.values()) == merged.calls
    assert sum(merged.by_second) == sum(merged.due_by_second) == merged.calls
    assert merged.last_due_s == max(one.last_due_s for one in results)
    assert ClientResult.from_json(json.loads(json.dumps(merged.to_json()))) == merged


def test_what_a_client_reported_is_written_and_read_as_it_always_was() -> None:
    of_op = OpResult(
        calls=3, errors=1, bytes=9, response=Histogram({7: 1, 2: 2}), service=Histogram({2: 3}), response_max_ns=5,
        service_max_ns=4, response_total_ns=8, service_total_ns=6,
    )  # fmt: skip
    differences = (Difference(op=Op.SCAN, expected=0, found=2, calls=1),)
    found = ClientResult(ops={Op.READ: of_op}, differences=differences, by_second=(1, 2), cpu_s=0.5)
    plain = {
        "clients": 1,
        "ops": {"read": {
            "calls": 3, "errors": 1, "bytes": 9, "response": [[2, 2], [7, 1]], "service": [[2, 3]], "response_max_ns": 5,
            "service_max_ns": 4, "response_total_ns": 8, "service_total_ns": 6,
        }},
        "differences": [{"op": "scan", "expected": 0, "found": 2, "calls": 1}],
        "by_second": [1, 2],
        "lateness_max_ns": 0, "waited_s": 0.0, "cpu_s": 0.5, "elapsed_s": 0.0, "unrecorded_opens": 0,
    }  # fmt: skip
    assert json.loads(json.dumps(found.to_json())) == plain | {"due_by_second": [], "last_due_s": 0.0}  # since then
    assert ClientResult.from_json(plain) == found


def histogram(calls: Iterable[tuple[int, int]]) -> Histogram:
    """Of calls, each with its nanoseconds and the bytes it moved."""
    found = Histogram()
    for ns, nbytes in calls:
        found.record(ns, nbytes)
    return found
