"""A profile keeps to directories of its own, and what a dead command left there goes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from core.errors import UsageError
from experiments.profiles.owner import MARKER, claimed, this_process


def test_what_was_written_is_removed_and_nothing_else(tmp_path: Path) -> None:
    """A file that a person puts there meanwhile stays."""
    with claimed(tmp_path) as own:
        (own / "data").write_text("x")
        (tmp_path / "theirs").write_text("y")
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]
    with pytest.raises(UsageError, match="not empty"), claimed(tmp_path):
        pass
    assert (tmp_path / "theirs").read_text() == "y"


def test_what_a_dead_command_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """As kill -9 leaves it; one that lives is refused."""
    alive = this_process()
    left = tmp_path / alive.directory
    left.mkdir()
    (left / "data").write_text("x")
    marker = tmp_path / MARKER
    marker.write_text(json.dumps(dataclasses.asdict(alive)))
    with pytest.raises(UsageError, match="runs a profile there"), claimed(tmp_path):
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
    """Whoever wrote it."""
    (tmp_path / MARKER).write_text(text)
    with pytest.raises(UsageError), claimed(tmp_path):
        pass
    assert (tmp_path / MARKER).read_text() == text
