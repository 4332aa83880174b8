"""Names: bytes on disk, text for people."""

import base64
import json
import os
import re
import uuid
from datetime import UTC, datetime, timedelta
from importlib import resources
from zoneinfo import ZoneInfo, reset_tzpath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tzlocal.windows_tz import win_tz

from core.dates import asked_in_utc, checked_zone, in_utc, zone_named
from core.errors import UsageError
from core.names import MAX_NAME_BYTES, display_name, is_lossy, json_name, unsafe_name
from core.operations import Op
from core.places import NO_PARENT, index_location, item_id, item_location, job_location, number
from core.records import FsyncPolicy, JobOptions, JobState, Layout, Limits, OcrChoice
from readers.records import Kind
from worker.items.loose import own_name

_NAMES = st.one_of(
    st.binary(max_size=40),
    st.text(max_size=20).map(lambda t: t.encode("utf-8", "surrogatepass")),
    st.lists(st.sampled_from([b"..", b"/", b"\\", b"a", b"\0", b"C:", b".", b"x" * 256]), max_size=5).map(b"".join),
)


@given(_NAMES)
def test_display_text_can_be_stored_and_printed(name: bytes) -> None:
    shown = display_name(name)
    assert "\0" not in shown
    shown.encode("utf-8")
    assert all(c.isprintable() or c == "\u00a0" for c in shown)
    assert shown == display_name(bytes(name))
    if not is_lossy(name):
        assert shown.encode("utf-8") == name


@given(_NAMES)
def test_json_gives_the_name_back(name: bytes) -> None:
    out = json.loads(json.dumps(json_name(name)))
    if "name_b64" in out:
        assert base64.b64decode(out["name_b64"]) == name
    else:
        assert out["name"].encode("utf-8") == name


@given(_NAMES)
def test_a_name_that_is_not_unsafe_stays_inside(name: bytes) -> None:
    if unsafe_name(name) is None:
        assert b"\0" not in name
        for form in (name, name.replace(b"\\", b"/")):
            place = os.path.normpath(os.path.join(b"/jobs/items", form))
            assert place == b"/jobs/items" or place.startswith(b"/jobs/items/")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"plain.txt", "plain.txt"),
        ("Größe 😀".encode(), "Größe 😀"),
        (b"m\xfcller", "m\\xfcller"),
        (b"a\0b", "a\\x00b"),
        (b"a\nb\x1b[31m", "a\\nb\\x1b[31m"),
        ("a\u202eb".encode(), "a\\u202eb"),
        (b"", ""),
    ],
)
def test_what_people_see(name: bytes, shown: str) -> None:
    """Text stays as it is; everything else is spelled out, terminal escapes and direction marks among it."""
    assert display_name(name) == shown
    assert is_lossy(name) is (shown.encode() != name)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (b"../x", "climbs"),
        (b"a/../../x", "climbs"),
        (b"..\\x", "climbs"),
        (b"/etc/passwd", "absolute"),
        (b"\\\\server\\x", "absolute"),
        (b"C:\\x", "absolute"),
        (b"a\0b", "NUL"),
        (b"x" * (MAX_NAME_BYTES + 1), "255"),
        (b"a/" + b"x" * 300 + b"/b", "255"),
    ],
)
def test_hostile_names_are_reported_with_the_reason(name: bytes, why: str) -> None:
    assert why in str(unsafe_name(name))


@pytest.mark.parametrize("name", [b"a..b", b"...", b"a/b.txt", b"x" * MAX_NAME_BYTES, b"", b".", b"\xff\xfe"])
def test_odd_but_harmless_names_pass(name: bytes) -> None:
    assert unsafe_name(name) is None


