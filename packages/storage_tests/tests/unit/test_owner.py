"""A profile keeps to directories of its own, and what a dead command left there goes."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from core.errors import UsageError
from storage_tests.owner import MARKER, claimed, forget_dead, started_of, this_process


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


@pytest.mark.parametrize("links", [True, False])
def test_a_command_that_is_about_to_write_its_marker_is_not_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    opened, refused = os.fdopen, list[str]()

    def another_looks(*args: Any, **more: Any) -> Any:
        with pytest.raises(UsageError, match="has just started there") as told:
            forget_dead(tmp_path)
        refused.append(str(told.value))
        return opened(*args, **more)

    def none(*_paths: Path) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "fdopen", another_looks)
    if not links:
        monkeypatch.setattr(os, "link", none)
    with claimed(tmp_path) as own:
        assert {path.name for path in tmp_path.iterdir()} == {MARKER, own.name}
    assert len(refused) == (1 if links else 2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [MARKER, f"{MARKER}.{'a' * 32}"])
def test_a_marker_that_was_never_written_goes_when_it_is_old(tmp_path: Path, name: str) -> None:
    left = tmp_path / name
    left.touch()
    with pytest.raises(UsageError, match="has just started there"), claimed(tmp_path):
        pass
    os.utime(left, (0, 0))
    with claimed(tmp_path):
        assert not left.exists() or left.stat().st_size
    assert list(tmp_path.iterdir()) == []
