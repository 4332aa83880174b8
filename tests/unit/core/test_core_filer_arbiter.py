"""The arbiter: one queue for all slots of the host, whatever happens to them."""

import os
import secrets
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from installation import until
from recording import MemoryRecorder

from core.errors import StorageFault
from core.filer import FilerModel, load_filer
from core.filer.arbiter import Arbiter
from core.filer.emulation import OCTAVES, EmulatedFiler, Pacer, octave, open_arbiter
from core.filer.use import SHARED_MEMORY, arbiter_path
from core.operations import Op
from core.settings import Settings
from core.storage.layer import Storage

_TEXT = """
name = "mine"
[metadata]
servers = {servers}
service_us.default = {service}
[data]
servers = 1
service_us.read = 100.0
[link]
bytes_per_s = 1e6
[disk]
read_ms = 5.0
read_miss = 0.25
"""
MS = 1_000_000


@pytest.fixture
def path() -> Iterator[Path]:
    """A place for an arbiter in shared memory."""
    place = SHARED_MEMORY / f"edbench-filer-test-{os.getpid()}-{time.monotonic_ns()}"
    yield place
    place.unlink(missing_ok=True)


def _model(tmp_path: Path, servers: int = 1, service_us: float = 1000.0) -> FilerModel:
    file = tmp_path / f"filer-{servers}-{service_us}.toml"
    file.write_text(_TEXT.format(servers=servers, service=service_us))
    model = load_filer(str(file))
    assert model is not None
    return model


def test_a_queue_serves_in_order_and_counts_the_wait(tmp_path: Path, path: Path) -> None:
    with Arbiter(path, _model(tmp_path)) as arbiter:
        assert [arbiter.book(Op.STAT, 0, 0) for _ in range(3)] == [1 * MS, 2 * MS, 3 * MS]
        assert arbiter.book(Op.STAT, 0, 10 * MS) == 11 * MS
        counts = arbiter.snapshot().stations["metadata"]
        assert (counts.calls, counts.busy_ns, counts.waited_ns) == (4, 4 * MS, (0 + 1 + 2 + 0) * MS)


def test_servers_work_side_by_side(tmp_path: Path, path: Path) -> None:
    with Arbiter(path, _model(tmp_path, servers=2)) as arbiter:
        assert [arbiter.book(Op.STAT, 0, 0) for _ in range(4)] == [1 * MS, 1 * MS, 2 * MS, 2 * MS]


def test_all_users_share_the_queue(tmp_path: Path, path: Path) -> None:
    model = _model(tmp_path)
    with Arbiter(path, model) as arbiter:
        pid = os.fork()
        if pid == 0:
            Arbiter(path, model).book(Op.STAT, 0, 0)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        assert arbiter.book(Op.STAT, 0, 0) == 2 * MS


def test_the_link_bounds_bytes(tmp_path: Path, path: Path) -> None:
    with Arbiter(path, _model(tmp_path)) as arbiter:
        first = arbiter.book(Op.READ, 10_000, 0)
        assert first == 100_000 + 10 * MS
        assert arbiter.book(Op.READ, 10_000, 0) == 20 * MS
        assert arbiter.snapshot().stations["link"].busy_ns == 20 * MS


def test_misses_are_the_stated_share(tmp_path: Path, path: Path) -> None:
    with Arbiter(path, _model(tmp_path)) as arbiter:
        for n in range(400):
            arbiter.book(Op.READ, 0, n * MS)
        counts = arbiter.snapshot()
    assert (counts.misses, counts.missed_ns) == (100, 100 * 5 * MS)


def test_no_service_time_bends_nothing(tmp_path: Path, path: Path) -> None:
    with Arbiter(path, _model(tmp_path, service_us=0.0)) as arbiter:
        assert {arbiter.book(Op.OPEN, 0, 7 * MS) for _ in range(100)} == {7 * MS}
        assert arbiter.snapshot().stations["metadata"].waited_ns == 0


def test_a_slot_killed_while_it_books_holds_up_no_process(tmp_path: Path, path: Path) -> None:
    model = _model(tmp_path, servers=4, service_us=1.0)
    with Arbiter(path, model) as arbiter:
        for _ in range(20):
            before = arbiter.snapshot().stations["metadata"].calls
            pid = os.fork()
            if pid == 0:
                mine = Arbiter(path, model)
                while True:
                    mine.book(Op.STAT, 0, 0)
            deadline = time.monotonic() + 300
            while arbiter.snapshot().stations["metadata"].calls < before + 50:
                assert time.monotonic() < deadline
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            arbiter.book(Op.STAT, 0, 0)  # for ever, if the lock were still held
        counts = arbiter.snapshot().stations["metadata"]
        assert abs(counts.busy_ns - counts.calls * 1000) <= 20 * 1000  # at most one half-counted call a killing


