"""Clients that use a directory, or an endpoint, at the same time: every file once, every refusal counted."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.errors import RunFailed, UsageError
from storage_tests.clients import ProcessDone
from storage_tests.crowd import Place, crowd
from storage_tests.null_server import null_endpoint
from storage_tests.stores import names_below, place_of

TAKES = 10


def test_together_every_number_is_done_once(tmp_path: Path) -> None:
    with crowd(Place(roots=(tmp_path,)), 5) as people:
        done = people.do("write", range(3, 103), 1000, together=True)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(int(path.name) for path in files) == list(range(3, 103))
    assert {path.stat().st_size for path in files} == {1000}
    assert len({path.read_bytes() for path in files}) == 100
    calls = {one.label: one.calls for one in done.counted}
    assert (calls["create"], calls["write"], calls["close"], calls["whole write"]) == (100, 100, 100, 100)
    assert (
        sum(one.done for one in done.clients),
        sum(one.bytes for one in done.clients),
        sum(done.bytes_by_second),
    ) == (100, 100_000, 100_000)


def test_each_writes_reads_and_removes_its_own(tmp_path: Path) -> None:
    roots = (tmp_path / "a", tmp_path / "b")
    for root in roots:
        root.mkdir()
    with crowd(Place(roots=roots, io_bytes=65_536), 3) as people:
        written = people.do("write", range(2), 150_000, shared_directory=True)
        assert sorted(len(list((root / "shared").iterdir())) for root in roots) == [2, 4]
        people.do("forget", range(2), 150_000, shared_directory=True)
        read = people.do("read", range(2), 150_000, shared_directory=True)
        removed = people.do("remove", range(2), 150_000, shared_directory=True)
    assert [one.done for one in written.clients] == [2, 2, 2]
    assert sum(one.bytes for one in read.clients) == 6 * 150_000
    assert sum(one.done for one in removed.clients) == 6
    assert not [path for root in roots for path in root.rglob("*") if path.is_file()]


def test_clients_begin_no_sooner_than_told(tmp_path: Path) -> None:
    with crowd(Place(roots=(tmp_path,)), 3) as people:
        at_once = people.do("write", range(1), 10)
        spread = people.do("remove", range(1), 10, delays_s=(0.0, 0.05, 0.1))
    assert all(one.began_s >= 0 for one in at_once.clients)
    assert all(one.began_s >= late for one, late in zip(spread.clients, (0.0, 0.05, 0.1), strict=True))


def test_what_fails_is_counted_and_reported(tmp_path: Path) -> None:
    with crowd(Place(roots=(tmp_path,)), 2) as people:
        people.do("write", range(1), 10)
        done = people.do("read", range(3), 10)
    assert [(one.done, one.failed, one.refused) for one in done.clients] == [(1, 2, 0)] * 2
    assert all("cannot open" in one.said[0] for one in done.clients)
    assert next(one.errors for one in done.counted if one.label == "whole read") == 4


def test_a_process_that_dies_ends_the_run(tmp_path: Path) -> None:
    with crowd(Place(roots=(tmp_path,)), 2) as people:
        processes = [one.process for one in people._processes]  # type: ignore[attr-defined]
        processes[0].kill()
        with pytest.raises(RunFailed, match="a process of clients died"):
            people.do("write", range(1), 10)
    assert all(process.poll() is not None for process in processes)


@pytest.mark.parametrize("clients", [0, 1_001])
def test_numbers_that_make_no_sense_are_refused(clients: int, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="clients of one test"), crowd(Place(roots=(tmp_path,)), clients):
        pass


class _Front:
    """An HTTP server that takes ten connections: further ones are reset, and it counts them. The ten are answered when so
    many have been refused as are to be, so that no client comes in a place that another has left."""

    def __init__(self, refuse: int) -> None:
        self.taken = self.refused = 0
        self._enough = threading.Event()
        self._refuse = refuse
        if not refuse:
            self._enough.set()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._socket.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            if self.taken < TAKES:
                self.taken += 1
                thread = threading.Thread(target=self._serve, args=(connection,))
                self._threads.append(thread)
                thread.start()
                continue
            self.refused += 1
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
            if self.refused >= self._refuse:
                self._enough.set()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            while head := lines.readline():
                length = 0
                while (line := lines.readline()).strip():
                    name, _, value = line.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                assert head.startswith(b"PUT ")
                lines.read(length)
                self._enough.wait(60)
                connection.sendall(b'HTTP/1.1 200 OK\r\nETag: "one"\r\nContent-Length: 0\r\n\r\n')

    def close(self) -> None:
        self._enough.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in (self._accepting, *self._threads):
            thread.join()


@contextmanager
def _front(refuse: int) -> Iterator[_Front]:
    front = _Front(refuse)
    try:
        yield front
    finally:
        front.close()


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ACCESS_KEY_ID", "edbench"), ("SECRET_ACCESS_KEY", "secret"), ("REGION", "us-east-1")):
        monkeypatch.setenv(f"AWS_{name}", value)


def _put(front: _Front, clients: int) -> ProcessDone:
    with crowd(Place(s3=f"http://127.0.0.1:{front.port}/bucket/prefix"), clients) as people:
        return people.do("write", range(1), 1024)


@pytest.mark.usefixtures("credentials")
@pytest.mark.parametrize("clients", [10, 25])
def test_refused_connections_are_counted_exactly(clients: int) -> None:
    """By a server that takes ten: as many as it refused, none tried again, none hidden among other errors.

    One object each: whether a second one comes over the same connection is the library's business."""
    expected = clients - TAKES
    with _front(expected) as front:
        done = _put(front, clients)
    assert front.taken == TAKES
    assert sum(one.refused for one in done.clients) == front.refused == expected
    assert sum(one.failed for one in done.clients) == 0
    assert sorted(one.done for one in done.clients) == [0] * expected + [1] * TAKES
    assert all(one.said for one in done.clients if one.refused)


@pytest.mark.usefixtures("credentials")
def test_the_null_endpoint_answers_everything_and_keeps_nothing() -> None:
    with null_endpoint() as url:
        place = Place(s3=f"{url}/prefix")
        with crowd(place, 3) as people:
            for size in (1_024, 12_000_000, 0):
                written, read, removed = (people.do(deed, range(2), size) for deed in ("write", "read", "remove"))
                assert [one.done for done in (written, read, removed) for one in done.clients] == [2] * 9
                assert sum(one.bytes for one in read.clients) == 6 * size
            missing = people.do("read", range(7, 8), 1)
        assert [(one.done, one.failed, one.refused) for one in missing.clients] == [(0, 1, 0)] * 3
        assert list(names_below(place_of(url))) == []


@pytest.mark.usefixtures("credentials")
def test_where_nobody_listens_every_connection_is_refused() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))  # and never listens
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/bucket/prefix"
        with crowd(Place(s3=url), 3) as people:
            done = people.do("write", range(2), 1024)
    assert [(one.done, one.refused, one.failed) for one in done.clients] == [(0, 2, 0)] * 3
