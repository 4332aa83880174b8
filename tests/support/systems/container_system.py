"""The system in containers, in a Compose project of one test module's own."""

import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.errors import DockerException
from docker.models.containers import Container
from installation import COMMAND_SECONDS, PATIENCE, until

REPOSITORY = Path(__file__).parents[3]
BUILD_SECONDS = 900.0
WORKERS = 3
_SERVICE = "com.docker.compose.service"


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
    """A project of its own, with nothing set but its name, its image and its ports."""

    def __init__(self, home: Path, name: str, port: int) -> None:
        self.home = home
        self.name, self.port = name, port
        self.client = engine()
        self.env_file = home / "env"  # empty: without it the repository's own .env would be read
        self.env_file.touch()
        kept = {k: v for k, v in os.environ.items() if not k.startswith("EDBENCH_") or k.endswith("_IMAGE")}
        ports = {"EDBENCH_WEB_PORT": str(port), "EDBENCH_GRAFANA_PORT": str(port + 1)}
        self.image = os.environ.get("EDBENCH_IMAGE", "edbench:test")
        self.env = kept | {"COMPOSE_PROJECT_NAME": name, "EDBENCH_IMAGE": self.image} | ports
        self.site, self.grafana = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}"

    def run(
        self, *command: str, check: bool = True, seconds: float = COMMAND_SECONDS
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, env=self.env, cwd=REPOSITORY, capture_output=True, text=True, timeout=seconds, check=False
        )
        if check and done.returncode != 0:
            pytest.fail(f"{command}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done

    def compose(
        self, *arguments: str, check: bool = True, seconds: float = COMMAND_SECONDS
    ) -> subprocess.CompletedProcess[str]:
        line = ("docker", "compose", "--env-file", str(self.env_file), *arguments)
        return self.run(*line, check=check, seconds=seconds)

    def up(self, workers: int = WORKERS, *, check: bool = True) -> subprocess.CompletedProcess[str]:
        """`docker compose up --scale worker=N`, until everything is healthy."""
        return self.compose("up", "--detach", "--wait", "--scale", f"worker={workers}", check=check)

    def down(self) -> None:
        """Everything that the project kept goes."""
        self.compose("down", "--volumes", "--timeout", "5", check=False)

    def inside(self, *command: str, service: str = "controller", check: bool = True) -> str:
        """What a command in a container printed."""
        return self.compose("exec", "-T", service, *command, check=check).stdout

    def edbench(self, *arguments: str) -> Any:
        """The document of a command in the controller."""
        return json.loads(self.inside("edbench", *arguments, "-o", "json"))

    def begun(self, *arguments: str) -> subprocess.Popen[str]:
        """`docker compose …`, in the background."""
        line = ("docker", "compose", "--env-file", str(self.env_file), *arguments)
        return subprocess.Popen(
            line, env=self.env, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def standing(self) -> dict[str, str]:
        """The containers by name, with their states."""
        return {str(container.name): container.status for container in self.containers()}

    def containers(self, *services: str) -> list[Container]:
        """Of these services, of all without any; stopped ones too."""
        found = self.client.containers.list(
            all=True, filters={"label": f"com.docker.compose.project={self.name}"}, ignore_removed=True
        )
        return [each for each in found if not services or each.labels[_SERVICE] in services]

    def kill(self, service: str) -> None:
        """SIGKILL of the first process in a container, as if the host had ended it: the engine starts it again."""
        container = self.containers(service)[0]
        os.kill(int(container.attrs["State"]["Pid"]), signal.SIGKILL)

    def volume(self, name: str) -> Path:
        """Where the engine keeps a volume of the project on this host."""
        return Path(self.client.volumes.get(f"{self.name}_{name}").attrs["Mountpoint"])

    def published(self) -> dict[str, set[str]]:
        """The addresses of the host at which services listen."""
        found: dict[str, set[str]] = {}
        for container in self.containers():
            for bindings in (container.attrs["NetworkSettings"]["Ports"] or {}).values():
                for binding in bindings or ():
                    found.setdefault(container.labels[_SERVICE], set()).add(binding["HostIp"])
        return found

    def address(self, service: str, network: str) -> str:
        """Of a container in a network of the project; this host reaches those of internal networks too."""
        return self.address_of(self.containers(service)[0], f"{self.name}_{network}")

    def address_of(self, container: Container, network: str) -> str:
        """Of a container in a network, by the engine's name of it."""
        return str(container.attrs["NetworkSettings"]["Networks"][network]["IPAddress"])

    def token(self) -> str:
        """For programs."""
        return self.inside("edbench", "token", "--api").strip()

    def ask(self, path: str, body: Any = None, *, bearer: str = "") -> tuple[int, str, str]:
        """Status, address at the end, and content of an answer of the web UI."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {bearer}"} if bearer else {})
        request = urllib.request.Request(f"{self.site}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, answer.url, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, str(error.url), error.read().decode()

    def begin(self, token: str) -> str:
        """Create a job over the sample corpus, with short leases; its id, once the first items are found and there is more to do."""
        before = self.job(token, "last")["id"]
        line = ("discover", "/storage/corpora/sample", "--lease-seconds", "3", "--dispatch-seconds", "3")
        self.compose("exec", "-T", "--detach", "controller", "edbench", *line)

        def begun() -> str:
            row = self.job(token, "last")
            return str(row["id"]) if row["id"] != before and row["items"] else ""

        job = until(begun, "the first items are found")
        assert self.job(token, job)["state"] == "running", "too fast for what the test does in the middle of it"
        return job

    def job(self, token: str, job: str) -> dict[str, Any]:
        """Its row."""
        status, _, text = self.ask(f"/api/v1/jobs/{job}", bearer=token)
        assert status == 200, text
        return dict(json.loads(text))

    def ends_right(self, token: str, job: str) -> None:
        """Wait for its end; every item is there once."""

        def over() -> bool:
            try:
                return bool(self.job(token, job)["finished"])
            except OSError:  # the controller is starting again
                return False

        until(over, f"job {job} ends")
        assert self.job(token, job)["state"] == "completed_with_exceptions"
        assert self.edbench("verify", job)["differences"] == 0
