"""The HTTP server: in the foreground until a signal, or in a thread of a command."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator

import anyio.to_thread
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from core.errors import SystemFault, UsageError

# As many requests at a time as there are database connections (`CONNECTIONS`, and as many again when needed).
THREADS = 10
CONNECTIONS = 6
_GRACE_SECONDS = 3


class Stage:
    """An application that can be replaced while the server runs, which ends the live streams of the old one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the current application."""
        await self.app(scope, receive, send)

    def put(self, app: ASGIApp) -> None:
        """Replace the application."""
        leaving, self.app = self.app, app
        _end_streams(leaving)

    def close(self) -> None:
        """End live streams, so that the server can stop."""
        _end_streams(self.app)


def _end_streams(app: ASGIApp) -> None:
    streams = getattr(getattr(app, "state", None), "streams", None)
    if streams is not None:
        streams.close()


class Server(uvicorn.Server):
    """Ends live streams before it waits for connections, and bounds the number of threads."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(
            uvicorn.Config(
                stage,
                access_log=False,
                log_config=None,
                lifespan="off",
                ws="none",
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )
        self._stage = stage

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start; called once in the server's loop."""
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop; called once."""
        self._stage.close()
        await super().shutdown(sockets)


def listening(host: str, port: int) -> socket.socket:
    """A socket at this address; port 0 takes any free port. Raises UsageError if it is not available."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise UsageError(
            f"cannot listen at {host} port {port}: {os.strerror(error.errno) if error.errno else error}; choose another --port"
        ) from error


def address(sock: socket.socket) -> str:
    """The URL to open in a browser."""
    host, port = sock.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def serve(stage: Stage, sock: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM, then return."""
    with contextlib.suppress(KeyboardInterrupt):
        Server(stage).run(sockets=[sock])


@contextlib.contextmanager
def served(stage: Stage, sock: socket.socket) -> Iterator[None]:
    """Serve in a thread during the block. Raises SystemFault when the server does not start."""
    server = Server(stage)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, name="web", daemon=True)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise SystemFault(f"the web UI at {address(sock)} did not start")
            thread.join(0.01)
        yield
    finally:
        server.should_exit = True
        thread.join(_GRACE_SECONDS + 2)
        sock.close()
