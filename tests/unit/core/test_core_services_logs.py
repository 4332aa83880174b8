"""Logs: who may read them, and how large they become while they are written."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.services import process as logs
from core.services.process import open_log, rotate, spawn, trim

MOST = 1_000


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A small bound, and a umask that would give everything away."""
    monkeypatch.setattr(logs, "MOST_BYTES", MOST)
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_a_process_states_is_not_for_everybody(tmp_path: Path) -> None:
    """0640, also of a log that an earlier version left behind."""
    old = tmp_path / "old.log"
    old.touch(0o666)
    for log in (tmp_path / "new.log", old):
        process = spawn([sys.executable, "-c", "print('hello')"], env={}, log=log, cwd=tmp_path)
        assert process.wait() == 0
        assert (mode(log), log.read_text()) == (0o640, "hello\n")
    old.chmod(0o666)
    rotate(old)
    assert mode(tmp_path / "old.log.1") == 0o640


def test_a_log_is_emptied_under_the_hands_of_its_writer(tmp_path: Path) -> None:
    log, older = tmp_path / "w1.log", tmp_path / "w1.log.1"
    with open_log(log) as writer:
        for round_ in range(3):
            text = b"%d" % round_ * (MOST + 1)
            writer.write(text)
            writer.flush()
            trim(log)
            assert (log.read_bytes(), older.read_bytes(), mode(older)) == (b"", text, 0o640)
        writer.write(b"after")
    trim(log)
    assert log.read_bytes() == b"after"
    assert sorted(os.listdir(tmp_path)) == ["w1.log", "w1.log.1"]


def test_a_full_disk_does_not_keep_a_log_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is emptied even where nothing of it can be kept."""
    log = tmp_path / "w1.log"
    log.write_bytes(b"x" * (MOST + 1))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(logs.shutil, "copyfileobj", full)
    trim(log)
    assert log.read_bytes() == b""
    assert os.listdir(tmp_path) == ["w1.log"]


def test_a_log_that_is_not_there_is_no_trouble(tmp_path: Path) -> None:
    trim(tmp_path / "w1.log")
    rotate(tmp_path / "w1.log")
    assert os.listdir(tmp_path) == []
