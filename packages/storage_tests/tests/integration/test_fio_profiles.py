"""Profiles that fio makes the load of, run whole, and what is relied on of fio itself."""

import os
import subprocess
from pathlib import Path

import pytest
from debian_programs import program
from profile_runs import carried_out

from core.errors import RunFailed, UsageError
from experiments import summary as package
from experiments.package.manifest import seal
from experiments.result.schema import Result
from experiments.summary import Entry, Summary, package_of
from storage_tests.fio import Done, FioRun, Job, fio, ios, written
from storage_tests.matrix import OPS, cache_ratio
from storage_tests.profile import Arena, Targets, made

KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture(autouse=True)
def _fio() -> None:
    program("fio", "fio")


def ran(place: Path, *jobs: Job) -> tuple[Done, ...]:
    """On one path."""
    under_test = place / "there"
    under_test.mkdir(exist_ok=True)
    return fio(jobs, [under_test], place / "scratch", lambda _line: None).jobs


PROFILES = {
    "block-8k": (
        [
            "cases=1,6",
            "path_size=2MiB",
            "seconds=1",
            "most_outstanding=2",
            "most_ms=1e6",
            "engine=posixaio",
            "direct=false",
        ],
        3,
    ),
    "matrix": (["threads=2", "records=64KiB", "files=256KiB,1MiB", "seconds=0"], 2),
    "self-check": (["file_size=1MiB"], 4),
}


@pytest.mark.parametrize("name", ["block-8k", "self-check"])
def test_a_profile_of_fio_is_a_study(name: str, tmp_path: Path) -> None:
    under_test = tmp_path / "under:test 100%"
    under_test.mkdir()
    given, points = PROFILES[name]
    result, _ = carried_out(name, Targets(paths=() if name == "self-check" else (under_test,)), given, tmp_path)
    assert len(result.points) >= points
    assert all(run.latency for point in result.points for run in point.repeats)
    if name != "self-check":
        assert all(run.null_elapsed_s is not None for point in result.points for run in point.repeats)


def test_the_matrix_has_a_map_of_every_operation(tmp_path: Path) -> None:
    """All four were made, of every byte, in every cell; the series has GB/hour beside MB/s; the package tells the same again."""
    under_test = tmp_path / "there"
    under_test.mkdir()
    given, points = PROFILES["matrix"]
    result, directory = carried_out("matrix", Targets(paths=(under_test,)), given, tmp_path)
    assert len(result.points) == points
    for point in result.points:
        run = point.repeats[0]
        assert isinstance(run, FioRun)
        assert set(run.ops) == set(OPS)
        assert not any(one.cut for one in run.ops.values())
        assert cache_ratio(run) is not None
    for op in OPS:
        header, *rows = (directory / "series" / f"heat-{op}.csv").read_text().splitlines()
        assert header.split(",")[-2:] == ["mb_per_s", "gb_per_hour"]
        assert len(rows) == points
        assert all(float(row.split(",")[-1]) == pytest.approx(3.6 * float(row.split(",")[-2])) for row in rows)
        assert (directory / "figures" / f"heat-{op}.png").is_file()


def test_samples_of_the_ramp_up_are_in_no_figure(tmp_path: Path) -> None:
    """At a fixed rate: what the samples by second add up to is what was counted after the ramp-up."""
    steady = Job(name="steady", does="randread", files=("0/file",), block=4 * KIB, size=MIB, seconds=2, ramp_seconds=2,
                 options=(("rate_iops", "50"),))  # fmt: skip
    jobs = ran(tmp_path, steady)
    assert ios(jobs) > 0
    assert sum(count for _, count, _ in jobs[0].by_second) <= 1.1 * ios(jobs)


def test_a_job_meets_its_files_as_the_job_before_left_them(tmp_path: Path) -> None:
    """fio lays out every job's files at the start unless it is told not to: what is written would be there before."""
    write = Job(name="write", does="write", files=("0/file",), block=64 * KIB, size=256 * KIB)
    read = Job(name="read", does="read", files=("0/file",), block=64 * KIB, size=None, after=True)
    written, again = ran(tmp_path, write, read)
    assert (written.write.bytes, again.read.bytes) == (256 * KIB, 256 * KIB)
    with pytest.raises(RunFailed):
        ran(tmp_path / "there", Job(name="read", does="read", files=("0/none",), block=64 * KIB, size=None))


def test_what_has_no_time_is_cut(tmp_path: Path) -> None:
    """Written for a second at a rate at which it would take a minute; what is read is what was written."""
    slow = Job(name="write", does="write", files=("0/file",), block=64 * KIB, size=60 * MIB, most_seconds=1,
               options=(("rate", "1m"),))  # fmt: skip
    read = Job(name="read", does="read", files=("0/file",), block=64 * KIB, size=None, after=True)
    written, again = ran(tmp_path, slow, read)
    assert 0 < written.write.bytes < 60 * MIB
    assert again.read.bytes == written.write.bytes


