"""Schedulers and read-ahead are put back: at the end, and after kill -9 by the next command."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from storage_tests import devices
from storage_tests.devices import restore_dead, tuned
from storage_tests.owner import this_process


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A device's, as the kernel shows it; two paths lie on it."""
    there = tmp_path / "sys" / "vdz" / "queue"
    there.mkdir(parents=True)
    (there / "scheduler").write_text("[none] mq-deadline bfq\n")
    (there / "read_ahead_kb").write_text("128\n")
    monkeypatch.setattr(devices, "queue_of", lambda path: there)
    return there


def test_they_are_set_and_put_back(queue: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    with tuned([tmp_path, tmp_path], "bfq", 512, ledger) as told:
        assert (queue / "scheduler").read_text() == "bfq"
        assert [(one.device, one.scheduler, one.read_ahead_kb, one.refused) for one in told] == [
            ("vdz", "bfq", 512, ())
        ] * 2
        with tuned([tmp_path], "none", None, ledger) as second:
            assert second[0].refused == ("vdz: another command has changed its queue",)
            assert second[0].scheduler == "bfq"
    assert ((queue / "scheduler").read_text(), (queue / "read_ahead_kb").read_text()) == ("none", "128")
    assert list(ledger.iterdir()) == []


def test_nothing_is_touched_where_nothing_is_asked_for(queue: Path, tmp_path: Path) -> None:
    with tuned([tmp_path], "", None, tmp_path / "ledger") as (told,):
        assert (told.scheduler, told.read_ahead_kb, told.refused) == ("none", 128, ())
    assert (queue / "scheduler").read_text() == "[none] mq-deadline bfq\n"
    assert not (tmp_path / "ledger").exists()


def test_what_cannot_be_kept_is_not_set(queue: Path, tmp_path: Path) -> None:
    """A setting that nobody could put back is worse than none; it is said."""
    (tmp_path / "file").write_text("in the way")
    with tuned([tmp_path], "bfq", None, tmp_path / "file") as (told,):
        assert "nothing was changed" in told.refused[0]
        assert told.scheduler == "none"


def test_a_path_without_a_device_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(devices, "queue_of", lambda path: None)
    with tuned([tmp_path], "bfq", None, tmp_path / "ledger") as (told,):
        assert told.refused == ("path 1 has no block device on this host; not set: scheduler",)
        assert told.device == ""


def test_what_a_killed_command_left_is_put_back_by_the_next(queue: Path, tmp_path: Path) -> None:
    ledger, owner = tmp_path / "ledger", this_process()
    ledger.mkdir()
    kept = {"queue": str(queue), "values": {"scheduler": "mq-deadline", "read_ahead_kb": "64", "../odd": "x"}}
    file = ledger / "vdz.json"
    file.write_text(json.dumps({"owner": dataclasses.asdict(owner), **kept}))
    restore_dead(ledger)
    assert file.exists()
    assert (queue / "read_ahead_kb").read_text() == "128\n"
    dead = dataclasses.asdict(dataclasses.replace(owner, started=owner.started - 1))
    file.write_text(json.dumps({"owner": dead, **kept}))
    restore_dead(ledger)
    assert not file.exists()
    assert ((queue / "scheduler").read_text(), (queue / "read_ahead_kb").read_text()) == ("mq-deadline", "64")
    assert not (queue.parent / "odd").exists()
