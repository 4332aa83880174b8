"""Source, storage root, scratch or database gone or full in the middle: the job is suspended with a line that says
what to mend, and once it is mended `resume` ends it with zero differences."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from archive_files import zipped
from bad_files import noise
from gate_plugin import WORD
from installation import Bench, until
from small_disk import fill, small_tmpfs

PLUGINS = Path(__file__).parents[1] / "support" / "plugins"


@contextmanager
def _swapped(directory: Path) -> Iterator[None]:
    """An empty directory in its place, as an unmounted mount point looks."""
    away = directory.with_name(f"{directory.name} away")
    directory.rename(away)
    directory.mkdir()
    try:
        yield
    finally:
        shutil.rmtree(directory)
        away.rename(directory)


def _gated_source(bench: Bench) -> Path:
    """A custodian whose first file holds a slot in phase expand, with archives after it, and one without archives."""
    source = bench.home / "source"
    for custodian in ("ann", "bob"):
        (source / custodian).mkdir(parents=True)
        (source / custodian / "a letter.txt").write_text("sesame")
    (source / "ann" / "!gate").write_bytes(WORD + bytes(bench.home / "gate"))
    for number in range(3):
        members = {f"{n}.txt": f"sesame {number} {n}".encode() for n in range(5)} | {"noise.bin": noise(number, 10_000)}
        (source / "ann" / f"{number}.zip").write_bytes(zipped(members))
    # The gate is a file of the test, which a sandbox cannot see: this is about storage, not about parsers.
    bench.env |= {"PYTHONPATH": str(PLUGINS), "EDBENCH_PLUGINS": "gate_plugin", "EDBENCH_BOX": "off"}
    return source


def _suspended(bench: Bench, out: str, *words: str) -> None:
    """The command ended with one line that tells why and how to go on; `jobs` shows the state."""
    lines = [line for line in out.splitlines() if line.startswith("edbench: ")]
    assert len(lines) == 1, out
    assert re.match(r"edbench: job [0-9a-f-]{36} is suspended: ", lines[0]), lines
    assert lines[0].count("edbench job resume") == 1, lines
    for word in words:
        assert word in lines[0], lines
    assert "suspended" in bench.ask("job", "list").stdout


def _resumed(bench: Bench, *options: str) -> None:
    """Goes on to its end, and nothing is lost."""
    with bench.attached():
        bench.edbench("job", "resume", "last")
        bench.ask("verify", "last", *options)


def _linked_corpus(bench: Bench) -> Path:
    """The corpus under a directory of this test's own, without its bytes being copied."""
    mine = bench.home / "corpus"
    shutil.copytree(bench.corpus, mine, copy_function=os.link)
    return mine


@pytest.mark.usefixtures("attached")
def test_a_full_storage_root_and_then_an_unmounted_source(bench: Bench) -> None:
    corpus, hold = _linked_corpus(bench), bench.holdable("index")
    with small_tmpfs(bench.storage, 1) as enlarge:
        process = bench.discover("--workers", "1", "--slots", "2", corpus=corpus)
        _suspended(bench, bench.end(process, 1), str(bench.storage), "No space left on device", "free space")
        enlarge(1000)
        hold.after(0)
        process = bench.start("job", "resume", "last")
        hold.until_reached(process)
        with _swapped(corpus / "data"):
            hold.let_go()
            # The other slot may have looked while the one directory was away and the other not yet there: gone, then.
            _suspended(bench, bench.end(process, 1), "the source", "mount ")
            again = bench.end(bench.start("job", "resume", "last"), 1)
            _suspended(bench, again, "the source", "data is not the directory", "mount that one")
        _resumed(bench)


@pytest.mark.usefixtures("attached")
def test_storage_root_unmounted_while_a_task_writes(bench: Bench) -> None:
    source = _gated_source(bench)
    process = bench.discover("--workers", "1", "--slots", "1", corpus=source)
    until(lambda: (bench.home / "gate.reached").exists() or process.poll() is not None, "the gate is reached")
    with _swapped(bench.storage):
        (bench.home / "gate.open").touch()
        _suspended(bench, bench.end(process, 1), str(bench.storage), "mount")
        assert list(bench.storage.iterdir()) == [], "something was written under the bare mount point"
    _resumed(bench, "--internal")


def test_database_full(bench: Bench) -> None:
    source = _gated_source(bench)
    with small_tmpfs(bench.scratch, 400):
        process = bench.discover("--workers", "1", "--slots", "1", "--lease-seconds", "3", corpus=source)
        until(lambda: (bench.home / "gate.reached").exists() or process.poll() is not None, "the gate is reached")
        ballast = bench.scratch / "ballast"
        fill(ballast)
        (bench.home / "gate.open").touch()
        out = bench.end(process, 1)
        ballast.unlink()
        _suspended(bench, out, "its disk is full", "free space there")
        _resumed(bench, "--internal")
