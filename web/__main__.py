"""`python -m web`: a container's controller (`controller.__main__`) with the web UI and the API at port 8080.

It listens at every address of its container, so it requires a token. The Compose file publishes the port at an address
of the host and passes that on in EDBENCH_WEB_ADDRESS."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping

from controller.__main__ import main as control
from core.clock import SystemClock
from core.errors import UsageError
from core.settings import Settings
from web.app import create_app
from web.background import Measurements
from web.installed import web_context
from web.runs import OthersWork
from web.server import Stage, address, listening, served
from web.token import FILE_VARIABLE, GRAFANA, VARIABLE, WEB, Door, given_token, published, start_lines

HOST = "0.0.0.0"
PORT = 8080


@contextlib.contextmanager
def page(settings: Settings, env: Mapping[str, str], port: int = PORT) -> Iterator[str]:
    """Serve the web UI during the block, and print how to sign in; other containers run the workers.

    Raises UsageError, DatabaseFault, StorageFault."""
    token = given_token(env)
    if token is None:  # a generated one could not be read outside of the container
        raise UsageError(
            f"set {VARIABLE} to a long random text, or {FILE_VARIABLE} to a file with one: other machines can reach the web UI"
        )
    clock, door, reached = SystemClock(), Door(token), published(env, WEB)
    measurements = Measurements(settings, env, embedded=False)
    with (
        listening(HOST, port) as sock,
        web_context(
            settings,
            env,
            OthersWork(settings, clock),
            embedded=False,
            door=door,
            clock=clock,
            measurements=measurements,
        ) as context,
        served(Stage(create_app(context)), sock),
        contextlib.ExitStack() as ending,
    ):
        ending.callback(measurements.stop)
        if reached is not None:
            code = door.new_code() if reached.loopback else ""
            for line in start_lines(reached, published(env, GRAFANA), code, settings.storage):
                sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
        yield address(sock)


if __name__ == "__main__":
    sys.exit(control(os.environ, companion=lambda settings: page(settings, os.environ)))
