"""The containers of one Compose project, through the Docker API."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException, NotFound
from docker.models.containers import Container

from core.errors import SystemFault, UsageError

PROJECT = "edbench"  # the name in docker-compose.yml, unless COMPOSE_PROJECT_NAME says another
_LABEL = "com.docker.compose."
NUMBER = _LABEL + "container-number"
# What of a container's configuration its clone takes over. The host name is left out: it is the container's own id.
_CLONED = (
    *("Image", "Cmd", "Entrypoint", "User", "WorkingDir", "Env", "Volumes", "ExposedPorts"),
    *("Healthcheck", "StopSignal", "StopTimeout", "Tty", "OpenStdin"),
)


@contextlib.contextmanager
def engine_faults() -> Iterator[None]:
    """Errors of the engine as SystemFaults with one line."""
    try:
        yield
    except APIError as error:
        raise SystemFault(f"the Docker engine refused: {error.explanation or error}") from error
    except (DockerException, requests.RequestException) as error:
        raise SystemFault(
            f"the Docker engine does not answer ({error}); is it running, and is DOCKER_HOST right?"
        ) from error


class Project:
    """One Compose project on one engine (DOCKER_HOST, COMPOSE_PROJECT_NAME of `env`)."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.name = env.get("COMPOSE_PROJECT_NAME") or PROJECT
        with engine_faults():
            self._client = docker.from_env(environment=dict(env), timeout=90)

    def close(self) -> None:
        """Let the engine's connections go."""
        self._client.close()

    def containers(self, service: str | None = None) -> list[Container]:
        """Containers of a service, or all; those that do not run too, by service and number. Raises SystemFault."""
        labels = [f"{_LABEL}project={self.name}", f"{_LABEL}oneoff=False"]
        if service is not None:
            labels.append(f"{_LABEL}service={service}")
        with engine_faults():
            # Of one that goes away meanwhile nothing is to be told.
            found = self._client.containers.list(all=True, filters={"label": labels}, ignore_removed=True)
        return sorted(found, key=lambda c: (service_of(c), number_of(c)))

    def one(self, service: str) -> Container:
        """The first running container of a service; raises UsageError when there is none."""
        for container in self.containers(service):
            if container.status == "running":
                return container
        raise UsageError(
            f"no container of {service} runs in the project {self.name}; start the system with `make up`,"
            " or set COMPOSE_PROJECT_NAME"
        )

    def clone(self, attributes: Mapping[str, Any], number: int, env: Mapping[str, str]) -> None:
        """Start one more container like the one with these attributes (as `docker inspect` shows them).

        It carries Compose's labels, so that `docker compose` counts it as its own replica. Raises SystemFault.
        """
        config = attributes["Config"]
        body = {key: config[key] for key in _CLONED if config.get(key) is not None}
        body["Env"] = [f"{key}={value}" for key, value in (environment_of(attributes) | dict(env)).items()]
        body["Labels"] = config["Labels"] | {NUMBER: str(number)}
        body["HostConfig"] = attributes["HostConfig"]
        service = config["Labels"][_LABEL + "service"]
        name = f"{self.name}-{service}-{number}"
        networks = attributes["NetworkSettings"]["Networks"]
        body["NetworkingConfig"] = {"EndpointsConfig": {net: {"Aliases": [name, service]} for net in networks}}
        api = self._client.api
        with engine_faults():
            made = api.create_container_from_config(body, name)
            api.start(made["Id"])


def remove(container: Container, grace_seconds: float) -> None:
    """Stop it, with so much time for what it is at, and remove it with its scratch. Raises SystemFault."""
    with engine_faults(), contextlib.suppress(NotFound):
        container.stop(timeout=int(grace_seconds))
        container.remove(v=True, force=True)


def service_of(container: Container) -> str:
    """The name of its service."""
    return str(container.labels[_LABEL + "service"])


def number_of(container: Container) -> int:
    """Its number within the service."""
    return int(container.labels.get(NUMBER, "0"))


def host_name(container: Container) -> str:
    """What the container calls itself: the beginning of its id."""
    return str(container.attrs["Config"]["Hostname"])


def environment_of(attributes: Mapping[str, Any]) -> dict[str, str]:
    """The variables that a container was made with."""
    out = {}
    for line in attributes["Config"]["Env"] or ():
        key, _, value = line.partition("=")
        out[key] = value
    return out


def address_of(container: Container, port: int) -> tuple[str, int]:
    """Where this process reaches a container's TCP port: its published port, else its address on the bridge.

    Raises UsageError when it has neither.
    """
    network = container.attrs["NetworkSettings"]
    for binding in (network.get("Ports") or {}).get(f"{port}/tcp") or ():
        host = binding["HostIp"]
        return ("127.0.0.1" if host in ("", "0.0.0.0", "::") else host), int(binding["HostPort"])
    for endpoint in network["Networks"].values():
        if endpoint.get("IPAddress"):
            return endpoint["IPAddress"], port
    raise UsageError(f"container {container.name} has no address; is it running? see `docker compose ps`")
