"""docs/dev/results: the page says what the packages say, and each package checks."""

from __future__ import annotations

import dataclasses
import math
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks.results import __main__ as results
from benchmarks.results import campaign, figures_table, page, record, steps, tools
from benchmarks.results.bench import Bench, StepFailed, finished
from benchmarks.results.differs import differs
from benchmarks.results.sizes import SMALL, TINY
from benchmarks.results.storages import CannotBeHad, Place, Storage
from benchmarks.results.told import NOTHING, Told, told
from experiments.package.check import check
from experiments.package.manifest import broken, seal
from storage_tests.devices import Direct

PUBLISHED = [path.name for path in record.published()]


@pytest.fixture(scope="module")
def storages() -> Iterator[list[Told]]:
    """All that is published."""
    with told() as all_of_them:
        yield all_of_them


def test_the_page_is_what_the_packages_give(storages: list[Told]) -> None:
    """To the byte; where reports or the page's own words were changed: make results RESULTS_ARGS=--retell."""
    assert page.PAGE.read_text(encoding="utf-8") == page.page(storages)


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_lies_there_is_what_was_sealed(name: str) -> None:
    assert broken(record.PUBLISHED / name) == []


def test_a_package_of_each_kind_checks(storages: list[Told]) -> None:
    """Every figure of it is told again from what was observed; where telling was changed on purpose: --retell. All of them:
    make results RESULTS_ARGS=--check, minutes long."""
    some = {
        (one.results[name].workload, one.results[name].kind): path
        for one in storages
        for name, path in one.directories.items()
    }
    assert len(some) > 5
    assert [difference for path in some.values() for difference in check(path).differences] == []


def test_what_is_published_stays_small() -> None:
    """A clone is not to grow by what is measured."""
    assert sum(path.stat().st_size for path in record.PUBLISHED.rglob("*") if path.is_file()) < 10_000_000


def test_what_was_told_afterwards_is_no_prediction(storages: list[Told]) -> None:
    """A replay that was made again after the job is left out of the table."""
    both = [one for one in storages if {steps.LOOP, steps.CALIBRATION} <= set(one.results)]
    assert any(figures_table.replayed(one) != NOTHING for one in both)
    for one in both:
        jobs = one.results[steps.CALIBRATION]
        if figures_table.replayed(one) != NOTHING:
            replayed = [run.started_at for point in one.results[steps.LOOP].points for run in point.repeats]
            assert min(replayed) < min(run.started_at for point in jobs.points for run in point.repeats)


def test_a_changed_figure_changes_the_page(storages: list[Told]) -> None:
    """So that the comparison above is one."""
    one = next(one for one in storages if one.record["beside"])
    entry = next(entry for entry in one.record["beside"] if "values" in entry)
    whole = page.page(storages)
    before, entry["median"] = entry["median"], entry["median"] * 1.5
    try:
        assert page.page(storages) != whole
    finally:
        entry["median"] = before


def test_other_work_beside_is_said_first(storages: list[Told]) -> None:
    """Of the storage that it was beside, before any figure."""
    one = storages[0]
    before = [step["busy"] for step in one.record["steps"]]
    said = f"did other work beside** ({one.title})"
    try:
        for busy, expected in ((0.0, False), (0.9, True)):
            for step in one.record["steps"]:
                step["busy"] = busy
            assert (said in page.page([one]).partition("## The table")[0]) == expected
    finally:
        for step, busy in zip(one.record["steps"], before, strict=True):
            step["busy"] = busy


def test_every_difference_has_an_explanation(storages: list[Told]) -> None:
    """Whichever was faster, also of those that were within ten per cent this time; and it is another one for each way."""
    entries = [entry for one in storages for entry in one.record["beside"]]
    assert {entry["tool"] for entry in entries} == {"fio", "bonnie++", "sysbench", "dd"}
    assert all(differs(entry, 0.0) != differs(entry, entry["median"] + 1) for entry in entries)


def _package(state: Path) -> Path:
    package = state / "packages/one"
    (package / "raw").mkdir(parents=True)
    (package / "raw/study.json").write_text("{}")
    record.write(state, {"schema": record.SCHEMA})
    seal(package)
    return package


def test_packed_and_unpacked_is_the_same(tmp_path: Path) -> None:
    """Whenever and by whomever."""
    package = _package(tmp_path / "state")
    there = tmp_path / "packages/somewhere"
    record.publish(tmp_path / "state", there)
    first = (there / "one.tar.xz").read_bytes()
    (package / "raw/study.json").touch()
    assert record.packed(package) == first
    with record.unpacked(there) as found:
        assert broken(found["one"]) == []
        assert (found["one"] / "raw/study.json").read_text() == "{}"


