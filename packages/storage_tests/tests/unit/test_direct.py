"""What O_DIRECT is on a path is tried, and told where it is not what was asked for."""

import ctypes
import dataclasses
import errno
import json
import mmap
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from memory_traces import write_trace
from replay_traces import FILE_BYTES, reading_trace

from core.content import Content
from core.errors import StorageFault, UsageError
from core.operations import NullRecorder
from core.records import FsyncPolicy
from core.storage.files import ReadFile
from storage_tests import devices, owner, profile
from storage_tests.about import ProfileWording, shared_file_systems
from storage_tests.devices import Direct, direct_on, loops_through_cache, restore_dead, tuned
from storage_tests.fio import Job, job_file
from storage_tests.owner import MARKER, claimed, forget_dead, started_of, this_process
from storage_tests.profile import Targets, made, refuse_room
from storage_tests.stores import PathStore

EINVAL, ENOSPC = 22, 28


def test_nothing_is_left_by_the_trial(tmp_path: Path) -> None:
    assert direct_on(tmp_path) in set(Direct)
    assert list(tmp_path.iterdir()) == []


def test_what_memory_answers_is_not_past_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if direct_on(tmp_path) is Direct.REFUSED:
        pytest.skip("temporary files take no O_DIRECT here")
    monkeypatch.setattr(devices, "resident_bytes", lambda _file: 4096)
    assert direct_on(tmp_path) is Direct.CACHED
    monkeypatch.setattr(devices, "resident_bytes", lambda _file: 0)
    assert direct_on(tmp_path) is Direct.WORKS


@pytest.mark.parametrize(("dio", "cached"), [("0", True), ("1", False), (None, False)])
def test_a_loop_device_keeps_its_file_in_the_cache(tmp_path: Path, dio: str | None, cached: bool) -> None:
    device = tmp_path / "block" / "loop7"
    (device / "loop7p1").mkdir(parents=True)
    if dio is not None:
        (device / "loop").mkdir()
        (device / "loop" / "dio").write_text(f"{dio}\n")
    for number, there in (("7:7", device), ("259:0", device / "loop7p1")):
        (tmp_path / number).symlink_to(there)
        assert loops_through_cache(tmp_path / number) is cached


def refusing(number: int) -> Callable[..., int]:
    """An open(2) that fails."""

    def refuse(*_arguments: object, **_named: object) -> int:
        raise OSError(number, os.strerror(number))

    return refuse


def test_one_that_refuses_the_flag_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "open", refusing(EINVAL))
    assert direct_on(tmp_path) is Direct.REFUSED
    monkeypatch.setattr(os, "open", refusing(ENOSPC))
    with pytest.raises(StorageFault):
        direct_on(tmp_path)


def at(path: str, device: int, source: str, **more: object) -> dict[str, Any]:
    """A target as the surroundings have it."""
    return {"path": path, "device": device, "label": "local storage (ext4)", "mount": {"source": source}} | more


@pytest.mark.parametrize(
    ("targets", "reported"),
    [
        ((at("/a", 1, "/dev/sda"), at("/b", 1, "/dev/sda")), 1),  # two directories of one
        ((at("/a", 1, "server:/v"), at("/b", 2, "server:/v")), 1),  # mounted twice
        ((at("/a", 1, "/dev/sda"), at("/b", 2, "/dev/sdb")), 0),
        ((at("/a", 1, "tmpfs"), at("/b", 2, "tmpfs")), 0),  # two, whatever both are called
        ((at("/a", 1, "/dev/sda"), at("/b", 2, "/dev/sdb"), at("/c", 1, "/dev/sda")), 1),
    ],
)
def test_paths_on_one_file_system_are_reported(targets: tuple[dict[str, Any], ...], reported: int) -> None:
    shown = list(shared_file_systems(targets))
    assert len(shown) == reported
    assert all("/a" in line and "one file system" in line for line in shown)


def test_what_was_asked_for_and_not_had_is_a_warning() -> None:
    cached, works = at("/a", 1, "/dev/sda", direct="taken, but through this host's page cache"), at("/b", 2, "/dev/sdb")
    shown = ProfileWording({"targets": [cached, works | {"direct": str(Direct.WORKS)}]}).warnings(())
    assert len(shown) == 1
    assert shown[0].startswith("/a: O_DIRECT was requested")


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A device's, as the kernel shows it; two paths lie on it."""
    there = tmp_path / "sys" / "vdz" / "queue"
    there.mkdir(parents=True)
    (there / "scheduler").write_text("[none] mq-deadline bfq\n")
    (there / "read_ahead_kb").write_text("128\n")
    monkeypatch.setattr(devices, "queue_of", lambda path: there)
    return there


