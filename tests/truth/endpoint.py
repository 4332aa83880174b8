"""An S3 endpoint that takes so many connections: a front before a real server, which resets all others and counts them."""

import contextlib
import os
import re
import selectors
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from testbeds import FILERS, Place, Skipped

_PORT = 7070  # of the tool's server
_WAIT_S = 10.0  # that all clients are waited for
_CLIENT = b"client-"  # in the names of clients' objects
_BLOCK = 1 << 16


class Front:
    """Of each `clients` connections of the profile's clients it takes the first `takes` and resets the others.

    Those are handed on to a server at `port` when all of them have come, so that no client comes in a place that
    another has left. Whatever is no client's object (the command's own marker, lists) is handed on at once."""

    def __init__(self, takes: int, clients: int, port: int) -> None:
        self.refused = 0
        self._takes, self._clients, self._server = takes, clients, port
        self._lock = threading.Lock()
        self._came, self._all_came = 0, threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = int(self._socket.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):  # either side is gone
            asked = _request(connection)
            if _CLIENT in asked and not self._taken():
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
                return
            with socket.create_connection(("127.0.0.1", self._server)) as server:
                server.sendall(asked)
                _handed_on(connection, server)

    def _taken(self) -> bool:
        """Whether this one is; where it is, all have come."""
        with self._lock:
            place, all_came = self._came % self._clients, self._all_came
            self._came += 1
            self.refused += place >= self._takes
            if place == self._clients - 1:
                all_came.set()
                self._all_came = threading.Event()
        return place < self._takes and (all_came.wait(_WAIT_S) or True)

    def close(self) -> None:
        """No more connections."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _request(connection: socket.socket) -> bytes:
    """Its beginning: the head, and of a POST, which names objects there, the body."""
    data = b""
    while block := connection.recv(_BLOCK):
        data += block
        head, end, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *([0-9]+)", head)
        if end and (not head.startswith(b"POST") or length is None or len(body) >= int(length[1])):
            break
    return data


def _handed_on(one: socket.socket, other: socket.socket) -> None:
    """Both ways, until either ends."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(one, selectors.EVENT_READ, other)
        waiting.register(other, selectors.EVENT_READ, one)
        while True:
            for key, _ in waiting.select():
                data = key.fileobj.recv(_BLOCK)  # type: ignore[union-attr]
                if not data:
                    return
                key.data.sendall(data)


CREDENTIALS = {"AWS_ACCESS_KEY_ID": "edbench", "AWS_SECRET_ACCESS_KEY": "edbench-secret", "AWS_REGION": "us-east-1"}
FILERS_BUILT = Path("/var/tmp/edbench-filers/bin")  # where the tool keeps what it compiled


@contextlib.contextmanager
def served(work: Path) -> Iterator[int]:
    """The tool's S3 server with a bucket `bucket`, up and down again; its port. One that is up already is somebody's and not
    taken. Raises Skipped."""
    if os.geteuid() or not FILERS.is_file():
        raise Skipped("this needs root and ../shared/tools/filers")
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", _PORT), 1):
        raise Skipped("somebody's s3 is up")
    environment = os.environ | {"FILERS_DIR": str(work / "filers")}
    built = FILERS_BUILT / "versitygw"
    if built.is_file():  # compiling it takes minutes
        (work / "filers/bin").mkdir(parents=True)
        (work / "filers/bin/versitygw").symlink_to(built)
    try:
        done = subprocess.run([FILERS, "up", "s3"], env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Skipped(f"filers up s3: {' '.join(done.stderr.split())[-200:]}")
        (work / "filers/s3/data/bucket").mkdir()
        yield _PORT
    finally:
        subprocess.run([FILERS, "down", "s3"], env=environment, capture_output=True, check=False)


@dataclass(frozen=True, slots=True)
class Takes:
    """A bucket of the tool's S3 server behind a front that takes so many connections of so many clients."""

    connections: int
    clients: int

    @contextlib.contextmanager
    def up(self, work: Path) -> Iterator[Place]:
        """Up, and down again."""
        with served(work) as port:
            front = Front(self.connections, self.clients, port)
            try:
                url = f"http://127.0.0.1:{front.port}/bucket/truth"
                yield Place(work, s3=url, environment=CREDENTIALS, refused=lambda: front.refused)
            finally:
                front.close()