def test_it_goes_with_its_last_user(tmp_path: Path, path: Path) -> None:
    model = _model(tmp_path)
    ready, done = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(done[1])  # or the read below would not end when the test fails
        arbiter = Arbiter(path, model)
        os.write(ready[1], b"x")
        os.read(done[0], 1)
        arbiter.close()
        os._exit(0)
    os.read(ready[0], 1)
    Arbiter(path, model).close_and_remove()
    assert path.exists()
    os.write(done[1], b"x")
    os.waitpid(pid, 0)
    Arbiter(path, model).close_and_remove()
    assert not path.exists()
    for end in (*ready, *done):
        os.close(end)


def test_a_link_in_its_place_is_refused(tmp_path: Path, path: Path) -> None:
    """Shared memory is open to every user: a file put there by another must not be written through."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    path.symlink_to(victim)
    with pytest.raises(StorageFault, match="arbiter"):
        Arbiter(path, _model(tmp_path))
    assert victim.read_bytes() == b"mine"


def test_installations_do_not_share_a_filer(tmp_path: Path) -> None:
    one, two = _model(tmp_path), _model(tmp_path, servers=2)
    paths = {arbiter_path(m.digest, tmp_path / s) for m in (one, two) for s in "ab"} | {
        arbiter_path(one.digest, tmp_path / "a")
    }
    assert len(paths) == 4


def test_members_of_a_run_share_a_filer_whatever_their_scratch(tmp_path: Path) -> None:
    """Promise: two members of one host do not give an experiment two filers."""
    run, opened = secrets.token_hex(8), list[Arbiter]()
    try:
        for scratch, of in (("a", run), ("b", run), ("a", "")):
            settings = Settings(scratch=tmp_path / scratch, filer="nas-1g", run=of)
            arbiter = open_arbiter(settings)
            assert arbiter is not None
            opened.append(arbiter)
        assert opened[0].path == opened[1].path != opened[2].path
    finally:
        for one in opened:
            one.close_and_remove()


def test_the_delay_is_part_of_the_recorded_call(tmp_path: Path, path: Path) -> None:
    # A delay ends when there is a processor to go on with: a moment at which there is one is waited for.
    until(lambda: _median_of_delayed_calls(tmp_path, path) < 8 * MS, "calls of 3 ms take about as long")


def _median_of_delayed_calls(tmp_path: Path, path: Path) -> int:
    recorder = MemoryRecorder()
    with Arbiter(path, _model(tmp_path, service_us=3000.0)) as arbiter:
        before = sum(s.calls for n, s in arbiter.snapshot().stations.items() if n != "link")
        storage = Storage(recorder, filer=EmulatedFiler(arbiter, Pacer()))
        place = bytes(tmp_path) + b"/x"
        storage.write_file(place, [b"abc"])
        with storage.open(place) as file:
            assert file.read() == b"abc"
        storage.scan(bytes(tmp_path))
        storage.remove(place)
        storage.remove(place, missing_ok=True)
        calls = sum(s.calls for n, s in arbiter.snapshot().stations.items() if n != "link")
    assert calls - before == len(recorder.records)
    metadata = [r for r in recorder.records if r.op not in (Op.READ, Op.WRITE)]
    assert {Op.CREATE, Op.CLOSE, Op.RENAME, Op.OPEN, Op.SCAN, Op.REMOVE} == {r.op for r in metadata}
    assert all(r.duration_ns > 2.9 * MS for r in metadata)
    return sorted(r.duration_ns for r in metadata)[len(metadata) // 2]


class _Late:
    """In place of a pacer: a processor that comes 3 ms after it was due."""

    def wait_until(self, end_ns: int) -> int:
        return end_ns + 3 * MS


def test_what_a_call_took_beyond_its_booking_is_reported(path: Path, tmp_path: Path) -> None:
    """Two calls at one moment to one server of 1 ms: the second waits 1 ms in the queue; each is 3 ms late, whoever's
    fault the latency of 4 and 5 ms seems."""
    with Arbiter(path, _model(tmp_path)) as arbiter:
        filer = EmulatedFiler(arbiter, _Late())  # type: ignore[arg-type]
        ends = [filer.serve(Op.STAT, 0, 1_000 * MS) for _ in range(2)]
        assert ends == [1_004 * MS, 1_005 * MS]
        assert filer.served[:2].tolist() == [1 * MS, 6 * MS]
        mostly = 2 + Op.STAT * OCTAVES
        found = {at - mostly: n for at, n in enumerate(filer.served.tolist()) if at > 1 and n}
        assert found == {octave(4 * MS): 1, octave(5 * MS): 1}  # 3 of 4 ms, and 3 of 5