@pytest.mark.parametrize(
    ("kind", "name", "shown", "own"),
    [
        (Kind.LOOSE_FILE, b"priv.txt", "bob/Legal/priv.txt", "priv.txt"),
        (Kind.LOOSE_FILE, b"m\xfc\\x.txt", "bob/m\\xfc\\x.txt", "m\\xfc\\x.txt"),
        (Kind.MESSAGE, b"Top/Inbox/Tiger", "Top/Inbox/Tiger", "Tiger"),
        (Kind.ARCHIVE_MEMBER, b"in/one.txt", "in/one.txt", "one.txt"),
        (Kind.ARCHIVE_MEMBER, b"in/sub/", "in/sub/", "sub"),
        (Kind.ARCHIVE_MEMBER, b"in\\one.txt", "in\\one.txt", "one.txt"),
        (Kind.ARCHIVE_MEMBER, b"in\\sub\\", "in\\sub\\", "sub"),
        (Kind.ARCHIVE_MEMBER, b"in\\a/one.txt", "in\\a/one.txt", "one.txt"),
        (Kind.ARCHIVE_MEMBER, b"m\xfc.txt", "m\\xfc.txt", "m\\xfc.txt"),
        (Kind.ARCHIVE_MEMBER, b"\xaf/\xaf.txt", "\u043f/\u043f.txt", "\u043f.txt"),  # in the charset of its archive
        (Kind.ARCHIVE_MEMBER, b"in/one.txt", "in/one.txt (2)", "one.txt"),
        (Kind.EMBEDDED_OBJECT, b"word/media/image1.png", "word/media/image1.png", "image1.png"),
        (Kind.ATTACHMENT, b"2024/05 plan.txt", "2024/05 plan.txt", "2024/05 plan.txt"),
        (Kind.ATTACHMENT, b"report.txt", "report.txt (2)", "report.txt"),
        (Kind.ATTACHMENT, b"report (2)", "report (2)", "report (2)"),
        (Kind.ATTACHMENT, b"", "", ""),
    ],
)
def test_an_items_own_name_has_nothing_of_where_it_stands(kind: Kind, name: bytes, shown: str, own: str) -> None:
    assert own_name(name, shown, kind) == own


JOB, PARENT = uuid.UUID(int=1), uuid.UUID(int=2)


def test_ids_never_change() -> None:
    assert item_id(JOB, None, b"a/b") == uuid.UUID("ceff4a48-c20a-092c-71f3-4fabfa78a476")
    assert item_id(JOB, PARENT, number(7)) == uuid.UUID("c55ae239-d801-d612-9959-3393ee604aa5")


def test_ids_differ_by_job_parent_and_ordinal() -> None:
    ids = {
        item_id(job, parent, ordinal)
        for job in (JOB, PARENT)
        for parent in (None, JOB, PARENT)
        for ordinal in (b"", b"a", number(0), number(10), b"#1")
    }
    assert len(ids) == 2 * 3 * 5
    assert item_id(JOB, None, b"a") == item_id(JOB, NO_PARENT, b"a")


@given(st.uuids(), st.sampled_from(list(Layout)), st.text("abcAW0123-", min_size=1, max_size=9))
@settings(max_examples=60, deadline=None, database=None)
def test_an_items_place_lies_in_its_jobs_folder(item: uuid.UUID, layout: Layout, worker: str) -> None:
    """Only ids make up the place, so that nothing from the data can lead outside."""
    place = item_location(JOB, item, layout, worker)
    assert place.startswith(job_location(JOB) + b"/items/")
    assert place.endswith(item.hex[:2].encode() + b"/" + item.hex.encode())
    assert place.split(b"/")[3:-2] == ([worker.lower().encode()] if layout is Layout.PER_WORKER else [])
    assert index_location(JOB, item) == job_location(JOB) + b"/index/" + item.hex.encode()


@pytest.mark.parametrize("name", ["..", ".", "a/b", "É", "\udcff", "../../x"])
def test_a_workers_folder_is_one_plain_name(name: str) -> None:
    place = item_location(JOB, PARENT, Layout.PER_WORKER, name)
    assert re.fullmatch(rb"[a-z0-9_-]+", place.removeprefix(job_location(JOB) + b"/items/").split(b"/", 1)[0])
    assert len(place.split(b"/")) == 6


def test_workers_whose_names_differ_in_case_share_a_folder() -> None:
    here, there = (item_location(JOB, PARENT, Layout.PER_WORKER, name) for name in ("Rack-A-w1", "rack-a-W1"))
    assert here == there


def test_job_options_survive_the_database() -> None:
    options = JobOptions(
        single_pass=True,
        fsync=FsyncPolicy.FILE,
        layout=Layout.PER_WORKER,
        limits=Limits(depth=2),
        split_bytes=5,
        ocr=OcrChoice(languages="eng+deu", dpi=200),
    )
    assert JobOptions.from_json(json.loads(json.dumps(options.to_json()))) == options
    assert JobOptions.from_json({}) == JobOptions()
    with pytest.raises(TypeError, match="future"):
        JobOptions.from_json({"future": 1})


