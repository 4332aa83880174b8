"""The way from a command on the host to a system that runs under Compose: databases, broker and storage root."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from docker.models.containers import Container

from controller.cluster.containers import Project, address_of, environment_of, file_of, service_of
from core.errors import UsageError
from core.settings import LOGIN_FILE, Settings, parse_broker, parse_databases, read_login


def reach_compose(settings: Settings, env: Mapping[str, str]) -> Settings:
    """Settings with the databases, broker, storage root, evidence and (unless ours name one) emulated filer of the Compose system.

    They are read from its controller's container. Settings that name databases already (inside a container of the
    system, say) are given back as they are. Raises UsageError when it does not run, SystemFault without an engine.
    """
    if settings.databases:
        return settings
    project = Project(env)
    try:
        controller = project.one("controller")
        running = [c for c in project.containers() if c.status == "running"]
        return settings_from(settings, environment_of(controller.attrs), running, login_of(controller))
    finally:
        project.close()


def login_of(container: Container) -> str | None:
    """As whom a container of ours comes to databases and broker: `user:password`; None where its URLs say so.

    Raises UsageError, SystemFault.
    """
    path = environment_of(container.attrs).get(LOGIN_FILE)
    return None if not path else read_login(file_of(container, path), f"{path} of container {container.name}")


def settings_from(
    settings: Settings, theirs: Mapping[str, str], containers: Iterable[Container], login: str | None = None
) -> Settings:
    """Settings with what the containers' environment says, names of services replaced by addresses; `login` is for
    the URLs that name nobody."""
    services = {service_of(container): container for container in containers}
    databases = tuple(
        dataclasses.replace(address, url=_from_here(address.url, services))
        for address in parse_databases(theirs.get("EDBENCH_DATABASES", ""), login)
    )
    broker = parse_broker(theirs.get("EDBENCH_BROKER"), login)
    if not databases or broker is None or not theirs.get("EDBENCH_STORAGE"):
        raise UsageError(
            "the controller's container has no EDBENCH_DATABASES, _BROKER or _STORAGE; see docker-compose.yml"
        )
    return dataclasses.replace(
        settings,
        databases=databases,
        broker=_from_here(broker, services),
        storage=Path(theirs["EDBENCH_STORAGE"]),
        evidence=Path(theirs["EDBENCH_EVIDENCE"]) if theirs.get("EDBENCH_EVIDENCE") else None,
        filer=settings.filer if settings.filer != "none" else theirs.get("EDBENCH_FILER") or "none",
        filer_arbiter=theirs.get("EDBENCH_FILER_ARBITER", ""),
        slot_memory_mb=int(theirs.get("EDBENCH_SLOT_MEMORY_MB") or settings.slot_memory_mb),
    )


def _from_here(url: str, services: Mapping[str, Container]) -> str:
    """A URL whose host is a service, as this process can use it; any other as it is."""
    parts = urlsplit(url)
    container = services.get(parts.hostname or "")
    return url if container is None or parts.port is None else elsewhere(url, *address_of(container, parts.port))


def elsewhere(url: str, host: str, port: int) -> str:
    """The same URL with another host and port."""
    parts = urlsplit(url)
    account, at, _ = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{account}{at}{f'[{host}]' if ':' in host else host}:{port}"))
