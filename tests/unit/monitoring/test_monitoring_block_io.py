"""Block I/O from control groups and processes."""

from __future__ import annotations

from pathlib import Path

from monitoring.observations import BlockIo, of_group, of_processes, parse_cgroup


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
    assert of_group(proc, groups) is None
    groups.mkdir()
    (groups / "io.stat").write_text("8:0 rbytes=1 wbytes=2\n")
    assert of_group(proc, groups) == BlockIo(1, 2, "control group")
    (groups / "docker" / "abc").mkdir(parents=True)
    (groups / "docker" / "abc" / "io.stat").write_text("8:0 rbytes=10 wbytes=20\n")
    assert of_group(proc, groups) == BlockIo(10, 20, "control group")


def test_processes_are_added_up(tmp_path: Path) -> None:
    for pid in (7, 8):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "io").write_text("rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\n")
    assert of_processes([7, 8, 9], tmp_path) == BlockIo(8192, 16384, "processes")
    (tmp_path / "8" / "io").write_text("not what it was\n")
    assert of_processes([7, 8], tmp_path) is None
