"""Worker containers of the running Compose project, started and stopped through the Docker API (`edbench scale`)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException, NotFound
from docker.models.containers import Container

from core.errors import SystemFault, UsageError

PROJECT = "edbench"  # the name in docker-compose.yml, unless COMPOSE_PROJECT_NAME gives another
SERVICE = "worker"
GRACE_SECONDS = 60
_PARALLEL = 8
_LABEL = "com.docker.compose."
_NUMBER = _LABEL + "container-number"
# The part of a container's configuration that is copied. The host name is not: it is the container's own id.
_CLONED = (
    *("Image", "Cmd", "Entrypoint", "User", "WorkingDir", "Env", "Volumes", "ExposedPorts"),
    *("Healthcheck", "StopSignal", "StopTimeout", "Tty", "OpenStdin", "Labels"),
)


@dataclass(frozen=True, slots=True)
class Scaled:
    """The worker containers of a project, and how many were started and stopped."""

    project: str
    workers: int
    started: int
    stopped: int


def scale(env: Mapping[str, str], workers: int) -> Scaled:
    """Start and stop worker containers until there are `workers` of them, in the project of COMPOSE_PROJECT_NAME on the
    engine of DOCKER_HOST. Surplus workers finish their tasks first. Raises UsageError if the project has no worker to
    copy, SystemFault."""
    name = env.get("COMPOSE_PROJECT_NAME") or PROJECT
    with _engine_faults():
        client = docker.from_env(environment=dict(env), timeout=GRACE_SECONDS + 30)
    with contextlib.closing(client), _engine_faults(), ThreadPoolExecutor(_PARALLEL) as pool:
        labels = [f"{_LABEL}project={name}", f"{_LABEL}oneoff=False", f"{_LABEL}service={SERVICE}"]
        present = client.containers.list(all=True, filters={"label": labels}, ignore_removed=True)
        present.sort(key=lambda one: (one.status in ("dead", "exited"), number_of(one)))
        if not present:
            raise UsageError(
                f"the project {name} has no worker container; start the system with `docker compose up`, or set"
                " COMPOSE_PROJECT_NAME"
            )
        kept, leaving = present[:workers], present[workers:]
        taken = {number_of(one) for one in kept}
        missing = [number for number in range(1, workers + 1) if number not in taken][: workers - len(kept)]
        template = present[0].attrs
        list(pool.map(_remove, leaving))
        list(pool.map(lambda number: _start(client, name, template, number), missing))
    return Scaled(name, workers, started=len(missing), stopped=len(leaving))


def number_of(container: Container) -> int:
    """Return the container's number within the service."""
    return int(container.labels.get(_NUMBER, "0"))


def _start(client: Any, project: str, template: Mapping[str, Any], number: int) -> None:
    """Start one more container like this one, with Compose's labels, so that `docker compose` counts it as its own."""
    name = f"{project}-{SERVICE}-{number}"
    first, *others = template["NetworkSettings"]["Networks"]
    body = like(template, number)
    body["NetworkingConfig"] = {"EndpointsConfig": {first: {"Aliases": [name, SERVICE]}}}
    made = client.api.create_container_from_config(body, name)
    for network in others:  # engines before 25 take one network when a container is made
        client.api.connect_container_to_network(made["Id"], network, aliases=[name, SERVICE])
    client.api.start(made["Id"])


def like(template: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return the body of a request for another container, from the output of `docker inspect`; without networks."""
    config = template["Config"]
    body = {key: config[key] for key in _CLONED if config.get(key) is not None}
    body["Labels"] = {**config["Labels"], _NUMBER: str(number)}
    body["HostConfig"] = template["HostConfig"]
    return body


def _remove(container: Container) -> None:
    """Stop the container, and remove it with its anonymous volumes."""
    with contextlib.suppress(NotFound):
        container.stop(timeout=GRACE_SECONDS)
        container.remove(v=True, force=True)


@contextlib.contextmanager
def _engine_faults() -> Iterator[None]:
    """Raise errors of the engine as SystemFaults with a message of one line."""
    try:
        yield
    except APIError as error:
        raise SystemFault(f"the Docker engine refused: {error.explanation or error}") from error
    except (DockerException, requests.RequestException) as error:
        cause: BaseException = error
        while cause.__context__:  # the client's own message shows it as Python writes it
            cause = cause.__context__
        why = getattr(cause, "strerror", None) or cause
        raise SystemFault(f"the Docker engine does not answer ({why}); check that it runs, and DOCKER_HOST") from error