def test_only_a_job_that_asks_has_a_phase_ocr() -> None:
    assert [*JobOptions().phases] == ["walk", "expand", "index", "finalise"]
    assert [*JobOptions(ocr=OcrChoice(languages="eng")).phases] == ["walk", "expand", "index", "ocr", "finalise"]


def test_states_that_are_over() -> None:
    assert {s.value for s in JobState if s.over} == {"cancelled", "completed", "completed_with_exceptions", "deleting"}


def test_operation_numbers_are_part_of_the_formats() -> None:
    """Frames and traces of earlier versions stay readable."""
    assert [(op.label, int(op)) for op in Op] == [
        ("scan", 0), ("stat", 1), ("open", 2), ("read", 3), ("create", 4), ("write", 5),
        ("fsync", 6), ("close", 7), ("rename", 8), ("remove", 9), ("mkdir", 10),
    ]  # fmt: skip


_NAMES_CORE_DATES = sorted((resources.files("tzdata") / "zones").read_text().split())


def _zone(name: str) -> ZoneInfo:
    zone = zone_named(name)
    assert zone is not None
    return zone


@pytest.mark.parametrize(
    ("date", "wanted"),
    [
        ("2024-01-02T10:00:00", "2024-01-02T09:00:00Z"),
        ("2024-07-02T10:00:00", "2024-07-02T08:00:00Z"),
        ("2024-03-31T02:30:00", "2024-03-31T01:30:00Z"),  # skipped: half an hour behind 01:59:59, so 03:30 there
        ("2024-10-27T02:30:00", "2024-10-27T00:30:00Z"),  # there twice: the first
        ("2024-10-27T03:00:00", "2024-10-27T02:00:00Z"),
        ("2024-07-01T00:30:00.123456789", "2024-06-30T22:30:00.123456789Z"),
        ("1880-01-01T00:00:00", "1879-12-31T23:06:32Z"),  # mean time of the place
        ("2020-03-06T16:20:51+08:00", "2020-03-06T08:20:51Z"),
        ("2020-03-06T16:20:51-00:30", "2020-03-06T16:50:51Z"),
        ("2020-03-06T16:20:51+00:00", "2020-03-06T16:20:51Z"),
        ("2020-03-06T16:20+08:00", "2020-03-06T08:20:00Z"),
        ("2024-01-02T10:00:00[America/New_York]", "2024-01-02T15:00:00Z"),
        ("2024-01-02T10:00:00[W. Europe Standard Time]", "2024-01-02T09:00:00Z"),
        (
            "2024-07-02T10:00:00[Eastern Standard Time]",
            "2024-07-02T14:00:00Z",
        ),  # Windows' name of New York's, summer or not
        ("2024-01-02T10:00:00[India Standard Time]", "2024-01-02T04:30:00Z"),
        ("2024-01-02T10:00:00[Customized Time Zone]", "2024-01-02T09:00:00Z"),
        ("2024-01-02T10:00:00[../../../etc/passwd]", "2024-01-02T09:00:00Z"),
    ],
)
def test_a_time_is_given_in_utc(date: str, wanted: str) -> None:
    """By its offset or the zone that it names, else by Berlin's."""
    assert in_utc(date, _zone("Europe/Berlin")) == wanted


@pytest.mark.parametrize(
    "date",
    ["2024-01-02", "2024-01-02T10:00:00Z", "2024-02-30T10:00:00", "2024-01-02T25:00:00", "0001-01-01T00:00:00",
     "9999-12-31T23:59:59-01:00", "2024-01-02T10:00:00+99:00", "yesterday", "", "2024-01-02T10:00:00Z\n"],
)  # fmt: skip
def test_what_has_no_time_in_utc_stays(date: str) -> None:
    """A day, what is in UTC, what is no date, and what would lie outside the calendar."""
    assert in_utc(date, _zone("Europe/Berlin")) == date