@pytest.mark.parametrize(("size", "block"), [(1_500_000 // 8192 * 8192, 8192), (3 * 65536, 65536), (4096, 4096)])
def test_files_are_written_to_the_last_byte(size: int, block: int, tmp_path: Path) -> None:
    """fio would lay out one that is too small for a job again, as that begins: it would be read from this host's cache."""
    arena = Arena(paths=(tmp_path,), scratch=tmp_path / "scratch")
    written(arena, ["0/file"], size, block)
    assert (tmp_path / "file").stat().st_size == size


def test_streams_read_and_write_on_one_to_all_disks(tmp_path: Path) -> None:
    """Promise: each disk has its streams, which read and write whole blocks of their files; written files are gone, and a scheduler
    that cannot be set is reported."""
    paths = tuple(tmp_path / name for name in ("one", "two"))
    for path in paths:
        path.mkdir()
    sizes = ["file_size=1500KB", "block=64KiB"]
    given = ["streams=2", *sizes, "disks=1,2", "does=read,write", "schedulers=no-such-scheduler"]
    result, directory = carried_out("stream", Targets(paths=paths), given, tmp_path)
    assert [str(point.at) for point in result.points] == [
        f"{does}{disks}, scheduler no-such-scheduler, 2 streams"
        for disks in ("1 disk", "2 disks")
        for does in ("read, ", "write, ")
    ]
    for point in result.points:
        (run,) = point.repeats
        assert isinstance(run, FioRun)
        assert run.bytes == point.at.values()["disks"] * 2 * (1_500_000 // 65536 * 65536)
        assert run.latency
        assert run.null_elapsed_s is not None
        assert len(run.tuned) == point.at.values()["disks"]
        assert all("scheduler" in " ".join(one.refused) for one in run.tuned)
    assert "Not set: " in (directory / "report.html").read_text()
    with pytest.raises(UsageError, match="there are 2 paths"):
        carried_out("stream", Targets(paths=paths), ["disks=3"], tmp_path)


def summarised(tmp_path: Path) -> tuple[Path, Result]:
    """Of one test that was measured, and one that was not."""
    under_test = tmp_path / "there"
    under_test.mkdir()
    result, directory = carried_out("stream", Targets(paths=(under_test,)), ["streams=1", "file_size=1MiB"], tmp_path)
    summary = Summary(
        run_id="all-1", created=1e9, edbench="1", paths=(str(under_test),),
        entries=(Entry(name="stream", report="R4"), Entry(name="block-8k", report="R2", why_not="does not support O_DIRECT")),
    )  # fmt: skip
    whole = tmp_path / "all"
    package_of(whole, summary.entries[0]).parent.mkdir(parents=True)
    directory.rename(package_of(whole, summary.entries[0]))
    package.finish(summary, whole)
    return whole, result


def test_a_summary_is_a_package_of_packages(tmp_path: Path) -> None:
    """Its page has the headline and why the other is missing; it is told again, and a figure that is altered is found."""
    whole, result = summarised(tmp_path)
    page = (whole / "report.html").read_text()
    assert "does not support O_DIRECT" in page
    assert f"{result.points[0].figures['mb_per_s'].median:,.1f} MB/s" in page
    assert 'href="packages/stream/report.html"' in page
    assert package.check(whole).differences == ()
    (whole / "report.html").write_text(page.replace("does not support O_DIRECT", "was forgotten"))
    seal(whole)
    assert "report.html: differs from the report computed from the packages" in package.check(whole).differences
    (whole / "report.html").write_text(page)
    seal(whole)
    (whole / "packages" / "stream" / "result.json").write_text("{}")
    assert any(line.startswith("packages/stream") for line in package.check(whole).differences)


def test_o_direct_is_refused_where_it_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from storage_tests import study
    from storage_tests.devices import Direct

    monkeypatch.setattr(study, "direct_on", lambda _path: Direct.REFUSED)
    under_test = tmp_path / "there"
    under_test.mkdir()
    with pytest.raises(UsageError, match="does not support O_DIRECT: --set direct=false"):
        carried_out("stream", Targets(paths=(under_test,)), ["direct=true"], tmp_path)
    assert list(under_test.iterdir()) == []


@pytest.mark.parametrize("named", [True, False], ids=["tree", "corpus"])
def test_tar_reads_a_real_tree(named: bool, tmp_path: Path) -> None:
    """Promise: as many bytes as tar makes of it, by each stream; links, FIFOs and odd names included, and nothing is left behind."""
    tree, under_test = tmp_path / "tree", tmp_path / "there"
    (tree / "a" / "b").mkdir(parents=True)
    under_test.mkdir()
    for number in range(30):
        (tree / "a" / f"{number}").write_bytes(bytes(range(256)) * 4 * number)
    (tree / "a" / "link").symlink_to("/nowhere")
    os.mkfifo(tree / "pipe")
    Path(os.fsdecode(os.fsencode(tree) + b"/a/b/odd\xff\n")).write_bytes(b"x" * 5)
    given = ["does=read,tar", "streams=1,2", "file_size=1MiB", *([f"tree={tree}"] if named else [])]
    result, _ = carried_out("stream", Targets(paths=(under_test,)), given, tmp_path)
    read = {point.at.streams: point.repeats[0] for point in result.points if point.at.does == "tar"}
    assert len(result.points) == 4
    assert read[2].bytes == 2 * read[1].bytes
    assert (read[1].latency, read[1].bytes % 10_240) == ({}, 0)
    if named:
        made = subprocess.run(["tar", "-C", tree, "-cf", "-", "."], stdout=subprocess.PIPE, check=True).stdout
        assert read[1].bytes == len(made)
    assert "tar, tier 1" in result.verdict


def test_a_tree_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"tree=.*is not a directory"):
        made("stream", Targets(paths=(tmp_path,)), ["does=tar", f"tree={tmp_path / 'none'}"], small=True).room()
