"""Stack files: what `docker stack deploy` does not accept is not in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controller.cluster.swarm import resolved_definition, stack_of, write_secrets, write_stack
from core.errors import UsageError

# As `docker compose config --format json` prints it.
DEFINITION: dict[str, Any] = {
    "name": "edbench",
    "services": {
        "db1": {
            "image": "postgres:18",
            "read_only": True,
            "tmpfs": ["/tmp:mode=1777", "/run/postgresql:uid=999,mode=0775"],
            "ports": [
                {"mode": "ingress", "host_ip": "10.0.0.1", "target": 5432, "protocol": "tcp"},
                {"mode": "ingress", "host_ip": "127.0.0.1", "target": 5432, "published": "5432", "protocol": "tcp"},
            ],
            "volumes": [{"type": "volume", "source": "db1", "target": "/var/lib/postgresql", "volume": {}}],
            "restart": "unless-stopped",
            "networks": {"default": None},
        },
        "worker": {
            "image": "edbench:latest",
            "build": {"context": "."},
            "profiles": ["x"],
            "depends_on": {"db1": {"condition": "service_healthy", "required": True}},
            "read_only": True,
            "security_opt": ["no-new-privileges:true"],
            "shm_size": "268435456",
            "tmpfs": ["/tmp:mode=1777"],
            "healthcheck": {"test": ["CMD", "true"], "interval": "5s", "start_interval": "1s"},
            "volumes": [
                {"type": "volume", "source": "shared", "target": "/mnt/filer", "volume": {"nocopy": True}},
                {"type": "volume", "source": "secret-worker", "target": "/secrets", "read_only": True},
                {"type": "bind", "source": "/x", "target": "/y", "bind": {"create_host_path": True}},
            ],
            "environment": {"EDBENCH_BROKER": "redis://broker"},
            "user": "1003:1004",
            "networks": {"back": None},
        },
        "secrets": {"image": "edbench:latest", "environment": {"EDBENCH_TOKEN": "t" * 16}, "network_mode": "none"},
        "grafana": {
            "image": "grafana",
            "ports": [{"mode": "ingress", "host_ip": "10.0.0.1", "target": 3000, "published": "3000"}],
            "configs": [{"source": "g", "target": "/g.yml"}],
        },
    },
    "networks": {"default": {"name": "edbench_default", "ipam": {}}, "back": {"internal": True}},
    "volumes": {
        "shared": {"name": "edbench_shared", "driver": "local", "driver_opts": {"o": "bind"}},
        "db1": None,
        "secret-worker": None,
    },
    "configs": {"g": {"name": "edbench_g", "file": "/repo/g.yml"}},
}
KNOWN = {
    *("image", "command", "entrypoint", "environment", "user", "read_only", "cap_drop", "working_dir", "configs"),
    *("stop_grace_period", "stop_signal", "healthcheck", "volumes", "ports", "deploy", "networks", "secrets"),
}


def test_no_service_has_a_key_that_swarm_refuses() -> None:
    """Profiles, build, depends_on, restart and what else the format 3.8 does not know are gone; the rest is there."""
    stack = stack_of(DEFINITION, workers=5, places={})
    assert stack["version"] == "3.8"
    assert "name" not in stack
    for service in stack["services"].values():
        assert service.keys() <= KNOWN
    worker = stack["services"]["worker"]
    assert worker["environment"] == {"EDBENCH_BROKER": "redis://broker"}
    assert worker["deploy"]["replicas"] == 5
    assert worker["healthcheck"] == {"test": ["CMD", "true"], "interval": "5s"}
    shared = {"name": "edbench-stack_shared", "driver": "local", "driver_opts": {"o": "bind"}}
    assert stack["volumes"] == {"shared": shared, "db1": {"name": "edbench-stack_db1"}}
    assert stack["configs"] == {"g": {"file": "/repo/g.yml"}}
    assert stack["networks"]["back"] == {"driver": "overlay", "attachable": True, "internal": True}
    assert worker["networks"] == ["back"]


def test_mounts_and_ports_are_put_in_swarms_words() -> None:
    """tmpfs and shared memory become mounts; ports that the engine would choose, or of loopback, are not published at all."""
    services = stack_of(DEFINITION, workers=1, places={})["services"]
    mounts = services["worker"]["volumes"]
    assert {"type": "volume", "source": "shared", "target": "/mnt/filer", "volume": {"nocopy": True}} in mounts
    assert {"type": "bind", "source": "/x", "target": "/y"} in mounts
    assert {"type": "tmpfs", "target": "/dev/shm", "tmpfs": {"size": 268435456}} in mounts
    assert "read_only" not in services["db1"], "its socket directory needs an owner, which Swarm's tmpfs cannot have"
    assert "ports" not in services["db1"]
    assert services["grafana"]["ports"] == [{"target": 3000, "published": 3000, "mode": "host"}]


def test_each_service_has_its_own_secrets_and_no_other(tmp_path: Path) -> None:
    """Under Compose they lie in volumes, which are one host's: in a swarm they are Swarm's, made up in files of the
    owner's, and stay the same when the stack is written again."""
    write_secrets(DEFINITION, tmp_path / "s")
    stack = stack_of(DEFINITION, workers=1, places={}, secrets=tmp_path / "s")
    assert "secrets" not in stack["services"]
    assert stack["services"]["worker"]["secrets"] == [
        {"source": "worker-login", "target": "/secrets/login", "uid": "1003", "gid": "1003", "mode": 0o400}
    ]
    assert "secrets" not in stack["services"]["grafana"]
    files = {name: Path(secret["file"]) for name, secret in stack["secrets"].items()}
    assert files["controller-token"].read_text().strip() == "t" * 16
    assert all(file.stat().st_mode & 0o077 == 0 for file in files.values())
    before = {name: file.read_text() for name, file in files.items()}
    assert len(set(before.values())) == len(before) - 1, "the controller has a copy of Grafana's password"
    assert not any(password.strip() in str(stack) for password in before.values())
    write_secrets(DEFINITION, tmp_path / "s")
    assert {name: file.read_text() for name, file in files.items()} == before


def test_places() -> None:
    """A service goes where it was put, what has files of its own to a manager else, workers anywhere."""
    services = stack_of(DEFINITION, workers=1, places={"db1": "host7"})["services"]
    assert services["db1"]["deploy"]["placement"] == {"constraints": ["node.hostname == host7"]}
    assert services["grafana"]["deploy"]["placement"] == {"constraints": ["node.role == manager"]}
    assert "placement" not in services["worker"]["deploy"]
    with pytest.raises(UsageError, match="no service db9; use db1, grafana, worker"):
        stack_of(DEFINITION, workers=1, places={"db9": "host7"})


def test_a_stack_file_is_its_owners_alone(tmp_path: Path) -> None:
    """It tells where secrets are: nobody else may read it, whoever could read the file that was there before."""
    file = tmp_path / "stack.yml"
    file.touch(mode=0o666)
    write_stack(stack_of(DEFINITION, workers=1, places={}), file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert '"version": "3.8"' in file.read_text()


def test_no_definition(tmp_path: Path) -> None:
    """Run outside the repository it says so, before any program is started."""
    with pytest.raises(UsageError, match=r"docker-compose\.yml does not exist"):
        resolved_definition(tmp_path / "docker-compose.yml", {})
