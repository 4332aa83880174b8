"""Samplers of wire ops, block devices and space, on recorded files and made-up trees of /proc and /sys."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.mounts import parse_mountinfo
from core.settings import Settings
from monitoring.filer.block import BlockSampler, boot_id, device_under, parse_diskstats, short_boot_id
from monitoring.filer.wire import WireSampler
from monitoring.host_samplers import HostSampling, HostTurn, OncePerHost, SpaceSampler, host_samplers, space_of

RECORDINGS = Path(__file__).parent / "recordings"


def proc_self(place: Path, name: str, mountinfo: str | None = None) -> Path:
    """A /proc/self with a recording in it."""
    place.mkdir()
    (place / "mountstats").write_bytes((RECORDINGS / f"{name}.mountstats").read_bytes())
    table = (RECORDINGS / f"{name}.mountinfo").read_text() if mountinfo is None else mountinfo
    (place / "mountinfo").write_text(table)
    return place


def test_a_superblock_is_one_source_however_often_it_is_mounted(tmp_path: Path) -> None:
    sampler = WireSampler(
        Path("/run/filer/storage"), boot="abc", proc_self=proc_self(tmp_path / "a", "lab-v3-nconnect4")
    )
    (seen,) = sampler.sample()
    assert seen.kind == "wire"
    assert seen.source == "abc:127.0.0.1:0:61"
    assert seen.values["exports"] == ["127.0.0.1:/run/export", "127.0.0.1:/run/export/d"]
    assert seen.values["points"] == ["/run/filer", "/tmp/with space"]
    assert len(seen.values["transports"]) == 4
    assert seen.values["ops"]["READ"]["ops"] > 0
    assert "MKNOD" not in seen.values["ops"]  # never sent


def test_containers_of_a_host_name_the_same_source(tmp_path: Path) -> None:
    """Same kernel and superblock under another mount point: the same source, so that a second is stored once."""
    host = proc_self(tmp_path / "host", "lab-v4.2")
    inside = tmp_path / "container"
    inside.mkdir()
    for name in ("mountstats", "mountinfo"):  # the container has but a subdirectory, and at another place
        text = (host / name).read_text()
        beginning = text.index("device 127.0.0.1:/d") if name == "mountstats" else text.index("74 54")
        (inside / name).write_text(text[beginning:].replace("/tmp/with\\040space", "/shared"))
    first = WireSampler(Path("/run/filer"), boot="abc", proc_self=host).sample()
    second = WireSampler(Path("/shared"), boot="abc", proc_self=inside).sample()
    assert [o.source for o in first] == [o.source for o in second]
    assert first[0].values["ops"] == second[0].values["ops"]


def test_a_volume_of_docker_is_named_too(tmp_path: Path) -> None:
    place = proc_self(tmp_path / "p", "lab-v3")
    for name in ("mountstats", "mountinfo"):
        (place / name).write_text((place / name).read_text().replace("127.0.0.1:/", ":/"))
    assert [o.source for o in WireSampler(tmp_path, boot="b", proc_self=place).sample()] == ["b:nfs:0:61"]


def test_the_storage_root_comes_first(tmp_path: Path) -> None:
    table = "".join(f"{i} 1 0:{40 + i} / /mnt/path{i} rw - nfs server:/export/path{i} rw\n" for i in (1, 2))
    sampler = WireSampler(Path("/mnt/path1/x"), boot="b", proc_self=proc_self(tmp_path / "p", "diamond-v3-1", table))
    assert [o.source for o in sampler.sample()] == ["b:server:0:41", "b:server:0:42"]


def test_without_nfs_or_proc_there_is_nothing(tmp_path: Path) -> None:
    assert WireSampler(tmp_path, proc_self=tmp_path / "none").sample() == []
    (tmp_path / "mountstats").write_text("device proc mounted on /proc with fstype proc\n")
    assert WireSampler(tmp_path, proc_self=tmp_path).sample() == []


def test_damage_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    sampler = WireSampler(tmp_path, proc_self=proc_self(tmp_path / "p", "telegraf-v3-v4", ""))
    assert len(sampler.sample()) == len(sampler.sample()) == 1
    assert [record.getMessage() for record in caplog.records] == [
        "mountstats line 34: '-9999999999999999999999999' is not a 64-bit number"
    ]


def test_diskstats_of_every_kernel() -> None:
    """Lines of 14, 18 and 20 fields, bytes from sectors of 512."""
    found = parse_diskstats((RECORDINGS / "procfs.diskstats").read_text(), {"sda", "sdb", "sdc", "nvme0n1", "none"})
    assert set(found) == {"sda", "sdb", "sdc", "nvme0n1"}
    sda, sdb, sdc = found["sda"], found["sdb"], found["sdc"]
    assert (sda.reads, sda.read_bytes, sda.in_flight, sda.busy_ms) == (25354637, 1003346126 * 512, 0, 9653880)
    assert (sda.write_ms, sda.weighted_ms, sda.discards, sda.flushes) == (63877960, 82621804, None, None)
    assert (sdb.discards, sdb.flushes) == (68851, None)
    assert (sdc.discards, sdc.flushes) == (0, 127)


@given(st.text(max_size=80))
def test_no_diskstats_breaks_it(junk: str) -> None:
    assert set(parse_diskstats(f"8 0 sda {junk}\n 8 1 sdb 1 2 3 4 5 6 7 8 9 10 11\n", {"sda", "sdb"})) >= {"sdb"}


def sysfs(root: Path) -> Path:
    """sda with a partition, dm-0 and nvme0n1, as sysfs has them."""
    block = root / "devices"
    for name, parent in (("sda", None), ("sda1", "sda"), ("dm-0", None), ("nvme0n1", None)):
        place = block / parent / name if parent else block / name
        place.mkdir(parents=True)
        (place / "stat").write_text("")
        if parent:
            (place / "partition").write_text("1\n")
    for kind in ("dev/block", "class/block"):
        (root / kind).mkdir(parents=True)
    for number, place in (("8:1", "sda/sda1"), ("253:0", "dm-0"), ("259:0", "nvme0n1")):
        (root / "dev/block" / number).symlink_to(block / place)
    (root / "class/block/nvme0n1").symlink_to(block / "nvme0n1")
    return root


@pytest.mark.parametrize(
    ("line", "device"),
    [
        ("8:1 / / rw - ext4 /dev/sda1 rw", "sda"),
        ("253:0 / / rw - xfs /dev/mapper/vg-lv rw", "dm-0"),
        ("0:31 / / rw - btrfs /dev/nvme0n1 rw", "nvme0n1"),
        ("0:44 / / rw - overlay overlay rw,lowerdir=x", None),
        ("0:45 / / rw - tmpfs tmpfs rw", None),
        ("0:46 / / rw - nfs4 filer:/export rw", None),
        ("8:77 / / rw - ext4 /dev/gone rw", None),
    ],
)
def test_which_device_lies_under_a_path(tmp_path: Path, line: str, device: str | None) -> None:
    """Partitions count as their disk; file systems without a device have none."""
    assert device_under("/x", parse_mountinfo(f"25 1 {line}\n"), sysfs(tmp_path)) == device


def test_block_devices_are_sampled_once_each(tmp_path: Path) -> None:
    (tmp_path / "mountinfo").write_text("25 1 8:1 / / rw - ext4 /dev/sda1 rw\n")
    sampler = BlockSampler(
        ["/storage", "/scratch"],
        boot="b",
        diskstats=RECORDINGS / "procfs.diskstats",
        mountinfo=tmp_path / "mountinfo",
        sys=sysfs(tmp_path / "sys"),
    )
    (seen,) = sampler.sample()
    assert (seen.kind, seen.source, seen.values["in_flight"]) == ("block", "b:sda", 0)
    assert BlockSampler([], diskstats=tmp_path / "none").sample() == []


def test_space_never_waits_for_the_filer(tmp_path: Path) -> None:
    now, asked, answer = 0.0, threading.Semaphore(0), threading.Event()

    def ask(path: Path) -> dict[str, int]:
        asked.release()
        answer.wait()
        return space_of(path)

    sampler = SpaceSampler(tmp_path, boot="b", ask=ask, monotonic=lambda: now)
    assert [sampler.sample() for _ in range(3)] == [[], [], []]
    assert asked.acquire(timeout=60)
    assert not asked.acquire(blocking=False)
    answer.set()
    sampler.wait(60)
    (seen,) = sampler.sample()
    sampler.wait(60)
    assert seen.kind == "space"
    assert 0 < seen.values["bytes_free"] <= seen.values["bytes"]
    answer.clear()
    now = 100.0
    assert sampler.sample() == []  # too old to be told as of now
    answer.set()


def test_the_boot_id_is_this_kernels(tmp_path: Path) -> None:
    assert boot_id().startswith(short_boot_id())
    assert short_boot_id(tmp_path / "none") == "unknown"


def test_one_worker_of_a_host_looks_and_another_takes_over(tmp_path: Path) -> None:
    first, second = HostTurn(tmp_path), HostTurn(tmp_path)
    disks = BlockSampler(["/"], boot="b", diskstats=tmp_path / "none")
    assert first.mine()
    assert first.mine()
    assert not second.mine()
    assert OncePerHost(second, disks).sample() == []
    first.close()
    assert second.mine()
    assert HostTurn(tmp_path / "no scratch").mine()
    second.close()


def test_a_worker_has_all_of_them(tmp_path: Path) -> None:
    settings = Settings(storage=tmp_path, scratch=tmp_path)
    first, second = HostSampling(host_samplers(settings)), HostSampling(host_samplers(settings))
    kinds = {o.kind for o in first.sample()} | {o.kind for o in first.sample()}
    assert kinds <= {"wire", "block", "space"}
    assert second.sample() == []
