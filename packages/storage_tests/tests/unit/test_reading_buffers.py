"""What reads are made into begins with a page: elsewhere a copy out of a cache takes two to four times as long."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

import pytest

from core.content import Content
from core.operations import NullRecorder
from core.records import FsyncPolicy
from core.storage.files import ReadFile
from replay.calls import Calls
from storage_tests.fio import Job, job_file
from storage_tests.stores import PathStore

SIZE = 1 << 20


def _address(buffer: mmap.mmap | memoryview) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


def test_clients_read_into_whole_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    whole = ReadFile.readinto

    def readinto(file: ReadFile, buffer: mmap.mmap) -> int:
        given.append(_address(buffer))
        return whole(file, buffer)

    monkeypatch.setattr(ReadFile, "readinto", readinto)
    (tmp_path / "object").write_bytes(b"x" * SIZE)
    store = PathStore(tmp_path, NullRecorder(), fsync=FsyncPolicy.NONE, io_bytes=SIZE)
    assert store.read("object") == SIZE
    assert given
    assert all(address % mmap.PAGESIZE == 0 for address in given)


def test_replays_read_into_whole_pages() -> None:
    calls = Calls(Content(1, 0), memoryview(b""), 1, SIZE + 1)
    assert _address(calls._buffer) % mmap.PAGESIZE == 0


def test_fio_is_told_to_as_well() -> None:
    read = Job(name="read", does="read", files=("0/file",), block=SIZE, size=None)
    assert f"iomem_align={mmap.PAGESIZE}" in job_file([read], log="log").splitlines()
