"""core.histogram: buckets, merging, percentiles and the sparse encoding."""

import errno
import json
import os
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import read_problem
from core.histogram import BUCKETS, CELLS, LIMIT_NS, OVERFLOW, Histogram, bucket_bounds, bucket_of, merged
from core.mounts import holding, parse_mountinfo, unescaped
from core.operations import SIZES, size_class

durations = st.one_of(st.integers(0, 1 << 12), st.integers(0, 1 << 37), st.integers(0, 1 << 50))
histograms = st.dictionaries(st.integers(0, CELLS - 1), st.integers(1, 1 << 60), max_size=40).map(Histogram)


def of(values: list[int]) -> Histogram:
    out = Histogram()
    for value in values:
        out.record(value)
    return out


def test_buckets_join_without_gap_and_are_narrow() -> None:
    end = 0
    for bucket in range(OVERFLOW):
        low, high = bucket_bounds(bucket)
        assert low == end
        assert bucket_of(low) == bucket_of(high - 1) == bucket
        assert bucket == 0 or (high - low) * 16 <= low
        end = high
    assert end == LIMIT_NS == 1 << 43
    assert bucket_of(end) == bucket_of(1 << 60) == OVERFLOW


@given(st.lists(durations, min_size=1, max_size=200), st.floats(0, 100))
def test_percentile_is_within_half_a_bucket(values: list[int], percent: float) -> None:
    got = of(values).percentiles((percent,), max(values))[0]
    rank = max(1, -int(-(percent * len(values)) // 100))
    exact = sorted(values)[rank - 1]
    if exact < LIMIT_NS:
        assert abs(got - exact) <= max(512, exact / 31)
    elif percent < 100:
        assert got == LIMIT_NS
    else:
        assert got == max(values)


def test_a_percentile_over_a_minute_is_not_the_largest_value() -> None:
    """Calls of 71 s and one of 104 s: the median is 71 s, as is everything but the maximum."""
    found = of([71_000_000_000] * 9 + [104_000_000_000])
    assert abs(found.percentiles((50,), 104_000_000_000)[0] - 71_000_000_000) <= 71_000_000_000 / 31
    assert found.percentiles((100,), 104_000_000_000) == [104_000_000_000]


@given(st.lists(st.lists(durations, max_size=50), max_size=5))
def test_merging_equals_recording_together(groups: list[list[int]]) -> None:
    """Seconds, slots and hosts add up to what one recorder would have seen."""
    assert merged(of(group) for group in groups) == of([value for group in groups for value in group])


@given(histograms)
def test_encoding_round_trip(histogram: Histogram) -> None:
    assert Histogram.decode(histogram.encode()) == histogram


@given(st.binary(max_size=30))
def test_bad_bytes_are_refused_or_valid(data: bytes) -> None:
    try:
        histogram = Histogram.decode(data)
    except ValueError:
        return
    assert all(0 <= cell < CELLS and n > 0 for cell, n in histogram.cells.items())
    assert all(0 <= bucket < BUCKETS and n > 0 for bucket, n in histogram.counts.items())


@pytest.mark.parametrize("data", [b"\x80", b"\x01", b"\xff\xff\xff\x7f\x01", b"\x01\x00"])
def test_cut_and_impossible_encodings_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="histogram"):
        Histogram.decode(data)


def test_without_calls() -> None:
    assert Histogram().percentiles((99,)) == [0]


@given(histograms, histograms, st.integers(0, 1 << 40))
def test_an_encoding_is_never_stale(one: Histogram, other: Histogram, ns: int) -> None:
    found = Histogram.decode(one.encode())
    found.add(other)
    found.record(ns)
    assert (
        Histogram.decode(found.encode())
        == Histogram(found.cells)
        == merged([one, other, Histogram({bucket_of(ns): 1})])
    )


@given(histograms, st.integers(0, 1 << 36))
def test_several_percentiles_at_once_are_those_one_by_one(histogram: Histogram, max_ns: int) -> None:
    percents = (50, 95, 99, 100)
    assert histogram.percentiles(percents, max_ns) == [histogram.percentiles((p,), max_ns)[0] for p in percents]


def test_sizes_have_bounds_and_names() -> None:
    bounds = {0: 0, 1: 1, 4_096: 1, 4_097: 2, 65_536: 2, 65_537: 3, 1_048_576: 3, 1_048_577: 4, 1 << 40: 4}
    assert {nbytes: size_class(nbytes) for nbytes in bounds} == bounds
    assert len(SIZES) == 5


@given(st.lists(st.tuples(durations, st.integers(0, 1 << 21)), max_size=100))
def test_calls_by_size_are_those_of_that_size_and_the_whole_is_all_of_them(calls: list[tuple[int, int]]) -> None:
    found = Histogram()
    for ns, nbytes in calls:
        found.record(ns, nbytes)
    found = Histogram.decode(found.encode())
    classes = sorted({size_class(nbytes) for _, nbytes in calls} - {0})
    assert found.by_size() == {
        SIZES[size]: of([ns for ns, nbytes in calls if size_class(nbytes) == size]) for size in classes
    }
    assert list(found.by_size()) == [SIZES[size] for size in classes]
    whole = of([ns for ns, _ in calls])
    assert (found.total, dict(found.counts)) == (len(calls), whole.cells)
    assert found.percentiles((50, 99)) == whole.percentiles((50, 99))


def test_what_was_stored_before_there_were_sizes_reports_nothing_of_them() -> None:
    before = Histogram.decode(bytes.fromhex("5001500a"))  # 1 call in bucket 80, 10 in bucket 160
    assert (before.counts, before.by_size()) == ({80: 1, 160: 10}, {})
    before.record(5_000, 100)
    assert {size: one.total for size, one in before.by_size().items()} == {"to 4 KiB": 1}
    assert before.total == 12


def test_missing_forbidden_and_broken_storage_are_different(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        (tmp_path / "gone").read_bytes()
    with pytest.raises(IsADirectoryError) as directory:
        tmp_path.read_bytes()
    assert read_problem("a", missing.value) == "a does not exist"
    assert "is a directory, not a file" in read_problem("a", directory.value)
    assert "give this user read access" in read_problem("a", PermissionError(errno.EACCES, "no"))
    assert "check the file system" in read_problem("a", OSError(errno.EIO, "no"))


def test_another_charset_a_syntax_error_and_damage_are_different() -> None:
    with pytest.raises(UnicodeDecodeError) as charset:
        b"ab\xff".decode("utf-8")
    assert "(byte 3)" in read_problem("a", charset.value)
    with pytest.raises(json.JSONDecodeError) as syntax:
        json.loads('{"a":\n}')
    assert "syntax error: Expecting value: line 2" in read_problem("a", syntax.value)
    with pytest.raises(zlib.error) as damage:
        zlib.decompress(b"no")
    assert read_problem("a", damage.value).startswith("a is damaged: Error -3")


MOUNTINFO = r"""25 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw,errors=remount-ro
61 25 0:52 /sub /mnt/with\040space rw,relatime shared:9 master:2 - nfs4 filer:/my\040export rw,vers=4.2,soft
62 25 0:53 / /mnt/filer rw - nfs filer:/a rw
63 25 0:54 / /mnt/filer rw - tmpfs tmpfs rw
nonsense
"""


def test_fields_and_escapes_are_read_and_other_lines_left_out() -> None:
    entries = parse_mountinfo(MOUNTINFO)
    assert [entry.id for entry in entries] == [25, 61, 62, 63]
    nfs = entries[1]
    assert (nfs.device, nfs.point, nfs.kind, nfs.source) == ("0:52", "/mnt/with space", "nfs4", "filer:/my export")
    assert nfs.options == ("rw", "relatime", "vers=4.2", "soft")


@pytest.mark.parametrize(
    ("path", "device"),
    [("/home", "254:0"), ("/mnt/with space/x", "0:52"), ("/mnt/filer", "0:54"), ("/mnt/filer2", "254:0")],
)
def test_the_innermost_and_latest_mount_holds_a_path(path: str, device: str) -> None:
    mount = holding(path, parse_mountinfo(MOUNTINFO))
    assert mount.device == device
    assert holding(path, []) is None


@given(st.binary(max_size=200))
def test_no_table_breaks_it(junk: bytes) -> None:
    parse_mountinfo(MOUNTINFO[:90] + os.fsdecode(junk))


def test_an_escaped_name_keeps_its_bytes() -> None:
    assert os.fsencode(unescaped(os.fsdecode(b"/a\xff\\040b\xc3\xa4"))) == b"/a\xff b\xc3\xa4"
    assert os.fsencode(unescaped(r"/\303\244")) == "/ä".encode()
