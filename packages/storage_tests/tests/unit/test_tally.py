"""What a client did is counted as it was."""

from __future__ import annotations

from core.histogram import Histogram
from core.operations import Op
from storage_tests.tally import WHOLE_WRITE, Tally, merged

SECOND = 1_000_000_000


def test_calls_are_counted_by_kind_with_their_histogram() -> None:
    """Over more calls than are counted together: the same as one by one."""
    tally, one_by_one = Tally((Op.WRITE,)), Histogram()
    tally.begin(SECOND)
    for number in range(5_000):
        tally.record(Op.WRITE, SECOND + number * 1_000_000, 900 + 7 * number, 1024 * (number % 3), b"f", 0)
        one_by_one.record(900 + 7 * number, 1024 * (number % 3))
    tally.record(Op.OPEN, 2 * SECOND, 5, 0, b"f", 2)
    tally.whole(WHOLE_WRITE, SECOND, 77, 10, 0)
    counted = {one.label: one for one in tally.counted()}
    assert list(counted) == ["open", "write", "whole write"]
    write = counted["write"]
    assert (write.calls, write.errors, write.max_ns) == (5_000, 0, 900 + 7 * 4_999)
    assert write.bytes == sum(1024 * (number % 3) for number in range(5_000))
    assert write.total_ns == sum(900 + 7 * number for number in range(5_000))
    assert write.histogram == one_by_one
    assert (counted["open"].calls, counted["open"].errors) == (1, 1)


def test_bytes_are_counted_in_the_second_in_which_the_call_ended() -> None:
    """Since the start, of those kinds alone that move bytes."""
    tally = Tally((Op.READ,))
    tally.begin(10 * SECOND)
    tally.record(Op.READ, 10 * SECOND, SECOND // 2, 100, b"f", 0)
    tally.record(Op.READ, 10 * SECOND, 2 * SECOND, 30, b"f", 0)
    tally.record(Op.WRITE, 10 * SECOND, 1, 7, b"f", 0)
    tally.record(Op.READ, 110 * SECOND, 1, 1, b"f", 0)
    seconds = tally.bytes_by_second()
    assert (seconds[0], seconds[2], seconds[100], sum(seconds)) == (100, 30, 1, 131)
    tally.begin(0)
    assert tally.bytes_by_second() == ()
    assert tally.counted() == ()


def test_clients_are_put_together() -> None:
    each = []
    for ns in (2_000, 9_000):
        tally = Tally(())
        tally.record(Op.READ, 0, ns, 5, b"f", 0)
        tally.record(Op.STAT, 0, ns, 0, b"f", 0)
        each += tally.counted()
    stat, read = sorted(merged(each), key=lambda one: one.label, reverse=True)
    assert (read.label, read.calls, read.bytes, read.max_ns, read.total_ns) == ("read", 2, 10, 9_000, 11_000)
    assert read.histogram.total == 2
    assert stat.calls == 2
