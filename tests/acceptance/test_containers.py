"""The system in containers: real ones, brought up, used, hurt and taken down. Skipped where no Docker engine answers."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from container_system import WORKERS, System, engine
from dashboards import DASHBOARDS
from docker import DockerClient
from docker.errors import APIError, DockerException
from docker.models.containers import Container
from installation import COMMAND_SECONDS, EDBENCH, PATIENCE, until
from prometheus_binary import as_asked, ask, query

from experiments.result.codec import read_result

PLUGINS = Path(__file__).parents[1] / "support" / "plugins"


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Iterator[System]:
    """The system, up with three workers and two databases; gone afterwards, with everything it kept."""
    client = engine()
    if os.geteuid() != 0:
        pytest.skip("killing a container's process from outside takes root")
    home = tmp_path_factory.mktemp("containers")
    for directory in (home, *home.parents):  # the containers' user passes through, pytest's own are closed
        if directory.name.startswith("pytest"):
            directory.chmod(0o755)
    made = System(home, f"edbench-test-{uuid.uuid4().hex[:8]}")
    try:
        made.up()
        made.corpus.parent.mkdir()
        made.run("cp", "-r", str(corpus), str(made.corpus))
        yield made
    finally:
        made.down()
        left = client.containers.list(
            all=True, filters={"label": f"com.docker.compose.project={made.env['COMPOSE_PROJECT_NAME']}"}
        )
        client.close()
        assert left == []


def test_a_job_on_three_worker_containers_and_two_databases(system: System) -> None:
    """A group over both databases finds what the manifest says."""
    result = system.end(system.discover("--databases", "2", "--shard"))
    assert result["workers"] == WORKERS
    assert {job["state"] for job in result["jobs"]} == {"completed_with_exceptions"}
    assert system.verify("last")["differences"] == 0


def test_a_killed_worker_and_a_killed_queue_manager_cost_nothing(system: System) -> None:
    """Both are killed in the middle of a job; the engine starts them again, and nothing is missing or double."""
    process = system.discover("--lease-seconds", "3", "--dispatch-seconds", "3")
    until(lambda: system.tasks_done("expand") >= 1, "a task of expand is done")
    system.kill("worker")
    system.kill("queue_manager")
    done = system.end(process)
    assert done["state"] == "completed_with_exceptions"
    assert system.verify("last")["differences"] == 0

    def back() -> bool:
        both = [*system.containers("worker"), *system.containers("queue_manager")]
        return sum(one.attrs["RestartCount"] for one in both) >= 2

    until(back, "they were killed and came back")


def test_scaling_makes_replicas_that_compose_knows(system: System) -> None:
    """`edbench scale` on the host adds and removes worker containers; Compose counts them as its own and leaves them as they
    are, and an experiment uses them."""
    system.run(str(EDBENCH), "scale", "4")
    before = system.compose("ps", "--quiet", "worker").stdout.split()
    assert len(before) == 4
    system.compose("up", "--detach", "--no-recreate", "--no-deps", "--scale", "worker=4", "worker")
    assert system.compose("ps", "--quiet", "worker").stdout.split() == before
    system.run(str(EDBENCH), "scale", "2")
    assert len(system.compose("ps", "--quiet", "worker").stdout.split()) == 2


def test_an_experiment_in_containers_leaves_the_system_as_it_was(system: System, small: Path) -> None:
    """A scale-out over an emulated filer: databases of its own for each run on both servers, the connected workers on them,
    what each used in the result; afterwards nothing of it is left, and a job runs on the same workers. Neither is after
    Ctrl-C, and more workers than there are is refused with the command that starts them."""
    part = Path(shutil.copytree(small, system.shared / "corpora" / "small"))
    before, there = system.standing(), _databases(system)
    arguments = ("bench", "scale-out", "--corpus", str(part), "--workers", "2", "--slots", "2", "--repeats", "1")
    done = system.edbench(*arguments, "--databases", "1,2", "--filer", "nas-1g")
    result = read_result(Path(done.stdout.splitlines()[-1]).parent)
    assert [point.databases for point in result.points] == [1, 2]
    assert result.verdict.startswith("EMULATED FILER nas-1g")
    for point in result.points:
        (run,) = point.repeats
        assert 0 < run.worker_cpu <= 1
        assert run.null_elapsed_s is not None
        assert run.result["filer"]["stations"]["metadata"]["calls"] > 0
        assert run.series.filer
        assert {name for _, by in run.series.database_activity for name in by} == {
            f"db{n + 1}" for n in range(point.databases)
        }
    for used in result.conditions["hosts_by_run"]:
        assert len(used["hosts"]) == 2
        assert all(one["workers_cpu_s"] > 0 and one["memory_peak_bytes"] > 10_000_000 for one in used["hosts"])
        assert all(one["received_bytes"] > 0 for one in used["hosts"])
    assert system.standing() == before
    assert _databases(system) == there
    assert not (system.shared / "experiments").exists()

    many = system.edbench(*arguments[:4], "--workers", "20", "--databases", "1", check=False)
    assert many.returncode == 2
    assert "20 workers are required and 2 are connected" in many.stderr
    assert "`edbench scale 20`" in many.stderr

    process = system.begin(*arguments, "--databases", "1")
    until(lambda: _databases(system) != there, "a run has a database")
    assert "an experiment uses this system" in system.edbench("discover", str(part), check=False).stderr
    (command,) = [one.pid for one in psutil.process_iter(["cmdline"]) if _is_command(one.info["cmdline"], "scale-out")]
    os.kill(command, signal.SIGINT)
    out, err = process.communicate(timeout=COMMAND_SECONDS)
    assert process.returncode == 130, f"{out}\n{err}"
    assert _databases(system) == there
    assert not (system.shared / "experiments").exists()
    assert system.end(system.discover())["state"] == "completed_with_exceptions"


def _databases(system: System) -> str:
    return system.ask("db1", "SELECT string_agg(datname, ',' ORDER BY datname) FROM pg_database")


def _is_command(line: list[str] | None, word: str) -> bool:
    return line is not None and "docker" not in line[:1] and "python" in "".join(line[:1]) and word in line


def test_what_a_container_cannot_do_is_refused(system: System) -> None:
    """A corpus on local scratch, workers that the command does not start, and a source without files: one line each."""
    asked = {
        ("corpus", "generate", "corpora/here", "--scale", "0.0002"): "not on the storage under test",
        ("discover", str(system.corpus), "--workers", "6"): "does not start the workers",
        ("discover", "/evidence"): "is empty",
    }
    for line, refusal in asked.items():
        done = system.compose("exec", "-T", "controller", "edbench", *line, check=False)
        assert done.returncode == 2, done.stderr
        assert refusal in done.stderr
        assert done.stderr.count("\n") == 1, done.stderr


def test_a_parser_that_was_taken_over_gets_nowhere_in_a_container(system: System) -> None:
    """As the containers' ordinary user, under the engine's own seccomp profile: it reads no secret, nothing of the worker's memory and
    environment, signals nothing and opens no socket. Outside the sandbox the same user does, so the attacks are real."""
    attack = (PLUGINS / "in_a_container.py").read_text()
    plugin = (PLUGINS / "intruder_plugin.py").read_text()
    found = json.loads(system.compose("exec", "-T", "worker", "python", "-c", attack, plugin).stdout)
    inside = {what: how for what, how in found["inside"].items() if isinstance(how, str)}
    assert {what: how for what, how in inside.items() if not how.startswith("refused")} == {}
    assert found["inside"]["secrets"] == []
    for real in ("read any file", "read the slot's environment", "signal the slot", "open a UDP socket"):
        assert found["outside"][real] == "done", real
    assert found["lacking"] == ""
    assert system.one("worker").attrs["HostConfig"]["SecurityOpt"] == ["no-new-privileges:true"]


def test_the_controller_serves_the_page_to_whoever_has_the_token(system: System) -> None:
    """Without it the form and nothing else; with it a job is created, runs on the worker containers, and is shown."""
    host, port = system.address_of("controller", 8080)
    token = system.compose("exec", "-T", "controller", "cat", "/secrets/token").stdout.strip()

    def ask(path: str, body: dict[str, Any] | None = None, *, bearer: str = token) -> tuple[int, str, str]:
        """Status, address in the end, and what came."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {bearer}"} if bearer else {})
        request = urllib.request.Request(f"http://{host}:{port}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, answer.url, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, str(error.url), error.read().decode()

    for wrong in ("", token[:-1] + ("a" if token[-1] != "a" else "b")):
        assert ask("/api/v1/jobs", bearer=wrong)[0] == 401
        status, address, form = ask("/jobs/last", bearer=wrong)
        assert (status, urllib.parse.urlsplit(address).path) == (200, "/login")
        assert 'name="token"' in form
    corpus = next(c["id"] for c in json.loads(ask("/api/v1/corpora")[2])["corpora"] if c["name"] == "c")
    assert ask("/api/v1/jobs", {"corpus": corpus, "workers": 2})[0] == 422, "workers are the containers' here"
    assert ask("/api/v1/jobs", {"corpus": corpus, "filer": "titan"})[0] == 422, "and emulate no filer"
    status, _, created = ask("/api/v1/jobs", {"corpus": corpus, "name": "over the page"})
    assert status == 201, created
    job = json.loads(created)["id"]
    until(lambda: json.loads(ask(f"/api/v1/jobs/{job}")[2])["state"] == "completed_with_exceptions", "it is done")
    assert "over the page" in ask(f"/jobs/{job}")[2]
    panels = {panel["id"]: panel for panel in json.loads(ask(f"/api/v1/jobs/{job}/timeline")[2])["panels"]}
    assert {"calls", "queue", "database_rows", "space_1"} <= panels.keys()
    assert any(any(series["values"]) for series in panels["slots"]["series"])


def test_containers_hold_no_more_than_they_need(system: System) -> None:
    """Ours work as another user than root, on a read-only root file system, and each has its own secret alone, which
    stands in no image, no environment and no .env."""
    assert system.env_file.stat().st_mode & 0o777 == 0o600
    secrets = set()
    for service in ("controller", "queue_manager", "worker"):
        line = ("exec", "-T", service, "sh", "-c", "id -u; touch /opt/x 2>&1 || true; ls /secrets; cat /secrets/login")
        user, refused, *files, login = system.compose(*line).stdout.splitlines()
        assert user != "0"
        assert "Read-only" in refused
        assert files == (["login", "token"] if service == "controller" else ["login"])
        name, _, password = login.partition(":")
        assert name == f"edbench_{service}"
        assert len(password) >= 32
        secrets.add(password)
    assert len(secrets) == 3
    told = system.run("docker", "history", "--no-trunc", "edbench:test").stdout + system.env_file.read_text()
    told += str([container.attrs for container in system.containers()])
    assert not [secret for secret in secrets if secret in told]


def test_networks_and_sources_keep_what_they_promise(system: System) -> None:
    """The page is all that docker-compose.yml publishes. A worker cannot change the evidence, reaches the databases as
    a worker and no other host; what makes the secrets sees no network at all."""
    plain = json.loads(
        system.compose("--file", "docker-compose.yml", "--profile", "*", "config", "--format", "json").stdout
    )
    assert {name for name, service in plain["services"].items() if service.get("ports")} == {"controller"}
    assert {port["host_ip"] for port in plain["services"]["controller"]["ports"]} == {"127.0.0.1"}
    tried = "touch /evidence/x 2>&1; python -c \"import socket; socket.create_connection(('1.1.1.1', 443), 5); print('through')\" 2>&1"
    said = system.compose("exec", "-T", "worker", "sh", "-c", f"{tried}; true").stdout
    assert "Read-only file system" in said
    assert "Error" in said
    assert "through" not in said.splitlines()
    code = "import os, psycopg2\nfrom core.settings import read_settings\n"
    code += "url = read_settings(os.environ).databases[0].url.replace('+psycopg2', '')\n"
    code += "psycopg2.connect(url).cursor().execute(\"COPY (SELECT 1) TO PROGRAM 'true'\")"
    attack = system.compose("exec", "-T", "worker", "python", "-c", code, check=False)
    assert attack.returncode != 0
    assert "permission denied to COPY to or from an external program" in attack.stderr
    (maker,) = system.containers("secrets")
    assert set(maker.attrs["NetworkSettings"]["Networks"]) == {"none"}
    assert maker.attrs["State"]["ExitCode"] == 0


def test_a_fresh_clone_starts_as_it_stands(system: System, corpus: Path) -> None:
    """`docker compose up --scale worker=3` with no .env and nothing set: a job runs inside, over a source that was put
    into the engine's own volume, with nothing but the page published."""
    clone = System(system.home / "clone", f"{system.env['COMPOSE_PROJECT_NAME']}-clone")
    clone.home.mkdir()
    clone.env_file.touch()  # nothing is in it; without it the repository's own .env would be taken
    try:
        clone.compose("up", "--detach", "--wait", "--scale", f"worker={WORKERS}")
        assert clone.published() == {"controller": {"127.0.0.1"}}
        clone.compose("cp", str(corpus), "controller:/storage/corpus")
        out = clone.compose("exec", "-T", "controller", "edbench", "discover", "/storage/corpus").stdout
        assert "adds up" in out
        assert f"{WORKERS} x 4 slots" in out
        token = clone.compose("exec", "-T", "controller", "cat", "/secrets/token").stdout.strip()
        assert len(token) >= 32
        _switches_storage(clone, corpus)
    finally:
        clone.down()


def _switches_storage(clone: System, corpus: Path) -> None:
    """EDBENCH_SHARED is set on a system that runs: it has that storage afterwards, or `up` fails; jobs that are over keep their labels
    and the name of the storage that they had, and a source on another file system is labelled."""
    up = ("up", "--detach", "--wait", "--scale", "worker=1")
    (before,) = _listed(clone)
    missing = clone.home / "not mounted"
    clone.env |= {"EDBENCH_SHARED": str(missing)}
    refused = clone.compose(*up, check=False)
    assert refused.returncode != 0
    assert f"bind source path does not exist: {missing}" in refused.stderr
    assert not missing.exists()

    filer, evidence = clone.home / "filer", clone.home / "evidence"
    filer.mkdir()
    shutil.copytree(corpus, evidence / "c")
    clone.run("mount", "-t", "tmpfs", "-o", "mode=755,size=200m", "edbench-test-filer", str(filer))
    try:
        clone.env |= {"EDBENCH_SHARED": str(filer), "EDBENCH_EVIDENCE": str(evidence)}
        assert clone.compose(*up, check=False).returncode != 0
        assert f"chown 1000:1000 {filer}" in clone.compose("logs", "--no-log-prefix", "storage").stdout
        os.chown(filer, 1000, 1000)
        clone.compose(*up)
        mounts = clone.compose("exec", "-T", "worker", "cat", "/proc/self/mountinfo").stdout
        assert f" {filer} " in mounts
        assert "tmpfs edbench-test-filer" in mounts
        out = clone.compose("exec", "-T", "controller", "edbench", "discover", str(evidence / "c")).stdout
        flat = " ".join(out.split())
        assert f"memory (tmpfs), edbench-test-filer, {filer}" in flat
        assert "SOURCE NOT ON THE STORAGE UNDER TEST" in flat
        after = {job["job_id"]: job for job in _listed(clone)}
        assert len(after) == 2
        assert after[before["job_id"]] == before
        labels = clone.compose("exec", "-T", "controller", "edbench", "job", "list").stdout
        assert "edbench-test-filer" in labels
    finally:
        clone.down()
        clone.run("umount", str(filer))


def _listed(system: System) -> list[dict[str, Any]]:
    """The jobs, as the command in the controller lists them."""
    return list(
        json.loads(system.compose("exec", "-T", "controller", "edbench", "job", "list", "--output", "json").stdout)
    )


def test_prometheus_finds_every_process_and_every_query_finds_something(system: System) -> None:
    """Each container of each role is reached by the name of its service; after a job no chart is empty, no rule fails."""
    host, port = system.address_of("prometheus", 9090)
    wanted = {
        f"http://{network['IPAddress']}:9464/metrics"
        for service in ("worker", "queue_manager", "controller")
        for container in system.containers(service)
        for name, network in container.attrs["NetworkSettings"]["Networks"].items()
        if name.endswith("_metrics")
    }

    def scraped() -> set[str]:
        with urllib.request.urlopen(f"http://{host}:{port}/api/v1/targets", timeout=PATIENCE) as answer:
            targets = json.load(answer)["data"]["activeTargets"]
        return {t["scrapeUrl"] for t in targets if t["health"] == "up"}

    until(lambda: len(wanted) > 3 and wanted <= scraped(), f"{wanted} are scraped")
    system.end(system.discover())
    url = f"http://{host}:{port}"
    for asked in (asked for dashboard in DASHBOARDS for asked in dashboard.queries):
        look = partial(query, url, as_asked(asked.expr))
        if asked.everywhere:
            until(look, f"{asked.expr} finds something")
        else:
            look()

    def health() -> set[str]:
        found = {rule["health"] for group in ask(url, "rules")["groups"] for rule in group["rules"]}
        assert found <= {"ok", "unknown"}, "a rule fails"
        return found

    until(lambda: health() == {"ok"}, "every rule was evaluated")  # until then it is unknown how it fares


def _where(client: DockerClient, filters: dict[str, str], command: list[str], said: bytes) -> Container | None:
    """The container of a swarm's service in which the command says so, once it is healthy. A swarm starts anew what ended
    because another service was not there yet: before that, the container of a moment ago may be gone."""
    for container in client.containers.list(filters=filters | {"health": "healthy"}, ignore_removed=True):
        with contextlib.suppress(APIError):
            if container.exec_run(command).output.strip() == said:
                return container
    return None


def test_swarm(system: System) -> None:
    """The stack file that `edbench deploy swarm` writes is taken by a swarm of one node, and a job runs in it."""
    client = engine()
    if client.swarm.attrs:
        pytest.skip("this engine is part of a swarm already, which a test has no business with")
    system.compose("--profile", "*", "stop", "--timeout", "5")
    try:
        client.swarm.init(advertise_addr="127.0.0.1")
    except DockerException as error:
        pytest.skip(f"this engine cannot be a swarm: {str(error)[:120]}")
    stack, file = f"{system.env['COMPOSE_PROJECT_NAME']}-swarm", system.home / "stack.yml"
    settings = dict(line.split("=", 1) for line in system.env_file.read_text().splitlines() if "=" in line)
    system.env |= {key: value.strip("'") for key, value in settings.items()}
    try:
        system.edbench("deploy", "swarm", "--workers", "2", "--output-file", str(file))
        assert file.stat().st_mode & 0o777 == 0o600
        system.run("docker", "stack", "deploy", "--resolve-image", "never", "--compose-file", str(file), stack)
        names = {"label": f"com.docker.swarm.service.name={stack}_controller"}
        counting = "import os\nfrom cli.installation import installation\nfrom controller.jobs.run import crew_of\n"
        counting += "from core.settings import read_settings\n"
        counting += "with installation(read_settings(os.environ)) as i: print(crew_of(i.databases[0]))"
        controller = until(lambda: _where(client, names, ["python", "-c", counting], b"(2, 4)"), "workers register")
        status, said = controller.exec_run(["edbench", "discover", str(system.corpus)])
        assert status == 0, said.decode()
        status, said = controller.exec_run(["edbench", "verify", "last"])
        assert status == 0, said.decode()
    finally:
        system.run("docker", "stack", "rm", stack, check=False)
        try:
            of_stack = {"label": f"com.docker.stack.namespace={stack}"}
            until(
                lambda: not client.containers.list(all=True, filters=of_stack, ignore_removed=True),
                "the stack's containers are gone",
            )
        finally:
            client.swarm.leave(force=True)
        for volume in client.volumes.list(filters=of_stack):
            volume.remove(force=True)
        client.close()
