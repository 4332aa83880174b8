"""`edbench worker`: workers of this host for experiments with several hosts."""

from __future__ import annotations

import os
import re
import socket
from typing import Annotated

import typer

from cli.context import shared
from cli.tree import Commands
from core.errors import UsageError
from core.program.urls import shown_url
from core.settings import given_broker

commands = Commands()

_URL = re.compile(r"redis://([^/@]+@)?(\[[0-9a-fA-F:]+\]|[^/@:]+):(?P<port>[0-9]{1,5})(/0)?")
_MOST_PORT = 65_535


@commands.add("join", "edbench worker join redis://10.0.0.1:6390 --name rack3-07")
def join(
    ctx: typer.Context,
    url: Annotated[
        str, typer.Argument(metavar="URL", help="where the command with --hosts listens: redis://HOST:6390")
    ],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Call this host NAME.  [default: its host name]")
    ] = None,
) -> None:
    """Let experiments start workers on this host, until Ctrl-C.

    The command waits for one experiment (--hosts) after another. The login is in the URL, or in the file that EDBENCH_LOGIN_FILE names.
    EDBENCH_SCRATCH must be a local directory.
    """
    context = shared(ctx)
    found = _URL.fullmatch(url)
    if found is None or not 1 <= int(found["port"]) <= _MOST_PORT:
        raise UsageError(
            f"{shown_url(url)!r} is not the address of an experiment; write for example redis://10.0.0.1:6390"
        )
    place = given_broker(url, context.env)

    from experiments.hosts.agent import Agent  # slow to come

    called = name or socket.gethostname()
    agent = Agent(place, called, context.settings().scratch / "joined" / called, context.env, context.say)
    context.say(f"host {called} (process {os.getpid()}) waits for experiments; Ctrl-C ends it")
    try:
        agent.run()
    except KeyboardInterrupt:
        context.say(f"host {called} left")