def test_what_was_told_anew_since_is_not_published_as_it_was(tmp_path: Path) -> None:
    """By a command that goes on with what an older one measured; what is measured anew takes its place."""
    package = _package(tmp_path / "state")
    there = tmp_path / "packages/somewhere"
    shutil.copytree(tmp_path / "state", tmp_path / "later")
    (tmp_path / "later/packages/one/report.html").write_text("as it is told today")
    seal(tmp_path / "later/packages/one")
    record.publish(tmp_path / "later", there)
    record.publish(tmp_path / "state", there)
    with record.unpacked(there) as found:
        assert (found["one"] / "report.html").exists()
    (package / "raw/study.json").write_text("[]")
    seal(package)
    record.publish(tmp_path / "state", there)
    with record.unpacked(there) as found:
        assert (found["one"] / "raw/study.json").read_text() == "[]"
        assert not (found["one"] / "report.html").exists()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Over a directory of the disk."""
    storage = Storage(name="here", title="here", about="", kind="given", mounted=tmp_path)
    (tmp_path / "mnt").mkdir()
    place = Place(directory=tmp_path / "mnt")
    return Bench(storage=storage, place=place, mount=campaign._mounted(place.directory), sizes=TINY, work=tmp_path,
                 state=tmp_path / "state", trace=tmp_path / "trace", corpus=tmp_path / "corpus")  # fmt: skip


def test_a_step_that_fails_says_why_and_the_rest_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is tried again when it is gone on with; what was done is not made twice."""
    made: list[str] = []

    def fails(_: Bench) -> None:
        made.append("bad")
        raise StepFailed("the server is on fire")

    every = (
        steps.Step(name="bad", make=fails),
        steps.Step(name="good", make=lambda _: made.append("good")),
    )
    monkeypatch.setattr(campaign, "steps", lambda: every)
    monkeypatch.setattr(campaign, "STATE", tmp_path / "state")
    monkeypatch.setattr(record, "PUBLISHED", tmp_path / "published")
    (tmp_path / "state/recording").mkdir(parents=True)
    (tmp_path / "state/recording/trace").touch()
    (tmp_path / "mnt").mkdir()
    storage = Storage(name="here", title="here", about="", kind="given", mounted=tmp_path / "mnt")
    whole = campaign.Campaign(storages=[storage], sizes=TINY, minutes=None, began=0.0, places={})
    whole.carry_out()
    kept = record.read(tmp_path / "published/here")
    assert [(one["name"], one["why_not"]) for one in kept["steps"]] == [
        ("bad", "the server is on fire"),
        ("good", None),
    ]
    whole.carry_out()
    assert made == ["bad", "good", "bad"]


def test_what_was_begun_with_other_sizes_is_not_gone_on_with(tmp_path: Path) -> None:
    """A page that says `whole` would hold what is tiny."""
    storage = Storage(name="here", title="here", about="", kind="given", mounted=tmp_path)
    record.write(tmp_path, campaign._begun(tmp_path, storage, TINY, 0))
    assert campaign._begun(tmp_path, storage, TINY, 0)["size"] == "tiny"
    with pytest.raises(StepFailed, match="here was begun with sizes tiny: give --size tiny"):
        campaign._begun(tmp_path, storage, SMALL, 0)


def test_a_storage_that_cannot_be_had_is_a_column_that_says_so(tmp_path: Path) -> None:
    """Somebody's files are not touched."""
    (tmp_path / "theirs").touch()
    storage = Storage(name="here", title="here", about="", kind="given", mounted=tmp_path)
    with pytest.raises(CannotBeHad, match="no empty directory"), storage.up(tmp_path):
        pass
    assert (tmp_path / "theirs").exists()


def test_of_a_storage_that_is_given_only_what_was_written_goes(tmp_path: Path) -> None:
    """Its lost+found stays, and what others put there meanwhile; what it lies on is told, wherever it is mounted."""
    (tmp_path / "lost+found").mkdir()
    storage = Storage(name="here", title="here", about="", kind="given", mounted=tmp_path)
    with storage.up(tmp_path) as place:
        (place.directory / "root").mkdir()
        (tmp_path / "theirs").mkdir()
        assert campaign._mounted(tmp_path)
        assert campaign._mounted(place.directory) == campaign._mounted(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lost+found", "theirs"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--name ext4", "is what edbench itself measures"),
        ("--name recording", "is what edbench itself measures"),
        ("--name Our-Filer", "wants a --name"),
        ("--name our-filer --title a|b", "without |"),
    ],
)
def test_a_name_that_would_put_one_over_another_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, said: str
) -> None:
    """What is published of ext4 would be gone."""
    monkeypatch.setattr("sys.argv", ["results", "--mount", "/mnt", *words.split()])
    with pytest.raises(SystemExit):
        results._wish()
    assert said in capsys.readouterr().err


