"""`make test-filers`: a storage root that does not tell upper and lower case apart: exFAT, and NTFS, which lists all names in
lower case."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from installation import Bench, until
from real_mounts import CASELESS, Real, delete_verified, installed, real
from unpacking import make_zip

from core.roles import WORKER
from core.settings import Settings

_AT_WORK = "SELECT DISTINCT worker FROM task WHERE phase = 'expand' AND state = 'running'"


@pytest.fixture(scope="module", params=CASELESS)
def storage(request: pytest.FixtureRequest) -> Iterator[Real]:
    """Such a file system."""
    with real(request.param) as there:
        yield there


@pytest.fixture
def there(storage: Real, bench: Bench) -> Iterator[Bench]:
    """An installation with its storage root on it; the corpus lies on this machine's disk."""
    with installed(bench, storage, bench.corpus) as made:
        yield made


@contextlib.contextmanager
def _another_worker(bench: Bench, settings: Settings, name: str) -> Iterator[None]:
    """Beside the one that is called w1."""
    environment = os.environ | bench.env | settings.for_role(WORKER).environment()
    process = subprocess.Popen([sys.executable, "-m", "worker", "--name", name, "--slots", "1"], env=environment)
    try:
        until(lambda: bench.query(f"SELECT 1 FROM worker WHERE name = '{name}'"), "it is there")
        yield
    finally:
        process.terminate()
        process.wait()


def test_items_of_workers_whose_names_differ_in_case(there: Bench) -> None:
    """Each has a folder by its name: were they two, phase finalise would find the files of one in the other's, and remove them."""
    held = there.hold("expand", after=0)
    with there.attached() as settings, there.standing(slots=1), _another_worker(there, settings, "W1"):
        process = there.start("discover", str(there.corpus), "--layout", "per-worker")
        until(lambda: len(there.query(_AT_WORK)) == 2, "both unpack")
        held.let_go()
        there.end(process)
        there.verify()


def test_productions_are_whole(storage: Real, there: Bench) -> None:
    """What a job wrote is known again however it is listed, and removed with it; where another job's files are a directory is
    refused by any of its names, if storage has one inode number for all of them."""
    out = there.storage.parent / "Out"
    with there.attached():
        with there.standing():
            there.edbench("discover", str(there.corpus))
            for kind in ("export", "extract"):
                there.edbench(kind, "last", "--out", str(out / kind), "--folder-files", "40")
        if storage.name == "ntfs":  # FUSE gives each name on exFAT a number of its own
            _check_refused(there, out)
        delete_verified(there, 2)
    assert [path for path in out.rglob("*") if path.is_file()] == []


def _check_refused(there: Bench, out: Path) -> None:
    jobs = there.storage.parent / there.storage.name.upper() / "JOBS"
    assert "its own files" in there.ask("produce", "export", "last", "--out", str(jobs / "x"), check=2).stderr
    theirs = out.parent / "OUT" / "EXPORT" / "x"
    assert "which another job wrote" in there.ask("produce", "export", "last", "--out", str(theirs), check=2).stderr


def test_a_source_is_not_copied_there_with_less_in_it(there: Bench, tmp_path: Path) -> None:
    """Two files would be one: refused in one line, nothing is left of the copies."""
    for name in ("Report.txt", "report.txt"):
        (tmp_path / "source" / "anna").mkdir(parents=True, exist_ok=True)
        (tmp_path / "source" / "anna" / name).write_text(name)
    refused = there.edbench("discover", str(tmp_path / "source"), "--databases", "2", "--source-copies", check=2)
    assert "already exists on the storage root" in refused.stderr
    assert list((there.storage / "corpora").iterdir()) == []
    shown = " ".join(there.ask("doctor", check=None).stdout.split())
    assert "it ignores case" in shown or "listed as name" in shown


_MAIL = b"""From: anna@example.org
To: bob@example.org
Subject: Budget
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=part

--part
Content-Type: text/plain

about the budget
--part
Content-Type: text/plain
Content-Disposition: attachment; filename=Plan.TXT

the plan
--part--
"""


def _evidence(at: Path) -> None:
    """Names with capitals; in an archive two that differ in case alone; another archive is broken, which is an exception."""
    archive = make_zip({"Notes/Report.txt": b"one report", "notes/report.TXT": b"another report"})
    for custodian in ("Anna", "BOB"):
        folder = at / custodian / "Old Mail"
        folder.mkdir(parents=True)
        (folder / "Budget.EML").write_bytes(_MAIL)
        (folder / "Notes.ZIP").write_bytes(archive)
        (folder / "Broken.ZIP").write_bytes(archive[: len(archive) // 2])
        (folder / "ReadMe.Txt").write_text(f"words of {custodian}")


def _found(bench: Bench) -> list[tuple[str, str, str]]:
    """Of each item where it is, in small letters, what it is, and its bytes."""
    items = [json.loads(line) for line in bench.ask("review", "items", "last", "-o", "jsonl").stdout.splitlines()]
    return sorted(("/".join(i["container_path"]).casefold(), i["media_type"], i["sha256"] or "") for i in items)


def test_evidence_that_lies_there(there: Bench, tmp_path: Path) -> None:
    """Named in capitals, as it is not listed: what is found is what the same on a local disk has, also when it is asked for again,
    and a production has the bytes of it."""
    theirs, ours = there.storage.parent / "Evidence", tmp_path / "Evidence"
    for source in (theirs, ours):
        _evidence(source)
    with there.standing():
        there.edbench("discover", str(ours))
        known = _found(there)
        assert len(known) >= 14
        there.edbench("discover", str(theirs.with_name("EVIDENCE")))
        assert _found(there) == known
        there.edbench("job", "requeue", "last")
        there.until_over()
        assert _found(there) == known
        there.edbench("produce", "export", "last", "--out", str(theirs.with_name("Out")))
        assert ": 0 faults" in there.ask("produce", "check", str(theirs.with_name("Out"))).stdout
