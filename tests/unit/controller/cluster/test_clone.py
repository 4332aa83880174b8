"""Clones of containers: what of a template they take over, and what a run of an experiment has otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from controller.cluster.block_io import BlockIo, block_io, parse_cgroup

from controller.cluster.container_stats import ContainerUse
from controller.cluster.containers import Differences, cloned_body
from controller.cluster.reach import elsewhere, settings_from
from controller.cluster.sight import refuse_unseen, refuse_unseen_filer
from core.errors import UsageError
from core.settings import Settings

# Cut from what `docker inspect` shows.
TEMPLATE: dict[str, Any] = {
    "Config": {
        "Hostname": "0123456789ab",
        "Image": "edbench:latest",
        "Cmd": ["python", "-m", "worker"],
        "Env": ["EDBENCH_SLOTS=4", "PATH=/bin"],
        "Labels": {"com.docker.compose.service": "worker"},
        "Volumes": {"/var/lib/postgresql": {}},
    },
    "HostConfig": {
        "Binds": ["edbench_db1:/var/lib/postgresql:rw", "/etc/x:/etc/x:ro"],
        "Mounts": [{"Type": "volume", "Source": "edbench_scratch", "Target": "/scratch"}],
        "PortBindings": {"5432/tcp": [{"HostIp": "127.0.0.1", "HostPort": "5432"}]},
    },
}


def test_a_replica_is_like_its_template() -> None:
    """Everything but the host name, and what the variables say otherwise."""
    body = cloned_body(TEMPLATE, Differences(number=3, env={"EDBENCH_SLOTS": "1"}))
    assert sorted(body["Env"]) == ["EDBENCH_SLOTS=1", "PATH=/bin"]
    assert "Hostname" not in body
    assert body["HostConfig"]["Binds"] == TEMPLATE["HostConfig"]["Binds"]
    assert body["HostConfig"]["PortBindings"] == TEMPLATE["HostConfig"]["PortBindings"]
    assert body["Cmd"] == ["python", "-m", "worker"]


def test_a_container_of_a_run_keeps_its_hands_off_the_templates_files_and_ports() -> None:
    """Another place for a mount instead of the template's, any free port instead of a fixed one; the rest stays."""
    differences = Differences(
        number=1, service="run-db1", mounts={"/var/lib/postgresql": "fresh"}, binds=["/dev/shm/n"], command=["x"]
    )
    body = cloned_body(TEMPLATE, differences)
    assert body["HostConfig"]["Binds"] == ["/etc/x:/etc/x:ro", "/dev/shm/n:/dev/shm/n", "fresh:/var/lib/postgresql"]
    assert body["HostConfig"]["PortBindings"] == {"5432/tcp": [{"HostIp": "127.0.0.1", "HostPort": ""}]}
    assert body["Cmd"] == ["x"]
    moved = cloned_body(TEMPLATE, Differences(number=1, service="run-x", mounts={"/scratch": "/other"}))
    assert moved["HostConfig"]["Mounts"] == []
    assert TEMPLATE["HostConfig"]["PortBindings"]["5432/tcp"][0]["HostPort"] == "5432"


def test_a_url_at_another_place() -> None:
    """Host and port change, account and options stay; an IPv6 address gets its brackets."""
    assert elsewhere("redis://:pw@broker:6379/0", "run-broker", 7) == "redis://:pw@run-broker:7/0"
    assert elsewhere("redis://broker:6379/0", "::1", 7) == "redis://[::1]:7/0"


def test_commands_take_the_systems_filer_and_memory_limit() -> None:
    """What the containers run with holds unless the command says otherwise."""
    theirs = {
        "EDBENCH_DATABASES": "db1=postgresql+psycopg2://u:p@h:1/d",
        "EDBENCH_BROKER": "redis://:pw@h",
        "EDBENCH_STORAGE": "/f",
        "EDBENCH_FILER": "titan",
        "EDBENCH_FILER_ARBITER": "/arbiter",
        "EDBENCH_SLOT_MEMORY_MB": "2048",
    }
    found = settings_from(Settings(), theirs, ())
    assert (found.filer, found.filer_arbiter, found.slot_memory_mb) == ("titan", "/arbiter", 2048)
    assert settings_from(Settings(filer="nas-1g"), theirs, ()).filer == "nas-1g"


def test_what_containers_do_not_see_is_refused(tmp_path: Path) -> None:
    """They have the storage root: a source or an emulated filer's file elsewhere is none for them."""
    inside = tmp_path / "root" / "corpora"
    inside.mkdir(parents=True)
    refuse_unseen(inside, tmp_path / "root")
    with pytest.raises(UsageError, match="containers see only"):
        refuse_unseen(tmp_path / "rooted", tmp_path / "root")
    refuse_unseen_filer(Settings(storage=tmp_path / "root", filer="titan"))
    refuse_unseen_filer(Settings(storage=tmp_path / "root", filer=str(inside / "f.toml")))
    with pytest.raises(UsageError, match="cannot read"):
        refuse_unseen_filer(Settings(storage=tmp_path / "root", filer=str(tmp_path / "f.toml")))


def test_control_groups_of_both_versions_are_read() -> None:
    """Sums over devices; a kernel that counts nothing is not one that counted zero."""
    assert parse_cgroup("8:0 rbytes=10 wbytes=20 rios=1 wios=2\n8:16 rbytes=1 wbytes=2\n") == (11, 22)
    assert parse_cgroup("8:0 Read 5\n8:0 Write 6\n8:0 Sync 11\n8:0 Total 11\nTotal 11\n") == (5, 6)
    assert parse_cgroup("Total 0\n") is None
    assert parse_cgroup("") is None


def _process(proc: Path, group: str) -> None:
    (proc / "7").mkdir(parents=True)
    (proc / "7" / "cgroup").write_text(f"7:blkio:{group}\n0::{group}\n")
    (proc / "7" / "io").write_text("rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n")


def test_block_io_comes_from_the_control_group_or_the_processes(tmp_path: Path) -> None:
    """The group's counters where the kernel has any, else its processes' accounts."""
    proc, groups = tmp_path / "proc", tmp_path / "groups"
    _process(proc, "/docker/abc")
    assert block_io(7, "abc", proc, groups) == BlockIo(4096, 8192, "processes")
    (groups / "docker" / "abc").mkdir(parents=True)
    (groups / "docker" / "abc" / "io.stat").write_text("8:0 rbytes=10 wbytes=20\n")
    assert block_io(7, "abc", proc, groups) == BlockIo(10, 20, "control group")


def test_a_process_id_of_another_host_tells_nothing(tmp_path: Path) -> None:
    """A process that has the id here, but is not in that container, is somebody else's."""
    _process(tmp_path, "/docker/other")
    assert block_io(7, "abc", tmp_path, tmp_path) is None
    assert block_io(8, "abc", tmp_path, tmp_path) is None


def test_who_told_of_block_io_is_said() -> None:
    """The source stands beside the bytes."""
    reading = {
        "cpu_s": 1.0, "block_read_bytes": 0.0, "block_write_bytes": 0.0, "block_told": 1.0, "memory_bytes": 1.0,
        "network_received_bytes": 0.0, "network_sent_bytes": 0.0,
    }  # fmt: skip
    use = ContainerUse("w", "worker")
    use.add(reading, "processes")
    use.add(reading | {"block_read_bytes": 9.0}, "processes")
    assert (use.to_json()["block_read_bytes"], use.to_json()["block_source"]) == (9, "processes")