def test_of_a_storage_that_somebody_mounted_nobody_here_knows_the_servers(storages: list[Told]) -> None:
    """What the page says of one machine is not said of it."""
    assert "that somebody had mounted" not in page.page(storages)
    theirs = dataclasses.replace(
        storages[0], record=storages[0].record | {"storage": "our-filer", "title": "Our filer"}
    )
    assert "that somebody had mounted (Our filer)" in page.page([*storages, theirs])


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    """It is asked first, so that it removes what it wrote."""
    there, left = tmp_path / "there", tmp_path / "left"
    script = f'trap "echo gone > {there}; exit 1" INT; sleep 600 & echo $! > {left}; wait'
    with pytest.raises(StepFailed, match="ended after 1 s"):
        finished(["sh", "-c", script], 1.0)
    assert there.read_text() == "gone\n"
    until = time.monotonic() + 60
    while _lives(int(left.read_text())):
        assert time.monotonic() < until, "it goes on"
        time.sleep(0.01)


def test_a_step_ends_with_its_time_whatever_it_still_has_to_run(bench: Bench) -> None:
    """Six commands of four minutes each would be the whole half hour."""
    late = dataclasses.replace(bench, until=time.monotonic() + 0.5)
    with pytest.raises(StepFailed, match="ended after 1 s"):
        late.run(["sleep", "600"])


def test_what_is_no_longer_mounted_is_not_measured(tmp_path: Path, bench: Bench) -> None:
    """The figures would be those of the disk under the mount point, though it be of the same kind with the same options."""
    kept: dict[str, Any] = {"steps": []}
    made: list[str] = []
    assert bench.mount is not None
    gone = dataclasses.replace(bench, mount=dataclasses.replace(bench.mount, id=bench.mount.id + 1))
    campaign._make(gone, steps.Step(name="good", make=lambda _: made.append("good")), kept, None)
    assert [(one["name"], one["why_not"]) for one in kept["steps"]] == [("good", "the storage is not mounted any more")]
    assert made == []


def test_time_is_shared_out_by_what_storages_take(tmp_path: Path) -> None:
    """And what one does not need the next ones have."""
    storages = [
        Storage(name=name, title=name, about="", kind="tmpfs", share=share) for name, share in (("a", 1), ("b", 3))
    ]
    began = time.monotonic()
    whole = campaign.Campaign(storages=storages, sizes=TINY, minutes=8, began=began, places={})
    first, second = (whole._until(share) for share in (0.25, 1.0))
    assert first is not None
    assert first - began == pytest.approx(120, abs=5)
    assert second is not None
    assert second - began == pytest.approx(480, abs=5)
    asked: list[float] = []
    (tmp_path / "recording").mkdir()
    (tmp_path / "recording/trace").touch()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(campaign.Campaign, "_until", lambda _, share: asked.append(share))
        patched.setattr(campaign.Campaign, "_one", lambda *_: None)
        patched.setattr(campaign.record, "publish", lambda *_: 0)
        patched.setattr(campaign, "STATE", tmp_path)
        whole.carry_out()
        assert asked == [0.25, 1.0]
        patched.setattr(campaign.Campaign, "_until", lambda *_: time.monotonic() - 1)
        patched.setattr(campaign.Campaign, "_one", lambda *_: pytest.fail("there is no time for it"))
        patched.setattr(campaign.record, "publish", lambda *_: pytest.fail("what was published stays"))
        whole.carry_out()


def test_a_storage_that_is_given_is_asked_whether_it_takes_o_direct(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has mounted it cannot be expected to say so."""
    for found, through in ((Direct.WORKS, None), (Direct.CACHED, None), (Direct.REFUSED, "io_uring")):
        monkeypatch.setattr("benchmarks.results.bench.direct_on", lambda _path, found=found: found)
        assert steps._block(bench).get("engine") == through


@pytest.mark.parametrize(("rate", "files"), [(math.inf, 200_000), (2_000.0, 40_000), (10.0, 24_000)])
def test_insertions_last_no_longer_than_wanted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, rate: float, files: int
) -> None:
    """In whole groups, and in enough of them for a drift to show."""
    monkeypatch.setattr(steps, "_empty_rate", lambda _: rate)
    asked = steps._drift(dataclasses.replace(bench, sizes=SMALL))
    assert (asked["files"], asked["group"]) == (files, 2_000)


def test_another_program_that_is_not_there_is_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a row."""
    monkeypatch.setenv("PATH", "/nonexistent")
    assert [entry["why_not"] for entry in tools.metadata(bench)] == ["there is no fio", "there is no bonnie++"]


def test_dd_is_read_as_it_prints(bench: Bench) -> None:
    """Bytes over its own seconds."""
    said: dict[str, Any] = {"package": "matrix", "figure": "write_mb_per_s", "at": {}, "unit": "MB/s", "what": "x"}
    (bench.state / "packages/matrix").mkdir(parents=True)
    entry = tools._told(bench, "dd", "x", lambda: tools._dd_write(bench, 1 << 20), said)
    assert len(entry["values"]) == TINY.tool_repeats
    assert min(entry["values"]) > 0
