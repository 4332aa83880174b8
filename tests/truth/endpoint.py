"""An S3 endpoint that takes so many connections at a time: a front before a real server, which resets all others and counts them."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from testbeds import FILERS, Place, Skipped

_PORT = 7070  # of the tool's server
_WAIT_S = 2.0  # for a place: one that is left just now is free before the next connection is refused
_BLOCK = 1 << 16


class Front:
    """Ten connections, say, are handed on to a server at `port`; one more waits for a moment, and is reset."""

    def __init__(self, takes: int, port: int) -> None:
        self.refused = 0
        self._places, self._server = threading.Semaphore(takes), port
        self._count = threading.Lock()
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
        with connection:
            if not self._places.acquire(timeout=_WAIT_S):
                with self._count:
                    self.refused += 1
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
                return
            try:
                with socket.create_connection(("127.0.0.1", self._server)) as server:
                    _handed_on(connection, server)
            except OSError:
                return  # either side is gone
            finally:
                self._places.release()

    def close(self) -> None:
        """No more connections."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


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


@dataclass(frozen=True, slots=True)
class Takes:
    """A bucket of the tool's S3 server behind a front that takes so many connections at a time."""

    connections: int
    credentials: ClassVar[dict[str, str]] = {
        "AWS_ACCESS_KEY_ID": "edbench", "AWS_SECRET_ACCESS_KEY": "edbench-secret", "AWS_REGION": "us-east-1",
    }  # fmt: skip

    @contextlib.contextmanager
    def up(self, work: Path) -> Iterator[Place]:
        """Up, and down again; one that is up already is somebody's and not taken."""
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
            front = Front(self.connections, _PORT)
            try:
                url = f"http://127.0.0.1:{front.port}/bucket/truth"
                yield Place(work, s3=url, environment=self.credentials, refused=lambda: front.refused)
            finally:
                front.close()
        finally:
            subprocess.run([FILERS, "down", "s3"], env=environment, capture_output=True, check=False)


FILERS_BUILT = Path("/var/tmp/edbench-filers/bin")  # where the tool keeps what it compiled
