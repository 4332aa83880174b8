"""`edbench deploy`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.context import shared, writable_file
from controller.cluster.swarm import resolved_definition, stack_of, write_secrets, write_stack
from core.errors import UsageError

TARGETS = ("swarm",)


def deploy(
    ctx: typer.Context,
    target: Annotated[str, typer.Argument(metavar="swarm", help="where to: a Docker Swarm")],
    workers: Annotated[int, typer.Option(min=1, max=512, help="worker containers, over all hosts")] = 2,
    place: Annotated[
        list[str] | None, typer.Option(metavar="SERVICE=HOST", help="host of a service; again for each  [a manager]")
    ] = None,
    file: Annotated[Path, typer.Option(metavar="FILE", help="the definition")] = Path("docker-compose.yml"),
    output: Annotated[Path, typer.Option(metavar="FILE", help="the stack file to write")] = Path("edbench-stack.yml"),
) -> None:
    """Write a stack file for several hosts, from the definition and the .env that `make up` uses.

    The passwords are in files of their own beside it, readable by their owner alone. docs/containers.md says what must
    hold on the hosts.
    """
    context = shared(ctx)
    if target not in TARGETS:
        raise UsageError(f"{target!r} is no place to deploy to; it can be {' or '.join(TARGETS)}")
    writable_file(output, "--output")
    places: dict[str, str] = {}
    for text in place or ():
        service, sep, host = text.partition("=")
        if not sep or not service or not host:
            raise UsageError(f"--place {text!r} is not SERVICE=HOST; write db1=host7, for instance")
        places[service] = host
    definition = resolved_definition(file, context.env)
    secrets = output.with_suffix(".secrets")
    write_secrets(definition, secrets)
    write_stack(stack_of(definition, workers=workers, places=places, secrets=secrets), output)
    context.say(f"wrote {output}; deploy it on a manager with: docker stack deploy -c {output} edbench")
