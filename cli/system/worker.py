"""`edbench worker`: this host's part in experiments on many hosts."""

from __future__ import annotations

import os
import re
import socket
from typing import Annotated

import typer

from cli.context import shared
from core.errors import UsageError
from core.program.urls import shown_url
from core.settings import given_broker

_URL = re.compile(r"redis://([^/@]+@)?(\[[0-9a-fA-F:]+\]|[^/@:]+):(?P<port>[0-9]{1,5})(/0)?")
_MOST_PORT = 65_535


def join(
    ctx: typer.Context,
    url: Annotated[
        str, typer.Argument(metavar="URL", help="where the command of the experiments listens: redis://HOST:6390")
    ],
    name: Annotated[str | None, typer.Option(metavar="NAME", help="of this host  [default: what it is called]")] = None,
) -> None:
    """Have experiments with `--hosts` start workers on this host, until Ctrl-C.

    It waits for the command of an experiment, and for the next one after that. The login is in the URL, or in the file that
    EDBENCH_LOGIN_FILE names. EDBENCH_SCRATCH is local to this host.
    """
    context = shared(ctx)
    found = _URL.fullmatch(url)
    if found is None or not 1 <= int(found["port"]) <= _MOST_PORT:
        raise UsageError(f"{shown_url(url)!r} is not where an experiment listens; write redis://10.0.0.1:6390")
    place = given_broker(url, context.env)

    from experiments.hosts.agent import Agent  # slow to come

    called = name or socket.gethostname()
    agent = Agent(place, called, context.settings().scratch / "joined" / called, context.env, context.say)
    context.say(f"host {called} (process {os.getpid()}) waits for experiments; Ctrl-C ends it")
    try:
        agent.run()
    except KeyboardInterrupt:
        context.say(f"host {called} left")


def worker_app() -> typer.Typer:
    """The group of commands."""
    app = typer.Typer(rich_markup_mode=None, help="Take part in experiments on many hosts.")
    app.command("join", epilog="Example: edbench worker join redis://10.0.0.1:6390 --name rack3-07")(join)

    @app.callback()
    def group() -> None:
        """Keeps `join` a command of its own."""

    return app
