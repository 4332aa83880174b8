"""`edbench worker`: workers of this host, connected to a system."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli import options as opt
from cli.context import shared
from cli.tree import Commands
from core import texts
from core.errors import UsageError, read_problem
from core.program import shown_url
from core.settings import LOGIN_FILE, given_broker, read_settings

commands = Commands()

_URL = re.compile(r"redis://([^/@\s]+@)?(\[[0-9a-fA-F:]+\]|[^/@:\s]+)(:(?P<port>[0-9]{1,5}))?(/[0-9]{1,3})?")
_MOST_PORT = 65_535
_JOINED = ("EDBENCH_DATABASES", "EDBENCH_BROKER")  # the only variables of a file for --join


@commands.add("worker", "edbench worker --broker redis://10.0.0.1:6379/0", document=False)
def worker(
    ctx: typer.Context,
    *,
    broker: Annotated[
        str | None, typer.Option(metavar="URL", help="Connect to this broker.  [default: EDBENCH_BROKER]")
    ] = None,
    join: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Take databases, broker and login from this file (bench --listen)."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=512, help=texts.WORKERS)] = 1,
    slots: opt.Slots = None,
    name: Annotated[
        str | None, typer.Option("--member", metavar="NAME", help="Name this member NAME.  [default: host and process]")
    ] = None,
    storage: opt.StorageRoot = None,
) -> None:
    """Jobs and experiments of the system use these workers until Ctrl-C.

    EDBENCH_DATABASES names the databases of the system, EDBENCH_LOGIN_FILE a file with the worker's user:password. The
    storage root must be the controller's storage; EDBENCH_SCRATCH must be a local directory."""
    env = dict(os.environ) | dict(shared(ctx).env)
    if join is not None:
        env |= joined(join)
    if broker is not None:
        found = _URL.fullmatch(broker)
        if found is None or not 1 <= int(found["port"] or 1) <= _MOST_PORT:
            raise UsageError(
                f"{shown_url(broker)!r} is not the address of a broker; write for example redis://10.0.0.1:6379/0"
            )
        env["EDBENCH_BROKER"] = given_broker(broker, env)
    if storage is not None:
        env["EDBENCH_STORAGE"] = str(storage)
    settings = read_settings(env)  # its paths are of this directory, not of that of the modules
    env |= {"EDBENCH_STORAGE": str(settings.storage), "EDBENCH_SCRATCH": str(settings.scratch)}
    env["EDBENCH_FILER"] = settings.filer
    for path in (LOGIN_FILE, "EDBENCH_FILER_ARBITER", "EDBENCH_REMOUNT"):
        if env.get(path):
            env[path] = os.path.abspath(env[path])
    words = ["-m", "worker"]
    for option, value in (("--name", name), ("--slots", slots), ("--workers", workers if workers > 1 else None)):
        words += [] if value is None else [option, str(value)]
    sys.stdout.flush()
    os.chdir(Path(__file__).parents[1])
    os.execve(sys.executable, [sys.executable, *words], env)


def joined(file: Path) -> dict[str, str]:
    """Read the variables of a file for --join. Raises UsageError."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UsageError(f"--join: {read_problem(file, error)}") from error
    found = dict(line.split("=", 1) for line in lines if "=" in line)
    if set(found) != set(_JOINED):
        raise UsageError(f"--join: {file} must set {' and '.join(_JOINED)}; copy the file that the experiment prints")
    return found
