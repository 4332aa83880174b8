"""Source files that change between the two passes of a discovery."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from installation import Bench

_WORDS = b"originalword, the first version of %s"
_LARGE = 17_000_000  # more than is worked on in memory
_CHANGED = "changed_during_processing"


def _replace(path: Path, data: bytes, *, same_time: bool) -> None:
    """Other bytes in the same file, under its first modification time if wished."""
    before = path.stat()
    path.write_bytes(data)
    if same_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.usefixtures("attached")
def test_text_is_of_the_bytes_that_have_the_hash_or_there_is_an_exception(bench: Bench) -> None:
    folder = bench.home / "source" / "ann"
    folder.mkdir(parents=True)
    for name in ("calm", "grown", "emptied", "twin", "touched", "removed"):
        (folder / f"{name}.txt").write_bytes(_WORDS % name.encode())
    for name in ("calm", "grown", "twin", "touched", "cut"):
        (folder / f"{name}-large.txt").write_bytes((_WORDS % name.encode()).ljust(60, b".") * (_LARGE // 60) + b"\n")
    hold = bench.hold("index", 0)
    process = bench.discover("--workers", "1", "--slots", "1", corpus=folder.parent)
    hold.until_reached(process)
    for name in ("grown", "grown-large"):
        with (folder / f"{name}.txt").open("ab") as file:
            file.write(b" and appendedword\n")
    (folder / "emptied.txt").write_bytes(b"")
    (folder / "removed.txt").unlink()
    os.truncate(folder / "cut-large.txt", _LARGE // 2)
    for name in ("twin", "twin-large"):
        data = (folder / f"{name}.txt").read_bytes()
        _replace(folder / f"{name}.txt", data.replace(b"original", b"replaced"), same_time=True)
    for name in ("touched", "touched-large"):
        os.utime(folder / f"{name}.txt")
    hold.let_go()
    bench.end(process)
    rows = bench.query(
        "SELECT convert_from(name, 'UTF8') AS name, bytes, characters, state,"
        " array(SELECT code FROM exception WHERE exception.item = item.id) AS codes"
        " FROM item JOIN item_text ON item_text.item = item.id"
    )
    changed = {
        "emptied": _CHANGED,
        "twin": _CHANGED,
        "twin-large": _CHANGED,
        "cut-large": _CHANGED,
        "removed": "vanished",
    }
    assert len(rows) == 11
    for row in rows:
        code = changed.get(row.name.removesuffix(".txt"))
        characters = 0 if code else row.bytes  # of a text in ASCII that was hashed and taken whole
        state = "failed" if code else "ok"
        assert (row.name, row.codes, row.characters, row.state) == (row.name, [code] * bool(code), characters, state)
