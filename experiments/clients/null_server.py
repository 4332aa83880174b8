"""Null storage behind an S3 endpoint: `python -m experiments.clients.null_server` answers at once and keeps nothing but sizes.

What clients have against it is their own ceiling: the library, its signatures and HTTP are in it, a storage is not. It prints
its port and serves loopback until its input ends. Bodies are read and dropped, reads are zeros, lists are empty. It asks for
no signature and knows no more of S3 (AWS, API Reference: PutObject, GetObject, DeleteObjects, CreateMultipartUpload, UploadPart,
CompleteMultipartUpload, ListObjectsV2) than our clients use. Limit: it takes processors of the host whose clients it serves, so
the ceiling is theirs and its own together, and errs to the low side.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from signal import SIGKILL
from urllib.parse import parse_qs, urlsplit

import core
from core.errors import RunFailed
from core.services import launch

_ZEROS = bytes(1 << 18)
_MODIFIED = formatdate(0, usegmt=True)
_XML = '<?xml version="1.0" encoding="UTF-8"?>'
_LIST = f"{_XML}<ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>"
_BEGUN = f"{_XML}<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>"
_REMOVED = f"{_XML}<DeleteResult><Deleted><Key>0</Key></Deleted></DeleteResult>"
_WHOLE = f'{_XML}<CompleteMultipartUploadResult><ETag>"0"</ETag></CompleteMultipartUploadResult>'


class Objects:
    """Sizes by path; of an object that goes in parts those that came so far."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self._parts: dict[str, int] = {}

    def answer(self, method: str, target: str, length: int) -> tuple[str, int, str]:
        """Status, zeros that follow, and the text of the answer where it is no object."""
        parts = urlsplit(target)
        path, query = parts.path, parse_qs(parts.query, keep_blank_values=True)
        if method == "PUT":
            known = self._parts if "uploadId" in query else self.sizes
            known[path] = length + (known.get(path, 0) if known is self._parts else 0)
            return "200 OK", 0, ""
        if method == "POST":
            if "delete" in query:  # the body that names them was dropped: they may be read on
                return "200 OK", 0, _REMOVED
            if "uploads" in query:
                self._parts[path] = 0
                return "200 OK", 0, _BEGUN
            self.sizes[path] = self._parts.pop(path, 0)
            return "200 OK", 0, _WHOLE
        if "list-type" in query:
            return "200 OK", 0, _LIST
        if path not in self.sizes:
            return "404 Not Found", 0, ""
        return "200 OK", self.sizes[path], ""


class Connection(asyncio.Protocol):
    """HTTP/1.1 (RFC 9112): one request after another."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._head = b""
        self._request: tuple[str, str, int] | None = None
        self._left = self._zeros = 0  # bytes of the body to come; zeros still to send
        self._paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        while True:
            if self._request is None:
                self._head += data
                head, end, data = self._head.partition(b"\r\n\r\n")
                if not end:
                    return
                self._begin(head.decode("latin-1"))
            taken = min(self._left, len(data))
            self._left, data = self._left - taken, data[taken:]
            if self._left or self._request is None:
                return
            self._answer(*self._request)
            if not data:
                return

    def _begin(self, head: str) -> None:
        line, *fields = head.split("\r\n")
        method, target, _ = line.split(" ", 2)
        given = {name.strip().lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        length = int(given.get("content-length", "0"))
        self._head, self._request, self._left = b"", (method, target, length), length
        if given.get("expect", "").lower() == "100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _answer(self, method: str, target: str, length: int) -> None:
        status, zeros, text = self._objects.answer(method, target, length)
        self._request = None
        size = f"Content-Length: {zeros or len(text)}"
        head = f'HTTP/1.1 {status}\r\n{size}\r\nETag: "0"\r\nLast-Modified: {_MODIFIED}\r\n\r\n{text}'
        self._transport.write(head.encode("latin-1"))
        self._zeros = 0 if method == "HEAD" else zeros
        self._send()

    def _send(self) -> None:
        while self._zeros and not self._paused:
            piece = _ZEROS[: self._zeros]
            self._zeros -= len(piece)
            self._transport.write(piece)

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._send()


async def _serve() -> None:
    objects, over = Objects(), asyncio.Event()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(objects), "127.0.0.1", 0, backlog=1024)
    asyncio.get_running_loop().add_reader(0, over.set)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await over.wait()


@contextlib.contextmanager
def null_endpoint() -> Iterator[str]:
    """The URL of a bucket there, for as long as the block lasts. Raises RunFailed."""
    command = [sys.executable, "-I", "-S", launch.__file__, str(os.getpid()), str(int(SIGKILL)), "-1", "-1", "",
               sys.executable, "-m", "experiments.clients.null_server"]  # fmt: skip
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(core.__file__).parents[1],
        start_new_session=True,
    ) as server:  # fmt: skip
        assert server.stdout is not None
        try:
            port = server.stdout.readline().decode().strip()
            if not port:
                raise RunFailed("null storage for an S3 endpoint did not start")
            yield f"http://127.0.0.1:{port}/null"
        finally:
            server.kill()


if __name__ == "__main__":
    asyncio.run(_serve())
