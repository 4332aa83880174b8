"""Answers requests that wait for a database which has stopped answering, as one whose processes are frozen has.

A lost connection ends with an error; a frozen database keeps its connections, so a query over them waits without an end.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.errors import DatabaseFault
from web.context import DatabaseHealth
from web.errors import answer, line_of, status_of

PATIENCE_SECONDS = 5.0  # that a request may take before the databases are asked, and that they have to answer


class Silence:
    """ASGI middleware: 503 for a request without an answer while a database does not answer either."""

    def __init__(self, app: ASGIApp, health: DatabaseHealth) -> None:
        self._app = app
        self._health = health
        self._executor = ThreadPoolExecutor(1, "database-health")  # not the event loop's, whose threads may all wait
        self._asking: asyncio.Future[dict[str, str]] | None = None
        self._abandoned: set[asyncio.Task[None]] = set()  # until the database answers; their answers are dropped

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = given_up = False

        async def passing(message: Message) -> None:
            nonlocal begun
            if not given_up:
                begun = True
                await send(message)

        task = asyncio.ensure_future(self._app(scope, receive, passing))
        try:
            while not begun and not (await asyncio.wait({task}, timeout=PATIENCE_SECONDS))[0]:
                fault = None if begun else await self._fault()
                if fault is not None and not begun:
                    given_up = True
                    self._abandon(task)
                    await answer(Request(scope), status_of(fault), line_of(fault))(scope, receive, send)
                    return
            await task
        except asyncio.CancelledError:
            task.cancel()
            raise

    async def _fault(self) -> DatabaseFault | None:
        """Why a database does not answer now; None if all do."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().run_in_executor(self._executor, self._health.states)
        done, _ = await asyncio.wait({self._asking}, timeout=PATIENCE_SECONDS)
        if not done:
            return DatabaseFault(f"no answer for {PATIENCE_SECONDS:.0f} s", transient=True)
        return next(
            (DatabaseFault(state, transient=True) for state in self._asking.result().values() if state != "ok"), None
        )

    def _abandon(self, task: asyncio.Task[None]) -> None:
        self._abandoned.add(task)
        task.add_done_callback(self._abandoned.discard)
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # seen, so that no log names it
