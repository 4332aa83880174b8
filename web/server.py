"""An application on a socket: in the foreground until a signal comes, or in a thread beside a command's work."""

from __future__ import annotations

import contextlib
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
    """An application that may be exchanged while the server runs; live streams of the one that leaves are ended."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, to the application of this moment."""
        await self.app(scope, receive, send)

    def put(self, app: ASGIApp) -> None:
        """From now on this one answers."""
        leaving, self.app = self.app, app
        _end_streams(leaving)

    def close(self) -> None:
        """End what is sent live, so that the server can end."""
        _end_streams(self.app)


def _end_streams(app: ASGIApp) -> None:
    streams = getattr(getattr(app, "state", None), "streams", None)
    if streams is not None:
        streams.close()


class Server(uvicorn.Server):
    """Ends live streams before it waits for connections to end, and runs no more threads than there is use for."""

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
        """Once, in the server's loop."""
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Once, when it is to end."""
        self._stage.close()
        await super().shutdown(sockets)


def listening(host: str, port: int) -> socket.socket:
    """A socket at this address; port 0 is any that is free. Raises UsageError when it cannot be had."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise UsageError(
            f"cannot listen at {host} port {port}: {error.strerror or error}; give another --port"
        ) from error


def address(sock: socket.socket) -> str:
    """The URL that a person opens."""
    host, port = sock.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def serve(stage: Stage, sock: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM; returns then, whatever the signals' own handlers do afterwards."""
    with contextlib.suppress(KeyboardInterrupt):
        Server(stage).run(sockets=[sock])


@contextlib.contextmanager
def served(stage: Stage, sock: socket.socket) -> Iterator[None]:
    """Serve in a thread for as long as the block lasts. Raises SystemFault when it does not come up."""
    server = Server(stage)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, name="web", daemon=True)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise SystemFault(f"the page at {address(sock)} did not start")
            thread.join(0.01)
        yield
    finally:
        server.should_exit = True
        thread.join(_GRACE_SECONDS + 2)
        sock.close()
