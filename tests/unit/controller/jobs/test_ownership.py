"""Whom a new job's directory belongs to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from controller.jobs.ownership import hand_over
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
    """Where the storage root is ours, so is the directory."""
    job = tmp_path / "jobs" / "j"
    job.mkdir(parents=True)
    hand_over(os.fsencode(job), tmp_path)
    assert job.stat().st_uid == os.geteuid()


def test_what_a_link_leads_to_is_not_given_away(tmp_path: Path) -> None:
    """The storage root's owner may put a link where the job's folder was just made, or above it."""
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