@given(st.sampled_from(_NAMES_CORE_DATES), st.datetimes(datetime(1900, 1, 2), datetime(2100, 1, 1)))
def test_in_every_zone_a_time_is_the_one_that_its_clocks_showed(name: str, local: datetime) -> None:
    """The moment's local time is the one that was noted; one that was skipped is moved ahead by as much as was skipped, and
    of two moments with this local time it is the first."""
    local = local.replace(microsecond=0)
    zone = _zone(name)
    moment = datetime.fromisoformat(in_utc(local.isoformat(), zone))
    shown = moment.astimezone(zone)
    ahead = shown.replace(tzinfo=None) - local
    if ahead:
        before, after = (zone.utcoffset((moment + timedelta(days=way)).astimezone(zone)) for way in (-1, 1))
        assert ahead == shown.utcoffset() - zone.utcoffset(local.replace(tzinfo=zone))  # type: ignore[operator]
        assert ahead > timedelta(0) or before == after
    other = local.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if other.astimezone(zone).replace(tzinfo=None) == local and not ahead:
        assert moment <= other


def test_zones_are_available_without_the_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    reset_tzpath(())
    try:
        zone_named.cache_clear()
        assert in_utc("2024-07-02T10:00:00", _zone("Europe/Berlin")) == "2024-07-02T08:00:00Z"
    finally:
        reset_tzpath()
    assert all(zone_named(name) is not None for name in _NAMES_CORE_DATES)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("europe/berlin", "did you mean Europe/Berlin?"),
        ("Europe/Belin", "did you mean Europe/Berlin?"),
        ("+02:00", "use a name such as Europe/Berlin"),
        ("../etc/passwd", "use a name such as"),
        ("", "use a name such as"),
        ("Europe", "there is no zone 'Europe'"),
    ],
)
def test_a_zone_that_is_none_is_refused_in_one_line(name: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        checked_zone(name)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert refused.value.field == "time_zone"


@pytest.mark.parametrize(
    ("date", "asked"),
    [
        ("2001-06-30T17:45:00+02:00", "2001-06-30T15:45:00"),
        ("2001-06-30T17:45:09Z", "2001-06-30T17:45:09"),
        ("2001-06-30T17:45+02:00", "2001-06-30T15:45"),
        ("2001-06-30T17:45+0200", "2001-06-30T15:45"),  # as headers of mail have it
        ("2001-06-30T17:45-05:30", "2001-06-30T23:15"),
        ("2001-06-30T23:45-05:00", "2001-07-01T04:45"),
        ("2001-06-30T17:45Z", "2001-06-30T17:45"),
        ("2001-06-30T17:45:00", "2001-06-30T17:45:00"),
        ("2001-06-30T17:45", "2001-06-30T17:45"),
        ("2001-06-30T17", "2001-06-30T17"),
        ("2001-06-30T17:45:00.5", "2001-06-30T17:45:00"),
        ("2001-06-30T17:45:00.000Z", "2001-06-30T17:45:00"),  # as JavaScript has it
        ("2001-06-30T17:45:00.25+02:00", "2001-06-30T15:45:00"),
        ("2001-06-31", "2001-06-31"),  # the end of a range
        ("2001-06-30", "2001-06-30"),
        ("2001-06", "2001-06"),
        ("2001", "2001"),
    ],
)
def test_a_query_is_in_utc(date: str, asked: str) -> None:
    assert asked_in_utc(date) == asked


@pytest.mark.parametrize(
    "date",
    ["", "20010630", "2001-13", "2001-06-32", "2001-06-30T", "2001-06-30T99:99", "2001-06-30T24:00", "2001-06-30T17:60",
     "2001-06-30T17:45:61", "2001-06-30T17:4", "2001-06-30T1745", "2001-06-31T17:45", "2001-06-30T17+02:00",
     "2001-06-30T17:45+2", "2001-06-30T17:45+02", "2001-06-30T17:45+99:00", "2001-06-30T17:45+02:75",
     "2001-06-30T17:45ZZ", "2001-06-30T17:45CET", "2001-06-30Z", "2001-06-30+02:00",
     "0001-01-01T00:00+02:00", "9999-12-31T23:59-02:00", "2001-06-30T17:45\n", "٢٠٠١"],
)  # fmt: skip
def test_a_query_without_a_date_gives_none(date: str) -> None:
    """It would find nothing, and excluded exclude nothing."""
    assert asked_in_utc(date) is None


def test_every_name_of_windows_is_a_zone_and_none_that_a_job_may_have() -> None:
    """What Outlook and Exchange write into calendars; jobs are told by the names that people know."""
    assert len(win_tz) > 130
    assert all(zone_named(name) is not None for name in win_tz)
    with pytest.raises(UsageError, match="there is no zone 'Eastern Standard Time'"):
        checked_zone("Eastern Standard Time")
