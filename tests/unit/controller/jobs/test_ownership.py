"""Whom a new job's directory belongs to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from controller.jobs.directories import hand_over, hand_over_tree
from core.errors import StorageFault


def test_root_gives_the_directory_to_the_owner_of_the_storage_root(tmp_path: Path) -> None:
    """Workers in containers are not root: what root makes for them on the filer must be theirs, every level of it."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    job = tmp_path / "jobs" / "j"
    job.mkdir(parents=True)
    os.chown(tmp_path, 1234, 1234)
    hand_over(os.fsencode(job), tmp_path)
    assert [p.stat().st_uid for p in (job, job.parent)] == [1234, 1234]


def test_a_storage_root_of_our_own_changes_nothing(tmp_path: Path) -> None:
    job = tmp_path / "jobs" / "j"
    job.mkdir(parents=True)
    hand_over(os.fsencode(job), tmp_path)
    assert job.stat().st_uid == os.geteuid()


def test_what_a_link_leads_to_is_not_given_away(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    secret = tmp_path / "of root"
    (secret / "j").mkdir(parents=True)
    storage = tmp_path / "storage"
    (storage / "jobs").mkdir(parents=True)
    os.chown(storage, 1234, 1234)
    (storage / "jobs" / "j").symlink_to(secret)
    hand_over(os.fsencode(storage / "jobs" / "j"), storage)
    (storage / "linked").symlink_to(secret)
    with pytest.raises(StorageFault):
        hand_over(os.fsencode(storage / "linked" / "j"), storage)
    assert [p.stat().st_uid for p in (secret, secret / "j")] == [0, 0]


def test_a_result_with_all_its_files_belongs_to_the_owner_of_the_storage_root(tmp_path: Path) -> None:
    """An experiment that root ran on the host is read, described and removed by the containers' user; a link and a second name of a
    file of root's are left as they are."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    result = tmp_path / "storage" / "results" / "r"
    (result / "raw" / "runs").mkdir(parents=True)
    (result / "raw" / "runs" / "000.json.gz").write_bytes(b"x")
    secret = tmp_path / "of root"
    secret.write_text("x")
    (result / "link").symlink_to(secret)
    os.link(secret, result / "second name")
    os.chown(tmp_path / "storage", 1234, 1234)
    hand_over_tree(result, tmp_path / "storage")
    ours = (result.parent, result, result / "raw", result / "raw" / "runs", result / "raw" / "runs" / "000.json.gz")
    assert {path.stat().st_uid for path in ours} == {1234}
    assert secret.stat().st_uid == 0
