"""The containers of one Compose project, through the Docker API."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """How a clone differs from its template; what is left out is the same."""

    number: int  # within its service
    service: str | None = None  # another service, which Compose does not know: `down --remove-orphans` removes it
    env: Mapping[str, str] = field(default_factory=dict)
    command: Sequence[str] | None = None
    aliases: Sequence[str] = ()  # names in the network, beside its own; the service's where none is given
    binds: Sequence[str] = ()  # directories of the engine's host, seen at the same path
    # What a mount point holds instead: a directory of the engine's host, or a volume.
    mounts: Mapping[str, str] = field(default_factory=dict)


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
            containers = self._client.containers.list(all=True, filters={"label": labels}, ignore_removed=True)
        return sorted(containers, key=lambda c: (service_of(c), number_of(c)))

    def one(self, service: str) -> Container:
        """The first running container of a service; raises UsageError when there is none."""
        for container in self.containers(service):
            if container.status == "running":
                return container
        raise UsageError(
            f"no container of {service} runs in the project {self.name}; start the system with `make up`,"
            " or set COMPOSE_PROJECT_NAME"
        )

    def clone(self, attributes: Mapping[str, Any], differences: Differences) -> str:
        """Start one more container like the one with these attributes (as `docker inspect` shows them); its name.

        It carries Compose's labels, so that `docker compose` counts it as its own. Raises SystemFault.
        """
        service = differences.service or attributes["Config"]["Labels"][_LABEL + "service"]
        name = f"{self.name}-{service}-{differences.number}"
        aliases = [name, *(differences.aliases or [service])]
        first, *others = attributes["NetworkSettings"]["Networks"]
        body = cloned_body(attributes, differences)
        body["Labels"] |= {_LABEL + "service": service, NUMBER: str(differences.number)}
        body["NetworkingConfig"] = {"EndpointsConfig": {first: {"Aliases": aliases}}}
        api = self._client.api
        with engine_faults():
            made = api.create_container_from_config(body, name)
            for network in others:  # engines before 25 take one network when a container is made
                api.connect_container_to_network(made["Id"], network, aliases=aliases)
            api.start(made["Id"])
        return name

    def get(self, name: str) -> Container:
        """One container by its name, as it is now. Raises SystemFault."""
        with engine_faults():
            return self._client.containers.get(name)

    def engine(self) -> dict[str, Any]:
        """What the engine says of its host: NCPU, MemTotal, Name, KernelVersion, ServerVersion. Raises SystemFault."""
        with engine_faults():
            return dict(self._client.info())

    def volume_options(self, name: str) -> dict[str, str]:
        """The options that a volume was made with. Raises SystemFault."""
        with engine_faults():
            return dict(self._client.volumes.get(name).attrs.get("Options") or {})

    def make_volume(self, name: str, label: str) -> str:
        """An empty volume of the engine's own kind, under this project's name; raises SystemFault."""
        labels = {f"{_LABEL}project": self.name, label: self.name}
        with engine_faults():
            return str(self._client.volumes.create(f"{self.name}_{name}", labels=labels).name)

    def remove_volumes(self, label: str) -> None:
        """Remove the volumes that were made with this label; no container may use them. Raises SystemFault."""
        with engine_faults():
            for volume in self._client.volumes.list(filters={"label": f"{label}={self.name}"}):
                volume.remove(force=True)


def cloned_body(attributes: Mapping[str, Any], differences: Differences) -> dict[str, Any]:
    """What the engine is to be asked for, but for labels of the service and networks."""
    config, host = attributes["Config"], dict(attributes["HostConfig"])
    body = {key: config[key] for key in _CLONED if config.get(key) is not None}
    body["Env"] = [f"{key}={value}" for key, value in (environment_of(attributes) | dict(differences.env)).items()]
    body["Labels"] = dict(config["Labels"])
    if differences.command is not None:
        body["Cmd"] = list(differences.command)
    if differences.service is not None:  # its template keeps the ports that it has
        ports = (host.get("PortBindings") or {}).items()
        host["PortBindings"] = {port: [b | {"HostPort": ""} for b in bindings or ()] for port, bindings in ports}
    changed = differences.mounts
    binds = [bind for bind in host.get("Binds") or () if bind.split(":")[1] not in changed]
    host["Mounts"] = [mount for mount in host.get("Mounts") or () if mount["Target"] not in changed]
    host["Binds"] = [
        *binds,
        *(f"{path}:{path}" for path in differences.binds),
        *(f"{place}:{target}" for target, place in changed.items()),
    ]
    body["HostConfig"] = host
    return body


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


def file_of(container: Container, path: str) -> str:
    """What stands in a text file of a running container. Raises UsageError when it cannot be read, SystemFault."""
    with engine_faults():
        status, output = container.exec_run(["cat", path])
    if status != 0:
        raise UsageError(
            f"{path} of container {container.name} cannot be read: {output.decode(errors='replace').strip()}"
        )
    return str(output.decode())


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
