"""Whether there is room is asked of what a living command would find."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.errors import StorageFault, UsageError
from storage_tests import profile
from storage_tests.owner import MARKER, this_process
from storage_tests.profile import Targets, made, refuse_room


def test_what_a_dead_command_left_takes_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = dataclasses.replace(this_process(), boot_id="another")
    left = tmp_path / dead.directory
    left.mkdir()
    (tmp_path / MARKER).write_text(json.dumps(dataclasses.asdict(dead)))

    def space(_path: Path) -> SimpleNamespace:
        return SimpleNamespace(f_bavail=0 if left.exists() else 1 << 40, f_frsize=1, f_files=0, f_favail=0)

    monkeypatch.setattr(os, "statvfs", space)
    refuse_room(made("dedup", Targets(paths=(tmp_path,)), [], small=True), yes=False)
    assert list(tmp_path.iterdir()) == []


def test_what_a_living_command_writes_stays(tmp_path: Path) -> None:
    (tmp_path / MARKER).write_text(json.dumps(dataclasses.asdict(this_process())))
    with pytest.raises(UsageError, match="runs a storage test there"):
        refuse_room(made("dedup", Targets(paths=(tmp_path,)), [], small=True), yes=False)
    assert (tmp_path / MARKER).exists()


def test_leftovers_that_cannot_be_removed_are_the_storages_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_path: Path) -> bool:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(profile, "forget_dead", fails)
    with pytest.raises(StorageFault, match="Input/output error"):
        refuse_room(made("dedup", Targets(paths=(tmp_path,)), [], small=True), yes=False)
