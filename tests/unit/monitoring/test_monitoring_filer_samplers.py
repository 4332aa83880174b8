"""Samplers of wire ops, block devices and space, on recorded files and made-up trees of /proc and /sys."""

import dataclasses
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.filer.arbiter import ArbiterCounts, StationCounts
from core.filer.emulation import open_arbiter
from core.mounts import parse_mountinfo
from core.operations import Op
from core.settings import Settings
from monitoring.block import BlockSampler, boot_id, device_under, parse_diskstats, short_boot_id
from monitoring.control_groups import ControlGroups
from monitoring.host_samplers import (
    HostSampling,
    HostTurn,
    OncePerHost,
    SpaceSampler,
    StationSampler,
    host_samplers,
    space_of,
)
from monitoring.observations import BlockIo, EmulatedSampler, of_group, of_processes, parse_cgroup
from monitoring.wire import Mountstats, NfsMount, OpCounts, WireSampler, parse_mountstats, transport_line

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


def test_damage_costs_its_own_mount_and_is_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A line that no kernel writes: the other mount is sampled, the message names line and value."""
    sampler = WireSampler(tmp_path, proc_self=proc_self(tmp_path / "p", "telegraf-v3-v4", ""))
    first, again = sampler.sample(), sampler.sample()
    assert [o.values["exports"] for o in (*first, *again)] == [["1.2.3.4:/storage/NFS"]] * 2
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


def test_control_groups_of_both_versions_are_read() -> None:
    """Sums over devices; a kernel that counts nothing is not one that counted zero."""
    assert parse_cgroup("8:0 rbytes=10 wbytes=20 rios=1 wios=2\n8:16 rbytes=1 wbytes=2\n") == (11, 22)
    assert parse_cgroup("8:0 Read 5\n8:0 Write 6\n8:0 Sync 11\n8:0 Total 11\nTotal 11\n") == (5, 6)
    assert parse_cgroup("Total 0\n") is None
    assert parse_cgroup("") is None


def test_a_group_is_found_inside_a_container_and_outside(tmp_path: Path) -> None:
    proc, groups = tmp_path / "proc", tmp_path / "groups"
    (proc / "self").mkdir(parents=True)
    (proc / "self" / "cgroup").write_text("0::/docker/abc\n")
    here = ControlGroups(proc, groups)
    assert of_group(here) is None
    groups.mkdir()
    (groups / "io.stat").write_text("8:0 rbytes=1 wbytes=2\n")
    assert of_group(here) == BlockIo(1, 2, "control group")
    (groups / "docker" / "abc").mkdir(parents=True)
    (groups / "docker" / "abc" / "io.stat").write_text("8:0 rbytes=10 wbytes=20\n")
    assert of_group(here) == BlockIo(10, 20, "control group")


def test_processes_are_added_up(tmp_path: Path) -> None:
    for pid in (7, 8):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "io").write_text("rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\n")
    assert of_processes([7, 8, 9], tmp_path) == BlockIo(8192, 16384, "processes")
    (tmp_path / "8" / "io").write_text("not what it was\n")
    assert of_processes([7, 8], tmp_path) is None


_TEXT = 'name = "one"\n[data]\nservers = 3\nservice_us.default = 1000.0\n[mix]\nread = 1.0\n'


def test_stations_that_served_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(_TEXT)
    settings = Settings(storage=tmp_path, scratch=tmp_path, filer=str(file), filer_arbiter=tmp_path)
    sampler = StationSampler(settings)
    assert sampler.sample() == []
    other = open_arbiter(settings)
    assert other is not None
    for _ in range(6):
        other.book(Op.READ, 10, 0)
    (seen,) = sampler.sample()
    assert (seen.kind, seen.source) == ("emulated", "one")
    data = {"servers": 3, "calls": 6, "filer_ops": 6.0, "busy_s": 0.006, "waited_s": 0.003}
    assert seen.values == {"station": {"data": data}}
    assert StationSampler(dataclasses.replace(settings, filer="none")).sample() == []


S = 1_000_000_000


class _Filer:
    """Counters and a clock that the test moves."""

    def __init__(self) -> None:
        self.now, self.calls, self.busy, self.waited, self.misses = 0, 0, 0, 0, 0

    def snapshot(self) -> ArbiterCounts:
        station = StationCounts(
            servers=2, calls=self.calls, busy_ns=self.busy, waited_ns=self.waited, filer_ops=2.5 * self.calls
        )
        return ArbiterCounts(
            stations={"metadata": station},
            misses=self.misses,
            missed_ns=self.misses * 5_000_000,
        )

    def work(self, calls: int, busy: int, waited: int) -> None:
        self.now += S
        self.calls += calls
        self.busy += busy
        self.waited += waited


def test_utilisation_is_over_the_time_with_calls_only() -> None:
    filer = _Filer()
    sampler = EmulatedSampler(filer.snapshot, lambda: filer.now)
    for calls, busy, waited in [(0, 0, 0), (100, 2 * S, S // 10), (100, S, S // 10), (0, 0, 0)]:
        filer.work(calls, busy, waited)
        sampler.sample()
    filer.now += 10 * S
    found = sampler.to_json()
    assert found["seconds"] == 2.0
    assert found["stations"]["metadata"] == {
        "utilisation": 0.75, "mean_wait_us": 1000.0, "calls": 200, "filer_ops": 500.0,
    }  # fmt: skip
    assert [point["metadata"]["utilisation"] for _, point in found["series"]] == [0.0, 1.0, 0.5, 0.0, 0.0]


def test_misses_are_reported_with_their_mean_delay() -> None:
    filer = _Filer()
    sampler = EmulatedSampler(filer.snapshot, lambda: filer.now)
    filer.work(10, S, 0)
    filer.misses = 4
    assert sampler.to_json()["misses"] == {"calls": 4, "mean_delay_us": 5000.0}


def test_nothing_done_gives_no_figures() -> None:
    filer = _Filer()
    assert EmulatedSampler(filer.snapshot, lambda: filer.now).to_json()["stations"] == {}


FILES = sorted(RECORDINGS.glob("*.mountstats"))


def recorded(name: str) -> Mountstats:
    """One recording."""
    return parse_mountstats((RECORDINGS / f"{name}.mountstats").read_bytes())


def only(name: str) -> NfsMount:
    """The first mount of a recording without problems."""
    stats = recorded(name)
    assert stats.problems == ()
    return stats.mounts[0]


@pytest.mark.parametrize(
    ("name", "version", "statvers", "connections", "ops"),
    [
        ("diamond-v3-1", "3", "1.0", 1, 22),
        ("procfs-v4.0", "4.0", "1.1", 1, 4),
        ("procfs-v4.1", "4.1", "1.1", 1, 63),
        ("procfs-v3-rdma", "3", "1.1", 16, 22),
        ("lab-v3", "3", "1.1", 1, 22),
        ("lab-v3-nconnect4", "3", "1.1", 4, 22),
        ("lab-v4.1-nconnect2", "4.1", "1.1", 2, 69),
        ("lab-v4.2", "4.2", "1.1", 1, 69),
    ],
)
def test_recorded_kernels(name: str, version: str, statvers: str, connections: int, ops: int) -> None:
    mount = only(name)
    assert (mount.version, mount.statvers, len(mount.transports), len(mount.ops)) == (
        version,
        statvers,
        connections,
        ops,
    )


def test_values_stand_where_they_belong() -> None:
    """Kernels print a sum below zero as 2**64 less; growth over time must not jump by that."""
    assert only("procfs-v4.0").ops["ACCESS"].queue_ms == 18446743919241604546 - 2**64
    old, new = only("diamond-v3-1"), only("procfs-v3-rdma")
    assert old.ops["READ"] == OpCounts(3506477, 3506470, 0, 604236352, 114512740400, 38565, 9135087, 9872207, None)
    assert new.ops["LOOKUP"] == OpCounts(16713, 16713, 0, 3040536, 3706344, 560, 17488, 20232, 346)
    assert (old.export, old.point, old.kind, old.age_s) == ("server:/export/path1", "/mnt/path1", "nfs", 15860876)
    assert (old.bytes.read, old.bytes.server_read, old.bytes.server_written) == (
        157446200657,
        114069658024,
        2712398781106,
    )
    udp = transport_line("\tudp 740 1 881477 875055 5946 2888414103 286261 16 258752 2080886", "1.1")
    assert (udp.sends, udp.backlog, udp.slots, udp.connects) == (881477, 286261, 16, None)
    rdma = new.transports[0]
    assert (rdma.protocol, rdma.sends, rdma.in_flight, rdma.backlog) == ("rdma", 494490723, 10032963746, 1282789)
    assert rdma.slots is None


def test_what_two_kernels_counted_agrees_with_itself() -> None:
    """In a kernel's own recording, requests of all ops add up to what the connections sent."""
    for name in ("lab-v3", "lab-v3-nconnect4", "lab-v4.1-nconnect2", "lab-v4.2"):
        mount = only(name)
        assert sum(t.sends for t in mount.transports) == pytest.approx(
            sum(op.transmissions for op in mount.ops.values()), rel=0.02, abs=20
        )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("statvers=1.1", "statvers=7", "statvers is 1.0 or 1.1, not '7'"),
        ("\txprt:\ttcp 832", "\txprt:\tpigeon 832", "'pigeon' is not a transport"),
        ("\txprt:\ttcp 832 0 1 0 11 6428 6428 0 12154 0 24 26 5726", "\txprt:\ttcp 832 0", "a tcp transport has 2"),
        ("1298 1298 0 207680", "1298 1298 0 x", "'x' is not a 64-bit number"),
        ("fstype nfs4 statvers=1.1", "fstype nfs4", "not `device EXPORT mounted on POINT"),
        ("\tper-op statistics\n", "", "has no per-op statistics: cut short?"),
    ],
)
def test_every_kind_of_damage_has_its_words(old: str, new: str, message: str) -> None:
    text = (RECORDINGS / "procfs-v4.0.mountstats").read_text()
    assert old in text
    stats = parse_mountstats(text.replace(old, new).encode())
    assert stats.mounts == ()
    assert message in str(stats.problems[0])


@given(st.sampled_from(FILES), st.data())
def test_mutated_recordings_never_raise(path: Path, data: st.DataObject) -> None:
    """Cut, overwritten or doubled anywhere: mounts and problems, nothing else."""
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(at, min(len(whole), at + 400)))
    junk = data.draw(st.one_of(st.binary(max_size=40), st.just(whole[at:end] * 2), st.just(b"")))
    stats = parse_mountstats(whole[:at] + junk + (b"" if data.draw(st.booleans()) else whole[end:]))
    assert len(stats.mounts) <= len(whole)
