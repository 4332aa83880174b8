"""Null storage behind an S3 endpoint: `python -m storage_tests.null_server` answers at once and keeps nothing but
sizes.

What clients have against it is their own ceiling: the library, its signatures and HTTP are in it, a storage is not. It
prints its port and serves loopback until its input ends. Bodies are read and dropped, reads are zeros, lists are empty.
It requires no signature and knows no more of S3 (AWS, API Reference: PutObject, GetObject, DeleteObjects,
CreateMultipartUpload, UploadPart, CompleteMultipartUpload, ListObjectsV2) than our clients use. Limit: it takes CPU
time of the host whose clients it serves, so the ceiling is theirs and its own together, and errs to the low side."""

from __future__ import annotations

import contextlib
import os
import socket
import socketserver
import sys
import threading
from collections.abc import Iterator
from email.utils import formatdate
from urllib.parse import parse_qs, urlsplit

from core.services.process import LineProcess, answer, answers

_ZEROS = 1 << 28  # bytes of the file that reads are answered from
_HEAD, _SCRAP = 1 << 16, 1 << 20  # bytes that are taken in at once: of heads, of bodies
_MODIFIED = formatdate(0, usegmt=True)
_XML = '<?xml version="1.0" encoding="UTF-8"?>'
_LIST = f"{_XML}<ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>"
_BEGUN = f"{_XML}<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>"
_REMOVED = f"{_XML}<DeleteResult><Deleted><Key>0</Key></Deleted></DeleteResult>"
_WHOLE = f'{_XML}<CompleteMultipartUploadResult><ETag>"0"</ETag></CompleteMultipartUploadResult>'


class Objects:
    """Sizes by path; of an object sent in parts those that arrived so far."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self._parts: dict[str, int] = {}

    def answer(self, method: str, target: str, length: int) -> tuple[str, int, str]:
        """Return the status, the number of zeros that follow, and the text if the answer is no object."""
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


class _Connection(socketserver.BaseRequestHandler):
    """HTTP/1.1 (RFC 9112): one request after another, in a thread of its own, so that what is copied is copied at once."""

    server: _Server

    def handle(self) -> None:
        """Answer requests until the client is gone."""
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._came, self._scrap = b"", memoryview(bytearray(_SCRAP))
        with contextlib.suppress(OSError):
            while self._served():
                pass

    def _served(self) -> bool:
        connection: socket.socket = self.request
        while (end := self._came.find(b"\r\n\r\n")) < 0:
            if not (more := connection.recv(_HEAD)):
                return False
            self._came += more
        head, self._came = self._came[:end].decode("latin-1"), self._came[end + 4 :]
        line, *fields = head.split("\r\n")
        method, target, _ = line.split(" ", 2)
        given = {name.strip().lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        length = int(given.get("content-length", "0"))
        if given.get("expect", "").lower() == "100-continue":
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not self._dropped(length):
            return False
        self._answer(connection, method, target, length)
        return True

    def _dropped(self, length: int) -> bool:
        """Read and discard a body; return whether all of it arrived."""
        left, self._came = length - len(self._came), self._came[length:]
        while left > 0:
            if not (moved := self.request.recv_into(self._scrap, min(left, _SCRAP))):
                return False
            left -= moved
        return True

    def _answer(self, connection: socket.socket, method: str, target: str, length: int) -> None:
        status, zeros, text = self.server.objects.answer(method, target, length)
        size = f"Content-Length: {zeros or len(text)}"
        head = f'HTTP/1.1 {status}\r\n{size}\r\nETag: "0"\r\nLast-Modified: {_MODIFIED}\r\n\r\n{text}'
        connection.sendall(head.encode("latin-1"))
        left = 0 if method == "HEAD" else zeros
        while left:
            left -= os.sendfile(connection.fileno(), self.server.zeros, 0, min(left, _ZEROS))


class _Server(socketserver.ThreadingTCPServer):
    """Server of the null endpoint; `zeros`: a file of holes in memory, from which reads are answered without a copy."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.objects, self.zeros = Objects(), os.memfd_create("zeros")
        os.ftruncate(self.zeros, _ZEROS)


def main() -> None:
    """Serve until the input ends."""
    with _Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        answer(server.server_address[1])
        sys.stdin.read()
        server.shutdown()


@contextlib.contextmanager
def null_endpoint() -> Iterator[str]:
    """Serve null storage while the block lasts; yield the URL of a bucket. Raises RunFailed."""
    server = LineProcess("storage_tests.null_server", "null storage for an S3 endpoint")
    try:
        yield f"http://127.0.0.1:{answers([server])[0]}/null"
    finally:
        server.end()


if __name__ == "__main__":
    main()