def test_they_are_set_and_put_back(queue: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    with tuned([tmp_path, tmp_path], "bfq", 512, ledger) as reported:
        assert (queue / "scheduler").read_text() == "bfq"
        assert [(one.device, one.scheduler, one.read_ahead_kb, one.refused) for one in reported] == [
            ("vdz", "bfq", 512, ())
        ] * 2
        with tuned([tmp_path], "none", None, ledger) as second:
            assert second[0].refused == ("vdz: another command changed its queue",)
            assert second[0].scheduler == "bfq"
    assert ((queue / "scheduler").read_text(), (queue / "read_ahead_kb").read_text()) == ("none", "128")
    assert list(ledger.iterdir()) == []


def test_nothing_is_touched_where_nothing_is_asked_for(queue: Path, tmp_path: Path) -> None:
    with tuned([tmp_path], "", None, tmp_path / "ledger") as (reported,):
        assert (reported.scheduler, reported.read_ahead_kb, reported.refused) == ("none", 128, ())
    assert (queue / "scheduler").read_text() == "[none] mq-deadline bfq\n"
    assert not (tmp_path / "ledger").exists()


def test_what_cannot_be_kept_is_not_set(queue: Path, tmp_path: Path) -> None:
    """A setting that nobody could put back is worse than none; it is said."""
    (tmp_path / "file").write_text("in the way")
    with tuned([tmp_path], "bfq", None, tmp_path / "file") as (reported,):
        assert "not changed" in reported.refused[0]
        assert reported.scheduler == "none"


def test_a_path_without_a_device_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(devices, "queue_of", lambda path: None)
    with tuned([tmp_path], "bfq", None, tmp_path / "ledger") as (reported,):
        assert reported.refused == ("path 1 has no block device on this host; not set: scheduler",)
        assert reported.device == ""


def test_what_a_killed_command_left_is_put_back_by_the_next(queue: Path, tmp_path: Path) -> None:
    ledger, owner = tmp_path / "ledger", this_process()
    ledger.mkdir()
    kept = {"queue": str(queue), "values": {"scheduler": "mq-deadline", "read_ahead_kb": "64", "../odd": "x"}}
    file = ledger / "vdz.json"
    file.write_text(json.dumps({"owner": dataclasses.asdict(owner), **kept}))
    restore_dead(ledger)
    assert file.exists()
    assert (queue / "read_ahead_kb").read_text() == "128\n"
    dead = dataclasses.asdict(dataclasses.replace(owner, started=owner.started - 1))
    file.write_text(json.dumps({"owner": dead, **kept}))
    restore_dead(ledger)
    assert not file.exists()
    assert ((queue / "scheduler").read_text(), (queue / "read_ahead_kb").read_text()) == ("mq-deadline", "64")
    assert not (queue.parent / "odd").exists()


SIZE = 1 << 20


def _address(buffer: mmap.mmap | memoryview) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


def test_clients_read_into_whole_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    whole = ReadFile.readinto

    def readinto(file: ReadFile, buffer: mmap.mmap) -> int:
        given.append(_address(buffer))
        return whole(file, buffer)

    monkeypatch.setattr(ReadFile, "readinto", readinto)
    (tmp_path / "object").write_bytes(b"x" * SIZE)
    store = PathStore(tmp_path, NullRecorder(), fsync=FsyncPolicy.NONE, io_bytes=SIZE)
    assert store.read("object") == SIZE
    assert given
    assert all(address % mmap.PAGESIZE == 0 for address in given)


def test_replays_read_into_whole_pages() -> None:
    Calls = pytest.importorskip("replay.calls").Calls
    calls = Calls(Content(1, 0), memoryview(b""), 1, SIZE + 1)
    assert _address(calls._buffer) % mmap.PAGESIZE == 0


def test_fio_gets_the_alignment_of_memory() -> None:
    read = Job(name="read", does="read", files=("0/file",), block=SIZE, size=None)
    assert f"iomem_align={mmap.PAGESIZE}" in job_file([read], log="log").splitlines()


def test_what_a_dead_command_left_takes_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = dataclasses.replace(this_process(), boot_id="another")
    left = tmp_path / dead.directory
    left.mkdir()
    (tmp_path / MARKER).write_text(json.dumps(dataclasses.asdict(dead)))

    def space(_path: Path) -> SimpleNamespace:
        return SimpleNamespace(f_bavail=0 if left.exists() else 1 << 40, f_frsize=1, f_files=0, f_favail=0)

    monkeypatch.setattr(os, "statvfs", space)
    refuse_room(made("dedup", Targets(paths=(tmp_path,)), [], small=True), fill=False)
    assert list(tmp_path.iterdir()) == []


def test_what_a_living_command_writes_stays(tmp_path: Path) -> None:
    (tmp_path / MARKER).write_text(json.dumps(dataclasses.asdict(this_process())))
    with pytest.raises(UsageError, match="runs a storage test there"):
        refuse_room(made("dedup", Targets(paths=(tmp_path,)), [], small=True), fill=False)
    assert (tmp_path / MARKER).exists()


def test_leftovers_that_cannot_be_removed_are_the_storages_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_path: Path) -> bool:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(profile, "forget_dead", fails)
    with pytest.raises(StorageFault, match="Input/output error"):
        refuse_room(made("dedup", Targets(paths=(tmp_path,)), [], small=True), fill=False)


