"""A stack file for `docker stack deploy`, from the definition that Compose uses.

Swarm's file format is the older one (3.8): profiles, conditions of `depends_on`, restart policies and some more are not
in it, and an unknown key is an error. So services are built from the keys that it does know, and the rest is put in
Swarm's words: https://docs.docker.com/reference/compose-file/legacy-versions/
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.errors import SystemFault, UsageError
from core.services.keyring import SERVER_USERS, make_secrets, read_given

_KEPT = (
    *("image", "command", "entrypoint", "environment", "user", "read_only", "cap_drop", "working_dir"),
    *("stop_grace_period", "stop_signal"),
)
_HEALTH = ("test", "interval", "timeout", "retries", "start_period", "disable")
_MANAGER = "node.role == manager"
_HEAD = "# Written by `edbench deploy swarm`. Deploy it with: docker stack deploy -c FILE edbench\n"
_MAKER = "secrets"  # the service that makes up the secrets under Compose, each in a volume of its own …
_SECRET = "secret-"  # … whose name begins like this; in a swarm they are Swarm's, because a volume is one host's
CONFIG_SECONDS = 60.0


def resolved_definition(file: Path, env: Mapping[str, str]) -> dict[str, Any]:
    """The definition as Compose understands it: .env and profiles applied. Raises UsageError, SystemFault.

    Through the `docker compose` program, because nothing else knows all of its rules.
    """
    if not file.is_file():
        raise UsageError(f"{file} does not exist; run this in the repository, or give --file")
    command = ["docker", "compose", "--file", str(file.absolute()), "config", "--format", "json"]
    try:
        done = subprocess.run(command, env=dict(env), capture_output=True, timeout=CONFIG_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SystemFault(f"`docker compose config` cannot be run: {error}") from error
    if done.returncode != 0:
        raise UsageError(f"`docker compose config` failed: {done.stderr.decode(errors='replace').strip()}")
    out = json.loads(done.stdout)
    assert isinstance(out, dict)
    return out


def write_secrets(definition: Mapping[str, Any], directory: Path) -> None:
    """Make up what the stack's secrets hold, into files of ours alone; what is there stays. Raises StorageFault."""
    directory.mkdir(mode=0o700, exist_ok=True)
    make_secrets(directory, read_given(definition["services"].get(_MAKER, {}).get("environment") or {}))


def stack_of(
    definition: Mapping[str, Any], *, workers: int, places: Mapping[str, str], secrets: Path | None = None
) -> dict[str, Any]:
    """The stack: `workers` replicas of the worker, everything else once.

    `secrets`: the directory of `write_secrets`. `places`: host names by service. What is not in it and has files of its own stays on a manager; workers go anywhere.
    Raises UsageError for a place of a service that is not there.
    """
    services = {name: service for name, service in definition["services"].items() if name != _MAKER}
    for name in places:
        if name not in services:
            raise UsageError(f"--place: there is no service {name}; use {', '.join(sorted(services))}")
    made = _secrets(secrets) if secrets is not None else {}
    return {
        "version": "3.8",
        "services": {
            name: _service(name, service, workers if name == "worker" else 1, places.get(name)) | _given(service, made)
            for name, service in services.items()
        },
        "networks": {
            name: {"driver": "overlay", "attachable": True}
            | ({"internal": True} if (net or {}).get("internal") else {})
            for name, net in definition.get("networks", {}).items()
        },
        "volumes": {
            # A name of its own: Compose's volume on the same host has databases with other passwords.
            name: {"name": f"edbench-stack_{name}"}
            | {key: volume[key] for key in ("driver", "driver_opts") if volume and volume.get(key)}
            for name, volume in definition.get("volumes", {}).items()
            if not name.startswith(_SECRET)
        },
        "configs": {name: {"file": config["file"]} for name, config in definition.get("configs", {}).items()},
        "secrets": {f"{part}-{file.name}": {"file": str(file)} for part, files in made.items() for file in files},
    }


def _secrets(directory: Path) -> dict[str, list[Path]]:
    """The files of each part."""
    parts = sorted(path for path in directory.absolute().iterdir() if path.is_dir())
    return {part.name: sorted(part.iterdir()) for part in parts}


def _given(service: Mapping[str, Any], made: Mapping[str, Sequence[Path]]) -> dict[str, Any]:
    """The secrets that a service has, where it would find them in its volumes, for its user alone."""
    out = []
    for volume in service.get("volumes", ()):
        part = str(volume.get("source", "")).removeprefix(_SECRET).replace("-", "_")
        if not _is_secret(volume) or part not in made:
            continue
        user = str(service.get("user") or SERVER_USERS.get(part, 0)).partition(":")[0]
        for file in made[part]:
            target = f"{volume['target']}/{file.name}"
            out.append({"source": f"{part}-{file.name}", "target": target, "uid": user, "gid": user, "mode": 0o400})
    return {"secrets": out} if out else {}


def _is_secret(volume: Mapping[str, Any]) -> bool:
    return str(volume.get("source", "")).startswith(_SECRET)


def write_stack(stack: Mapping[str, Any], file: Path) -> None:
    """Write it, readable by its owner alone. JSON is YAML. Raises OSError."""
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_text(_HEAD + json.dumps(stack, indent=2) + "\n")


def _service(name: str, service: Mapping[str, Any], replicas: int, place: str | None) -> dict[str, Any]:
    out: dict[str, Any] = {key: service[key] for key in _KEPT if service.get(key) is not None}
    if service.get("healthcheck"):
        out["healthcheck"] = {key: value for key, value in service["healthcheck"].items() if key in _HEALTH}
    if service.get("configs"):
        out["configs"] = [{"source": c["source"], "target": c["target"]} for c in service["configs"]]
    mounts = [_mount(volume) for volume in service.get("volumes", ()) if not _is_secret(volume)]
    for line in service.get("tmpfs", ()):
        target, _, options = line.partition(":")
        if "uid=" in options:  # Swarm's have no owner: this one is left to the image's own directory
            out.pop("read_only", None)
        else:
            mounts.append({"type": "tmpfs", "target": target})
    if service.get("shm_size"):
        mounts.append({"type": "tmpfs", "target": "/dev/shm", "tmpfs": {"size": int(service["shm_size"])}})
    if mounts:
        out["volumes"] = mounts
    if service.get("networks"):
        out["networks"] = list(service["networks"])
    ports = [
        {"target": p["target"], "published": int(p["published"]), "mode": "host"}
        for p in service.get("ports", ())
        if p.get("published")
        and not str(p.get("host_ip", "")).startswith("127.")  # Swarm would listen at every address
    ]
    if ports:
        out["ports"] = ports
    out["deploy"] = {
        "replicas": replicas,
        # One address for each task: Swarm's virtual addresses forget connections that were idle for long.
        "endpoint_mode": "dnsrr",
        "restart_policy": {"condition": "on-failure" if service.get("restart") == "no" else "any", "delay": "2s"},
    }
    if place is not None:
        out["deploy"]["placement"] = {"constraints": [f"node.hostname == {place}"]}
    elif name != "worker":
        out["deploy"]["placement"] = {"constraints": [_MANAGER]}
    return out


def _mount(volume: Mapping[str, Any]) -> dict[str, Any]:
    out = {key: volume[key] for key in ("type", "source", "target", "read_only") if volume.get(key)}
    if volume.get("volume", {}).get("nocopy"):
        out["volume"] = {"nocopy": True}
    return out
