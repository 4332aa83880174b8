"""`edbench deploy`: files for a deployment on several hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.context import shared
from cli.tree import Commands, writable_file
from controller.cluster.swarm import resolved_definition, stack_of, write_secrets, write_stack
from core.errors import UsageError

commands = Commands()


@commands.add("swarm", "edbench deploy swarm --workers 8 --place db1=host7")
def swarm(
    ctx: typer.Context,
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=512, help="Run this many worker containers over all hosts.")
    ] = 2,
    place: Annotated[
        list[str] | None,
        typer.Option(
            "--place", metavar="SERVICE=HOST", help="Run a service on this host; repeatable.  [default: a manager]"
        ),
    ] = None,
    file: Annotated[Path, typer.Option("--file", metavar="FILE", help="Read this Compose definition.")] = Path(
        "docker-compose.yml"
    ),
    output_file: Annotated[Path, typer.Option("--output-file", metavar="FILE", help="Write the stack to FILE.")] = Path(
        "edbench-stack.yml"
    ),
) -> None:
    """Write a Docker Swarm stack.

    It is made from the Compose definition and the .env of `make up`.

    The passwords are written to files next to it, readable by their owner only. docs/containers.md lists what the hosts need.
    """
    context = shared(ctx)
    writable_file(output_file, "--output-file")
    places: dict[str, str] = {}
    for text in place or ():
        service, sep, host = text.partition("=")
        if not sep or not service or not host:
            raise UsageError(f"--place {text!r} is not SERVICE=HOST; write for example --place db1=host7")
        places[service] = host
    definition = resolved_definition(file, context.env)
    secrets = output_file.with_suffix(".secrets")
    write_secrets(definition, secrets)
    write_stack(stack_of(definition, workers=workers, places=places, secrets=secrets), output_file)
    context.say(f"wrote {output_file}; deploy it on a manager: docker stack deploy -c {output_file} edbench")