MIB = 1 << 20


@pytest.mark.parametrize(
    ("name", "given", "touched"),
    [
        ("matrix", ["threads=2,16", "records=8KiB,2MiB", "files=1MiB,256MiB"], 2 * MIB),
        ("client-sweep", ["clients=5,100", "size=1000", "objects=3"], 15_000),
        ("stream", ["streams=2,4", "file_size=64MiB"], 128 * MIB),
        ("block-8k", ["cases=1", "path_size=64MiB"], 128 * MIB),
        ("block-8k", ["cases=1,3", "path_size=64MiB"], 64 * MIB),  # also on one member alone
        ("block-8k", ["cases=6", "path_size=64MiB"], 128 * MIB),
        ("dedup", ["data=zeros,own", "size=4MiB", "source=OWN"], 7),
    ],
)
def test_the_smallest_point_decides(name: str, given: list[str], touched: int, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "file").write_bytes(b"1234567")
    given = [one.replace("OWN", str(tmp_path / "own")) for one in given]
    assert made(name, Targets(paths=(Path("/a"), Path("/b"))), given, small=False).touched() == touched


def test_a_trace_of_the_fewest_clients_decides(tmp_path: Path) -> None:
    """More clients than the trace has streams bring data of their own."""
    write_trace(reading_trace(streams=2, files=4), tmp_path / "trace")
    few, many = (
        made(
            "analysis-replay", Targets(paths=(tmp_path,)), [f"trace={tmp_path}/trace", f"clients={clients}"], small=True
        )
        for clients in ("2,8", "8")
    )
    assert 2 * 4 * FILE_BYTES <= few.touched() < many.touched()


def test_what_was_written_is_removed_and_nothing_else(tmp_path: Path) -> None:
    with claimed(tmp_path) as own:
        (own / "data").write_text("x")
        (tmp_path / "theirs").write_text("y")
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]
    with pytest.raises(UsageError, match="not empty"), claimed(tmp_path):
        pass
    assert (tmp_path / "theirs").read_text() == "y"


def test_what_a_dead_command_left_is_removed_by_the_next(tmp_path: Path) -> None:
    alive = this_process()
    left = tmp_path / alive.directory
    left.mkdir()
    (left / "data").write_text("x")
    marker = tmp_path / MARKER
    marker.write_text(json.dumps(dataclasses.asdict(alive)))
    with pytest.raises(UsageError, match="runs a storage test there"), claimed(tmp_path):
        pass
    marker.write_text(json.dumps(dataclasses.asdict(dataclasses.replace(alive, boot_id="another"))))
    with claimed(tmp_path) as own:
        assert not left.exists()
        assert own.exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["{}", "[1]", '{"id": "../..", "host": "h", "boot_id": "b", "pid": 1, "started": 0.0}']
)
def test_a_marker_that_is_not_ours_removes_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / MARKER).write_text(text)
    with pytest.raises(UsageError), claimed(tmp_path):
        pass
    assert (tmp_path / MARKER).read_text() == text


def test_a_process_is_known_by_when_it_began_since_the_host_did() -> None:
    ticks = this_process().started
    assert isinstance(ticks, int)
    assert 0 < ticks / os.sysconf("SC_CLK_TCK") <= time.clock_gettime(time.CLOCK_BOOTTIME)


def test_a_process_that_only_waits_to_be_buried_is_dead() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        started = started_of(child.pid)
        assert started is not None
        taken = dataclasses.replace(this_process(), pid=child.pid, started=started)
        assert taken.alive()
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not taken.alive()
    assert not taken.alive()


def test_a_command_that_starts_at_the_same_moment_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the other one has not written its marker yet, which cannot be told from a dead command's."""
    opened = os.fdopen

    def another_looks(*args: Any, **more: Any) -> Any:
        monkeypatch.setattr(os, "fdopen", opened)
        with pytest.raises(UsageError, match="remove it if no storage test runs there"):
            forget_dead(tmp_path)
        with pytest.raises(UsageError, match="has just started there"):
            owner._mark(tmp_path, this_process())
        return opened(*args, **more)

    monkeypatch.setattr(os, "fdopen", another_looks)
    with claimed(tmp_path) as own:
        assert {path.name for path in tmp_path.iterdir()} == {MARKER, own.name}
    assert list(tmp_path.iterdir()) == []


def test_storage_that_is_full_keeps_no_marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "dumps", refusing(ENOSPC))
    with pytest.raises(StorageFault, match="No space left"), claimed(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []
