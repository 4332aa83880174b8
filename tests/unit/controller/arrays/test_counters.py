"""An array's counters: the map, the CSV file, clocks, counters and gauges."""

import contextlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.arrays.importing import read_csv, refuse_no_overlap, source_name
from controller.arrays.mapping import Column, Readings, converted, read_map
from core.errors import UsageError

MAP = """
name = "array1"
[csv]
time = "Time"
format = "%d.%m.%Y %H:%M:%S"
zone = "Europe/Berlin"
delimiter = ";"
decimal = ","
skip_lines = 1
[[column]]
column = "Read KiB/s"
name = "read"
unit = "MB/s"
scale = 0.001024
[[column]]
column = "Ops"
unit = "ops/s"
kind = "counter"
"""
CSV = """Exported by the array
Time;Read KiB/s;Ops;Model
01.07.2026 14:00:00;1000,5;100;X
01.07.2026 14:00:10;2000;300;X
01.07.2026 14:00:20;abc;400;X
nonsense;1;2;X
01.07.2026 14:00:30;;500;X
01.07.2026 14:00:40;0
01.07.2026 14:00:50;4000;50;X
"""
NOON = datetime(2026, 7, 1, 12, tzinfo=UTC).timestamp()


def written(place: Path, name: str, text: str) -> Path:
    """A file of that text."""
    (place / name).write_text(text, encoding="utf-8")
    return place / name


def readings(place: Path, table: str = MAP, text: str = CSV) -> Readings:
    """What the file gives with the map."""
    return read_csv(written(place, "a.csv", text), read_map(written(place, "m.toml", table)))


def test_times_zones_decimals_scales_and_counters(tmp_path: Path) -> None:
    """Berlin's summer time, decimal commas; a counter is growth per second, and one that fell began anew."""
    found = readings(tmp_path)
    read, ops = found.points.values()
    assert read[0] == (NOON, pytest.approx(1.024512))
    assert [at - NOON for at, _ in read] == [0, 10, 50]
    assert list(ops) == [(NOON + 10, 20.0), (NOON + 30, 10.0)]
    assert found.interval_s() == 20


def test_bad_rows_are_reported_by_line(tmp_path: Path) -> None:
    assert [str(bad) for bad in readings(tmp_path).bad] == [
        "line 5: Read KiB/s: 'abc' is not a number",
        "line 6: 'nonsense' is not a time of the form %d.%m.%Y %H:%M:%S",
        "line 8: 2 cells, none for Ops",
    ]


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("iso", "2026-07-01T14:00:00+02:00"),
        ("iso", "2026-07-01 12:00:00Z"),
        ("unix", f"{NOON:.0f}"),
        ("unix_ms", f"{NOON:.0f}000"),
    ],
)
def test_forms_of_time(tmp_path: Path, form: str, text: str) -> None:
    table = f'[csv]\ntime = "t"\nformat = "{form}"\n[[column]]\ncolumn = "v"\n'
    (points,) = readings(tmp_path, table, f"t,v\n{text},1\n").points.values()
    assert points == ((NOON, 1.0),)


def test_a_time_without_a_zone_needs_one(tmp_path: Path) -> None:
    table = '[csv]\ntime = "t"\n[[column]]\ncolumn = "v"\n'
    (bad,) = readings(tmp_path, table, "t,v\n2026-07-01 12:00:00,1\n").bad
    assert "has no time zone, and the map has no zone" in str(bad)
    zoned = table.replace("[[column]]", 'zone = "-03:30"\n[[column]]')
    (points,) = readings(tmp_path, zoned, "t,v\n2026-07-01 08:30:00,1\n").points.values()
    assert points[0][0] == NOON


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("01.07.2026 14:01:00;1.234;1;X", "Read KiB/s: '1.234' is not a number"),  # 1,234 with a thousands separator
        ("25.10.2026 02:30:00;1;2;X", "occurs twice or never in Europe/Berlin"),
        ("29.03.2026 02:30:00;1;2;X", "occurs twice or never in Europe/Berlin"),
    ],
)
def test_a_value_of_two_meanings_is_not_guessed(tmp_path: Path, row: str, why: str) -> None:
    before, after = readings(tmp_path), readings(tmp_path, text=f"{CSV}{row}\n")
    assert (after.points, after.bad[:-1]) == (before.points, before.bad)
    assert why in str(after.bad[-1])


def test_values_of_several_objects_at_one_time_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="line 10: an earlier row has this time and another Ops; export one object"):
        readings(tmp_path, text=f"{CSV}01.07.2026 14:00:00;;8;Y\n")
    assert readings(tmp_path, text=f"{CSV}{CSV.splitlines()[-1]}\n").bad == readings(tmp_path).bad


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[csv]", "[cvs]", "either [csv] or [prometheus]"),
        ('time = "Time"\n', "", "csv.time is missing"),
        ("decimal", "decimals", "csv.decimals is not known"),
        ('"Europe/Berlin"', '"Europe/Entenhausen"', "csv.zone must be a zone such as Europe/Berlin"),
        ('"Europe/Berlin"', '"+99:00"', "csv.zone must be a zone such as Europe/Berlin"),
        ('"counter"', '"count"', "column[1].kind is 'count'; it must be one of gauge, counter"),
        ('column = "Ops"', "column = 3", "column[1].column must be a text"),
        ('name = "read"', 'name = "Ops"', "a different name"),
        ('"array1"', '"a · b"', "an array's name"),
        ('delimiter = ";"', 'delimiter = ","', "and different"),
        ("[csv]", "[csv", "has a syntax error"),
    ],
)
def test_a_wrong_map_is_refused_with_the_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in MAP
    with pytest.raises(UsageError) as caught:
        read_map(written(tmp_path, "m.toml", MAP.replace(old, new)))
    assert message in str(caught.value)


def test_a_missing_column_is_reported_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no column 'Read KiB/s'; it has Time, Reads, Ops"):
        readings(tmp_path, text=CSV.replace("Read KiB/s", "Reads"))


def test_nothing_that_overlaps_is_refused_with_both_times(tmp_path: Path) -> None:
    found = readings(tmp_path)
    refuse_no_overlap(found, NOON + 45, NOON + 90, 0)
    refuse_no_overlap(found, NOON - 20, NOON - 5, 0)
    with pytest.raises(UsageError) as caught:
        refuse_no_overlap(found, NOON + 3600, NOON + 3700, 0)
    assert "the array has 2026-07-01 12:00:00 to 2026-07-01 12:00:50, the job ran 2026-07-01 13:00:00" in str(
        caught.value
    )
    refuse_no_overlap(found, NOON + 3600, NOON + 3700, 3600)
    with pytest.raises(UsageError, match="no values"):
        refuse_no_overlap(readings(tmp_path, text=CSV[:50]), 0, 1, 0)


@given(st.lists(st.tuples(st.integers(0, 10**9), st.floats(0, 1e15)), max_size=30))
def test_a_counters_rate_is_never_negative(points: list[tuple[float, float]]) -> None:
    column = Column(origin="c", name="c", unit="", counter=True, scale=1.0)
    assert all(value >= 0 for _, value in converted(column, points))


def test_the_clocks_offset_is_part_of_the_name() -> None:
    column = Column(origin="c", name="c", unit="MB/s", counter=False, scale=1.0)
    assert source_name("array1", column, 1.5) == "array1 · MB/s · clock +1.5 s"
    assert source_name("array1", column, 0) == "array1 · MB/s · clock unchanged"


@given(st.binary(max_size=300))
def test_junk_is_bad_rows_or_refused(tmp_path_factory: pytest.TempPathFactory, junk: bytes) -> None:
    """Nothing else comes of a file that is no table."""
    place = tmp_path_factory.mktemp("junk")
    (place / "a.csv").write_bytes(b"x\nTime;Read KiB/s;Ops\n" + junk)
    with contextlib.suppress(UsageError):
        read_csv(place / "a.csv", read_map(written(place, "m.toml", MAP)))
