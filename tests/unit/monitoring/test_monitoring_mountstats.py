"""The NFS client's counters, on recorded files of several kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.filer.wire import LineError, Mountstats, NfsMount, OpCounts, parse_mountstats, transport_line

RECORDINGS = Path(__file__).parent / "recordings"
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
    assert len(mount.events) >= 25


def test_values_stand_where_they_belong() -> None:
    old, new = only("diamond-v3-1"), only("procfs-v3-rdma")
    assert old.ops["READ"] == OpCounts(3506477, 3506470, 0, 604236352, 114512740400, 38565, 9135087, 9872207, None)
    assert new.ops["LOOKUP"] == OpCounts(16713, 16713, 0, 3040536, 3706344, 560, 17488, 20232, 346)
    assert (old.export, old.point, old.kind, old.age_s) == ("server:/export/path1", "/mnt/path1", "nfs", 15860876)
    assert (old.bytes.read, old.bytes.server_read, old.bytes.server_written) == (
        157446200657,
        114069658024,
        2712398781106,
    )
    assert (old.events["open"], old.events["readdir"]) == (3166454, 5020885)
    udp = transport_line("\tudp 740 1 881477 875055 5946 2888414103 286261 16 258752 2080886", "1.1")
    assert (udp.sends, udp.backlog, udp.slots, udp.connects) == (881477, 286261, 16, None)
    rdma = new.transports[0]
    assert (rdma.protocol, rdma.sends, rdma.in_flight, rdma.backlog) == ("rdma", 494490723, 10032963746, 1282789)
    assert rdma.slots is None


def test_a_sum_below_zero_is_negative() -> None:
    """Kernels print it as 2**64 less; growth over time must not jump by that."""
    assert only("procfs-v4.0").ops["ACCESS"].queue_ms == 18446743919241604546 - 2**64


def test_what_two_kernels_counted_agrees_with_itself() -> None:
    """In a kernel's own recording, requests of all ops add up to what the connections sent."""
    for name in ("lab-v3", "lab-v3-nconnect4", "lab-v4.1-nconnect2", "lab-v4.2"):
        mount = only(name)
        assert sum(t.sends for t in mount.transports) == pytest.approx(
            sum(op.transmissions for op in mount.ops.values()), rel=0.02, abs=20
        )


def test_damage_costs_its_own_mount_and_is_told_by_line() -> None:
    """A line no kernel writes: the other mount is there, the problem names line and value."""
    stats = recorded("telegraf-v3-v4")
    assert [mount.export for mount in stats.mounts] == ["1.2.3.4:/storage/NFS"]
    assert [str(problem) for problem in stats.problems] == [
        "mountstats line 34: '-9999999999999999999999999' is not a 64-bit number"
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("statvers=1.1", "statvers=7", "statvers is 1.0 or 1.1, not '7'"),
        ("\txprt:\ttcp 832", "\txprt:\tpigeon 832", "'pigeon' is not a transport"),
        ("\txprt:\ttcp 832 0 1 0 11 6428 6428 0 12154 0 24 26 5726", "\txprt:\ttcp 832 0", "a tcp transport has 2"),
        ("1298 1298 0 207680", "1298 1298 0 x", "'x' is not a 64-bit number"),
        ("fstype nfs4 statvers=1.1", "fstype nfs4", "not `device EXPORT mounted on POINT"),
        ("\tper-op statistics\n", "", "has no per-op statistics: cut short?"),
    ],
)
def test_every_kind_of_damage_has_its_words(old: str, new: str, said: str) -> None:
    text = (RECORDINGS / "procfs-v4.0.mountstats").read_text()
    assert old in text
    stats = parse_mountstats(text.replace(old, new).encode())
    assert stats.mounts == ()
    assert said in str(stats.problems[0])


def test_an_op_line_may_not_be_short() -> None:
    """Fewer fields than the oldest kernel writes is damage."""
    with pytest.raises(LineError):
        transport_line("tcp 1 2 3", "1.0")


@given(st.sampled_from(FILES), st.data())
def test_mutated_recordings_never_raise(path: Path, data: st.DataObject) -> None:
    """Cut, overwritten or doubled anywhere: mounts and problems, nothing else."""
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(at, min(len(whole), at + 400)))
    junk = data.draw(st.one_of(st.binary(max_size=40), st.just(whole[at:end] * 2), st.just(b"")))
    stats = parse_mountstats(whole[:at] + junk + (b"" if data.draw(st.booleans()) else whole[end:]))
    assert len(stats.mounts) <= len(whole)
