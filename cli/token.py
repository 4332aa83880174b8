"""`edbench token`: a link that signs in to the web UI of a system in containers, and its passwords."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.context import shared
from cli.tree import Commands
from core.errors import SystemFault, UsageError

commands = Commands()

SECONDS = 30.0  # for the controller to answer


@commands.add("token", "edbench token")
def token(
    ctx: typer.Context,
    api: Annotated[
        bool, typer.Option("--api", help="Print the permanent token, for programs, or if no links are printed.")
    ] = False,
    grafana: Annotated[bool, typer.Option("--grafana", help="Print Grafana's address, user and password.")] = False,
) -> None:
    """The link is valid once, for 15 minutes, and only while the port is bound to loopback. Run the command in the
    controller's container. `edbench serve` prints its own link."""
    from web.api.system import SignIn  # imports the web application
    from web.token import COMMAND, FILE_VARIABLE, GRAFANA, WEB, given_token, headless_line, published, read_secret

    if api and grafana:
        raise UsageError("--api and --grafana exclude each other")
    context = shared(ctx)
    reached, dashboards = published(context.env, WEB), published(context.env, GRAFANA)
    secret, file = given_token(context.env), context.env.get(FILE_VARIABLE)
    if reached is None or secret is None:
        raise UsageError(f"this is not a container of edbench: run `{COMMAND}`; `edbench serve` prints its own link")
    if grafana:
        if dashboards is None or file is None:
            raise UsageError("this system has no Grafana")
        shown = SignIn(url=dashboards.url, user="admin", password=read_secret(Path(file).parent / "grafana"))
    elif api:
        shown = SignIn(url=reached.url, password=secret)
    else:
        reached.refuse_link()
        shown = SignIn.model_validate(_new_link(secret))
        if headless := headless_line(reached, dashboards):
            context.say(headless)
    if context.document(shown):
        return
    if api:
        print(shown.password)
    else:
        print(
            shown.url,
            *(f"{name} {value}" for name, value in (("user", shown.user), ("password", shown.password)) if value),
            sep="\n",
        )


def _new_link(secret: str) -> Mapping[str, Any]:
    """Request a link from the server in this container, which stores the code. Raises SystemFault, UsageError."""
    from web.__main__ import PORT

    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=SECONDS)
    try:
        connection.request("POST", "/api/v1/sign-in-links", headers={"Authorization": f"Bearer {secret}"})
        answer = connection.getresponse()
        document = json.loads(answer.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise SystemFault(f"the controller does not answer ({error}); see `docker compose logs controller`") from error
    finally:
        connection.close()
    if answer.status != 201:
        raise UsageError(str(document.get("error", f"the controller answered {answer.status}")))
    return dict(document)
