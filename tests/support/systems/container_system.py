"""The system in containers, in a project of one test module's own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.errors import DockerException
from docker.models.containers import Container
from installation import COMMAND_SECONDS

REPOSITORY = Path(__file__).parents[3]
BUILD_SECONDS = 600.0
WORKERS, DATABASES = 3, 2
LABEL = "com.docker.compose."


def engine() -> docker.DockerClient:
    """The Docker engine; skips where none answers."""
    try:
        client = docker.from_env(timeout=60)
        client.ping()
    except DockerException as error:
        pytest.skip(f"no Docker engine answers ({str(error)[:120]}); start one, or set DOCKER_HOST")
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode != 0:
        pytest.skip("there is a Docker engine, but no `docker compose`")
    return client


class System:
    """A project of this test's own, in a directory of its own."""

    def __init__(self, home: Path, name: str) -> None:
        self.home = home
        self.shared = home / "shared dir"
        self.env_file = home / "env"
        kept = {k: v for k, v in os.environ.items() if not k.startswith("EDBENCH_") or k.endswith("_IMAGE")}
        self.env = kept | {"COMPOSE_PROJECT_NAME": name, "EDBENCH_IMAGE": "edbench:test", "EDBENCH_WEB_PORT": ""}

    def run(
        self, *command: str, check: bool = True, seconds: float = COMMAND_SECONDS
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, env=self.env, cwd=REPOSITORY, capture_output=True, text=True, timeout=seconds, check=False
        )
        if check:
            assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done

    def compose(
        self, *arguments: str, check: bool = True, seconds: float = COMMAND_SECONDS
    ) -> subprocess.CompletedProcess[str]:
        line = ("docker", "compose", "--env-file", str(self.env_file), *arguments)
        return self.run(*line, check=check, seconds=seconds)

    def up(self) -> None:
        """As `make up N=3 DATABASES=2` does it."""
        self.shared.mkdir()
        os.chown(self.shared, 1000, 1000)
        self.env |= {"EDBENCH_SHARED": str(self.shared), "DATABASES": str(DATABASES)}
        self.run("sh", "scripts/compose-env.sh", str(self.env_file))
        for name in ("EDBENCH_SHARED", "DATABASES"):  # from here on the file says it
            del self.env[name]
        self.compose("build", "controller", seconds=BUILD_SECONDS)
        self.compose("up", "--detach", "--wait", "--scale", f"worker={WORKERS}")

    def down(self) -> None:
        self.compose("--profile", "*", "down", "--volumes", "--timeout", "5", check=False)

    def edbench(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """A command in the controller's container."""
        return self.compose("exec", "-T", "controller", "edbench", *arguments, check=check)

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        """The same, in the background."""
        line = (
            "docker",
            "compose",
            "--env-file",
            str(self.env_file),
            "exec",
            "-T",
            "controller",
            "edbench",
            *arguments,
        )
        return subprocess.Popen(
            line, env=self.env, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def discover(self, *arguments: str) -> subprocess.Popen[str]:
        """Begin a job over the corpus."""
        return self.begin("discover", str(self.corpus), "-o", "json", *arguments)

    def end(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        """Its result."""
        out, err = process.communicate(timeout=COMMAND_SECONDS)
        logs = "" if process.returncode == 0 else self.compose("logs", "--tail", "20", check=False).stdout
        assert process.returncode == 0, f"{process.returncode}\n{out}\n{err}\n{logs}"
        return dict(json.loads(out))

    def verify(self, job: str) -> dict[str, Any]:
        return dict(json.loads(self.edbench("verify", job, "-o", "json").stdout))

    @property
    def corpus(self) -> Path:
        return self.shared / "corpora" / "c"

    def containers(self, service: str | None = None) -> list[Container]:
        """Of a service, or all, by name; those that do not run too."""
        labels = [f"{LABEL}project={self.env['COMPOSE_PROJECT_NAME']}", f"{LABEL}oneoff=False"]
        client = docker.from_env(timeout=60)
        wanted = labels + ([] if service is None else [f"{LABEL}service={service}"])
        found = client.containers.list(all=True, filters={"label": wanted}, ignore_removed=True)
        return sorted(found, key=lambda one: str(one.name))

    def one(self, service: str) -> Container:
        """The first running one of a service."""
        return next(one for one in self.containers(service) if one.status == "running")

    def kill(self, service: str) -> int:
        """SIGKILL of the first process in a container of a service, as if the host had ended it; its process id."""
        pid = int(self.one(service).attrs["State"]["Pid"])
        os.kill(pid, signal.SIGKILL)
        return pid

    def standing(self) -> dict[str, str]:
        """The containers of the system by name, with their states."""
        return {str(one.name): one.status for one in self.containers()}

    def address_of(self, service: str, port: int) -> tuple[str, int]:
        """Where the host reaches a port of a container: published, or on its network."""
        network = self.one(service).attrs["NetworkSettings"]
        for binding in (network.get("Ports") or {}).get(f"{port}/tcp") or ():
            return binding["HostIp"], int(binding["HostPort"])
        return next(each["IPAddress"] for each in network["Networks"].values() if each.get("IPAddress")), port

    def published(self) -> dict[str, set[str]]:
        """The addresses of the host at which services listen."""
        found: dict[str, set[str]] = {}
        for container in self.containers():
            for bindings in (container.attrs["NetworkSettings"]["Ports"] or {}).values():
                for binding in bindings or ():
                    found.setdefault(container.labels[f"{LABEL}service"], set()).add(binding["HostIp"])
        return found

    def ask(self, database: str, statement: str) -> str:
        """What one statement finds, asked in the container of a database."""
        line = ("psql", "-U", "edbench", "-d", "edbench", "-tAc", statement)
        return self.compose("exec", "-T", database, *line).stdout.strip()

    def tasks_done(self, phase: str) -> int:
        """Tasks of a phase that are done in the running jobs of all databases."""
        statement = (
            "SELECT count(*) FROM task JOIN job ON job.id = task.job WHERE task.state = 'done'"
            f" AND task.phase = '{phase}' AND job.state = 'running'"
        )
        return sum(int(self.ask(f"db{number}", statement)) for number in range(1, DATABASES + 1))
