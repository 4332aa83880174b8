"""Limits of the control groups that a process is in: both versions, every level, inside a container and outside."""

from pathlib import Path

import pytest

from monitoring.control_groups import ControlGroups
from monitoring.machine import processors, usable_processors

MIB = 1 << 20
# What /proc/self/cgroup has, and the files of the innermost group and of the one around it.
VERSIONS = {
    "version 1": (
        "5:blkio:/\n4:memory:/jobs/one\n1:cpu,cpuacct:/jobs/one\n0::/", "memory/jobs", "cpu/jobs",
        {"limit": "memory.limit_in_bytes", "used": "memory.usage_in_bytes", "none": "9223372036854771712", "cache": "total_"},
    ),
    "version 2": (
        "0::/jobs/one", "jobs", "jobs",
        {"limit": "memory.max", "used": "memory.current", "none": "max", "cache": ""},
    ),
}  # fmt: skip


def _write(at: Path, **files: str) -> None:
    at.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (at / name).write_text(text + "\n")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_lowest_limit_of_all_levels_holds(version: str, tmp_path: Path) -> None:
    """A limit of a systemd slice or of a Slurm job is one level above the group of the process."""
    lines, memory, _, names = VERSIONS[version]
    groups = ControlGroups(tmp_path / "proc", tmp_path / "groups")
    _write(groups.proc / "self", cgroup=lines)
    assert (groups.memory_limit(), groups.memory_left(), groups.memory_used()) == (None, None, None)
    outer, inner = groups.root / memory, groups.root / memory / "one"
    cached = f"{names['cache']}inactive_file {30 * MIB}\n{names['cache']}active_file {20 * MIB}\nanon 1"
    _write(inner, **{names["limit"]: names["none"], names["used"]: str(60 * MIB), "memory.stat": cached})
    assert groups.memory_limit() in (None, int(names["none"]) if names["none"].isdigit() else None)
    _write(outer, **{names["limit"]: str(256 * MIB), names["used"]: str(250 * MIB), "memory.stat": cached})
    assert groups.memory_limit() == 256 * MIB
    assert groups.memory_used() == 10 * MIB
    assert groups.memory_left() == 56 * MIB  # page cache is reclaimed, and is not in use
    _write(inner, **{names["limit"]: str(64 * MIB)})
    assert groups.memory_limit() == 64 * MIB
    assert groups.memory_left() == 54 * MIB


def test_a_container_sees_its_own_group_as_the_root(tmp_path: Path) -> None:
    groups = ControlGroups(tmp_path / "proc", tmp_path / "groups")
    _write(groups.proc / "self", cgroup="4:memory:/docker/abc")
    _write(groups.root / "memory", **{"memory.limit_in_bytes": str(64 * MIB)})
    assert groups.memory_limit() == 64 * MIB


@pytest.mark.parametrize("version", VERSIONS)
def test_a_limit_of_cpu_time_counts(version: str, tmp_path: Path) -> None:
    lines, _, cpu, _ = VERSIONS[version]
    groups, every = ControlGroups(tmp_path / "proc", tmp_path / "groups"), processors()
    _write(groups.proc / "self", cgroup=lines)
    assert usable_processors(groups) == every
    outer, inner = groups.root / cpu, groups.root / cpu / "one"
    for at, quota, usable in (
        (outer, -1, every), (outer, 100_000 * (every + 1), every), (outer, 50_000, 0.5), (inner, -1, 0.5), (inner, 25_000, 0.25),
    ):  # fmt: skip
        limit = "max" if quota < 0 else quota
        _write(
            at,
            **{"cpu.cfs_quota_us": str(quota), "cpu.cfs_period_us": "100000"}
            if version == "version 1"
            else {"cpu.max": f"{limit} 100000"},
        )
        assert usable_processors(groups) == usable
