"""A fault comes at the arrival that it was aimed at, while the process that arrived waits."""

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chaos import faulty_os, hook
from chaos.faults.base import Fault, Scene
from chaos.faults.storage import FAULTS as STORAGE
from chaos.moments import Moments
from chaos.plan import Aim, Strike
from chaos.run import Striker
from chaos.source import Source, inside
from installation import PATIENCE

from core import moments
from core.errors import SourceFileError, StorageFault
from core.storage import files as storage_files
from core.storage import layer as storage
from core.storage.beneath import Anywhere, Beneath
from core.storage.layer import Storage


def _strike(moment: str, phase: str = "", position: float = 0.0) -> Strike:
    return Strike(fault="f", aim=Aim(moment=moment, phase=phase, position=position, delay=0.0), share=0.0, choice=0)


class Ear:
    """A campaign that only writes down what strikes."""

    def __init__(self) -> None:
        self.struck: list[tuple[Strike, int]] = []

    def __call__(self, strike: Strike, peer: int) -> None:
        self.struck.append((strike, peer))


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture
def listener(ear: Ear) -> Iterator[Moments]:
    """Heard by this process."""
    with Moments(ear) as made:
        hook.arm(str(made.path))
        yield made
        hook.arm("")


def test_the_arrival_that_was_aimed_at(listener: Moments, ear: Ear) -> None:
    aimed = _strike("claimed", "expand", position=0.5)
    (pending,) = listener.begin([aimed], {("claimed", "expand"): 4})
    for phase in ("walk", "expand", "expand"):
        moments.reached("claimed", phase)
    assert not ear.struck
    for _ in range(3):
        moments.reached("claimed", "expand")
    assert ear.struck == [(aimed, os.getpid())]
    assert pending.phase == "expand"


def test_a_moment_that_such_a_job_never_comes_to(listener: Moments, ear: Ear) -> None:
    aimed = _strike("publish", position=0.5)
    listener.begin([aimed], {("committed", ""): 4})
    for _ in range(2):
        moments.reached("committed")
    assert not ear.struck
    moments.reached("committed")
    assert ear.struck == [(aimed, os.getpid())]


def test_a_fault_that_comes_to_a_moment_itself_is_not_heard() -> None:
    def commits(_scene: Any) -> None:
        moments.reached("committed")

    nowhere: Any = None
    faults = {"f": Fault(name="f", what="a commit", strike=commits)}
    striker = Striker(nowhere, nowhere, nowhere, faults)
    with Moments(striker.strike) as listener:
        hook.arm(str(listener.path))
        try:
            listener.begin([_strike("commit")], {})
            come = threading.Thread(target=moments.reached, args=("commit",), daemon=True)
            come.start()
            come.join(PATIENCE)
            assert not come.is_alive()
            assert listener.counts == {("commit", ""): 1}
            assert hook.ask("committed") == "go"  # this thread is heard as before
        finally:
            hook.arm("")


def test_what_is_striking_has_ended_when_it_is_over() -> None:
    """Else a fault is mended before it has come: a disk was remounted read-only after it had been made writable."""
    begun, go_on, struck = threading.Event(), threading.Event(), threading.Event()

    def strike(_strike: Strike, _peer: int) -> None:
        begun.set()
        go_on.wait()
        struck.set()

    with Moments(strike) as made:
        made.begin([_strike("claim")], {})
        hook.arm(str(made.path))
        arriving = threading.Thread(target=moments.reached, args=("claim",))
        try:
            arriving.start()
            begun.wait()
            threading.Timer(0.05, go_on.set).start()
            made.end()
            assert struck.is_set()
        finally:
            go_on.set()
            arriving.join()
            hook.arm("")


def test_nothing_strikes_once_it_is_over(listener: Moments, ear: Ear) -> None:
    listener.begin([_strike("claim")], {})
    listener.end()
    moments.reached("claim")
    assert not ear.struck


def test_an_answer_can_be_an_error(listener: Moments) -> None:
    end = listener.answering(lambda moment, _detail, _pid: f"errno {errno.EAGAIN}" if moment == "fork" else "")
    with pytest.raises(BlockingIOError):
        moments.reached("fork")
    end()
    assert hook.ask("fork") == "go"


def test_a_process_that_is_not_armed_reports_nothing() -> None:
    assert moments.hook is None
    hook.arm("/nowhere/at/all")
    try:
        assert hook.ask("claim") == ""
        moments.reached("claim")
    finally:
        hook.arm("")


@pytest.fixture
def faulty(listener: Moments, monkeypatch: pytest.MonkeyPatch) -> Moments:
    """This process's storage layer asks the campaign."""
    monkeypatch.setattr(storage, "os", os)
    monkeypatch.setattr(storage_files, "os", os)
    monkeypatch.setattr(storage, "syncfs", storage.syncfs)
    for paths in (Anywhere, Beneath):
        for name in faulty_os.NAMING:
            monkeypatch.setattr(paths, name, paths.__dict__[name])
    faulty_os.install(str(listener.path))
    return listener


@pytest.mark.parametrize("op", ["create", "write", "close", "rename", "mkdir", "fsync"])
def test_a_call_that_writes_fails_where_the_campaign_states(faulty: Moments, op: str, tmp_path: object) -> None:
    path = os.path.join(os.fsencode(str(tmp_path)), b"below", b"file")
    files = Storage()
    end = faulty.answering(
        lambda moment, detail, _pid: (
            f"errno {errno.ESTALE}" if (moment, detail.split(" ")[0]) == ("storage", op) else ""
        ),
        storage=True,
    )

    def write() -> None:
        files.write_file(path, [b"abc"])
        files.sync_tree(os.path.dirname(path))

    with pytest.raises(StorageFault) as caught:
        write()
    assert caught.value.errno == errno.ESTALE
    end()
    write()
    assert files.open(path).read() == b"abc"


@pytest.mark.parametrize("op", ["open", "read", "stat"])
def test_a_source_file_that_an_error_spoilt_may_differ_and_no_other(faulty: Moments, op: str, tmp_path: Path) -> None:
    loose = tmp_path / "data" / "ann" / "letter.txt"
    for path in (loose, tmp_path / "data" / "ann" / "other.txt", tmp_path / "own"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"abc")
    nowhere: Any = None
    source = Source(corpus=tmp_path, own=False, candidates=())
    (eio,) = (fault for fault in STORAGE if fault.name == "storage-eio")
    choice = ("scan", "stat", "open", "read").index(op)
    eio.strike(Scene(site=nowhere, ear=faulty, source=source, peer=0, choice=choice))
    files = Storage()
    for path in (loose, tmp_path / "own"):
        with pytest.raises(SourceFileError):
            _ = files.stat(bytes(path)) if op == "stat" else files.open(bytes(path)).readall()
    assert source.spoiled == ["ann/letter.txt"]
    assert inside(("ann/letter.txt", "inner"), source.spoiled)
    assert not inside(("ann/letter.txt.bak",), source.spoiled)


def test_short_reads_and_writes_lose_nothing(faulty: Moments, tmp_path: object) -> None:
    path = os.path.join(os.fsencode(str(tmp_path)), b"file")
    end = faulty.answering(lambda *_: "short", storage=True)
    files = Storage()
    files.write_file(path, [bytes(range(256)) * 40])
    with files.open(path) as opened:
        assert opened.readall() == bytes(range(256)) * 40
    end()


def test_moments_come_from_several_threads(listener: Moments) -> None:
    listener.begin([], {})
    threads = [threading.Thread(target=moments.reached, args=("commit",)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert listener.counts["commit", ""] == 20
