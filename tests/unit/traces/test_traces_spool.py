"""What a slot writes down of its calls, and what is left of it when the slot dies."""

from __future__ import annotations

import errno
import os
import uuid
from pathlib import Path

import pytest

from core.operations import Op
from traces.blocks import Damaged
from traces.model import NO_NODE, Call
from traces.spool import Row, SpoolHead, SpoolWriter, read_spool

HEAD = SpoolHead(job=uuid.UUID(int=5), worker="w1", slot=2, boot="b", wall_ns=-7, phases=("walk", "expand"))
OPENED: Row = (Op.OPEN, 100, 5, 0, 44, b"/s/caf\xe9", b"", 0)
RENAMED: Row = (Op.RENAME, 200, 6, 0, 0, b"/s/new", b"/s/caf\xe9", 2)


def write(path: Path) -> SpoolWriter:
    writer = SpoolWriter(path, HEAD)
    writer.write([OPENED, RENAMED], 1)
    writer.write([OPENED], 0)
    return writer


def test_calls_come_back_by_task(tmp_path: Path) -> None:
    write(tmp_path / "job" / "p").close()
    head, blocks = read_spool(tmp_path / "job" / "p")
    assert head == HEAD
    first, second = blocks
    assert (first.phase, first.paths) == (1, [b"/s/caf\xe9", b"/s/new"])
    assert first.calls == [
        Call(Op.OPEN, 100, 5, 0, 44, 0, NO_NODE, 0, 1),
        Call(Op.RENAME, 200, 6, 0, 0, 1, 0, 2, 1),
    ]
    assert (second.phase, second.paths, len(second.calls)) == (0, [b"/s/caf\xe9"], 1)


def test_a_part_whose_slot_died_while_it_wrote_is_whole_up_to_there(tmp_path: Path) -> None:
    write(tmp_path / "p").close()
    whole = (tmp_path / "p").read_bytes()
    counts = set()
    for length in range(len(whole)):
        (tmp_path / "cut").write_bytes(whole[:length])
        try:
            _, blocks = read_spool(tmp_path / "cut")
        except Damaged:
            counts.add(-1)
            continue
        counts.add(sum(len(block.calls) for block in blocks))
    assert counts == {-1, 0, 2}


def test_a_full_disk_leaves_the_part_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = write(tmp_path / "p")
    before = (tmp_path / "p").read_bytes()
    really = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: really(fd, data[:10]))
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        writer.write([OPENED], 0)
    monkeypatch.undo()
    assert (tmp_path / "p").read_bytes() == before
    writer.write([RENAMED], 0)
    assert [len(block.calls) for block in read_spool(tmp_path / "p")[1]] == [2, 1, 1]
    assert not writer.gone
    (tmp_path / "p").unlink()
    assert writer.gone
    writer.close()
