"""The system in containers, in a project of one test module's own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import uuid
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.errors import DockerException
from installation import COMMAND_SECONDS, EDBENCH

from controller.cluster.containers import Project, service_of
from controller.cluster.reach import reach_compose
from controller.cluster.run_containers import run_containers
from core.settings import read_settings
from sql.session import Database

REPOSITORY = Path(__file__).parents[3]
BUILD_SECONDS = 600.0
WORKERS, DATABASES = 3, 2


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
        """A command on the host, in the repository's own environment."""
        line = (str(EDBENCH), *arguments)
        self.env |= {"EDBENCH_CLUSTER": "compose"}
        return self.run(*line, check=check)

    def discover(self, *arguments: str) -> tuple[subprocess.Popen[str], Path]:
        """Begin a job over the corpus; where its result will be."""
        result = self.home / f"{uuid.uuid4().hex}.json"
        line = [
            str(EDBENCH),
            "discover",
            str(self.corpus),
            "--cluster",
            "compose",
            "-o",
            "json",
            "--output-file",
            str(result),
            *arguments,
        ]
        process = subprocess.Popen(line, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return process, result

    def end(self, process: subprocess.Popen[str], result: Path) -> dict[str, Any]:
        out, err = process.communicate(timeout=COMMAND_SECONDS)
        logs = "" if process.returncode == 0 else self.compose("logs", "--tail", "20", check=False).stdout
        assert process.returncode == 0, f"{process.returncode}\n{out}\n{err}\n{logs}"
        return dict(json.loads(result.read_text()))

    def verify(self, job: str) -> dict[str, Any]:
        found = self.home / "verified.json"
        self.edbench("verify", job, "-o", "json", "--output-file", str(found))
        return dict(json.loads(found.read_text()))

    @property
    def corpus(self) -> Path:
        return self.shared / "corpora" / "c"

    def kill(self, service: str) -> int:
        """SIGKILL of the first process in a container of a service, as if the host had ended it; its process id."""
        project = Project(self.env)
        try:
            pid = int(project.one(service).attrs["State"]["Pid"])
        finally:
            project.close()
        os.kill(pid, signal.SIGKILL)
        return pid

    def standing(self) -> dict[str, str]:
        """The containers of the system and of runs, by name, with their states."""
        project = Project(self.env)
        try:
            return {str(c.name): c.status for c in project.containers()}
        finally:
            project.close()

    def published(self) -> dict[str, set[str]]:
        """The addresses of the host at which services listen."""
        project = Project(self.env)
        try:
            found: dict[str, set[str]] = {}
            for container in project.containers():
                for bindings in (container.attrs["NetworkSettings"]["Ports"] or {}).values():
                    for binding in bindings or ():
                        found.setdefault(service_of(container), set()).add(binding["HostIp"])
            return found
        finally:
            project.close()

    def in_a_run(self) -> int:
        """How many containers of an experiment's run there are."""
        project = Project(self.env)
        try:
            return len(run_containers(project))
        finally:
            project.close()

    def tasks_done(self, phase: str) -> int:
        """Tasks of a phase that are done in the newest jobs of all databases."""
        settings = reach_compose(read_settings({}), self.env)
        done = 0
        for address in settings.databases:
            database = Database(address.name, address.url)
            with database.transaction() as conn:
                done += conn.exec_driver_sql(
                    "SELECT count(*) FROM task JOIN job ON job.id = task.job WHERE task.state = 'done'"
                    " AND task.phase = %(phase)s AND job.state = 'running'",
                    {"phase": phase},
                ).scalar_one()
            database.dispose()
        return done
