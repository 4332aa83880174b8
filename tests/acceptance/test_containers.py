"""The system in containers as one long story: brought up in a fresh clone, used in a browser, hurt, switched to a
filer, taken down.

The tests depend on the state that the earlier ones leave: starting the system takes longer than using it. Skipped
without a Docker engine."""

import base64
import contextlib
import json
import os
import re
import signal
import urllib.error
import urllib.request
import uuid
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from browsing import TIMEOUT_MS, Complaints, launched
from container_system import BUILD_SECONDS, REPOSITORY, WORKERS, System
from dashboards import DASHBOARDS
from installation import COMMAND_SECONDS, EDBENCH, PATIENCE, until
from playwright.sync_api import Page, expect
from ports import own_ports
from prometheus_binary import as_asked, ask, query

PLUGINS = Path(__file__).parents[1] / "support" / "plugins"
LONG_MS = 5 * TIMEOUT_MS  # of a corpus, a job or an experiment
LINK = re.compile(r"http://127\.0\.0\.1:\d+/login#code=\S+")


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """`docker compose up --scale worker=3` with nothing set; gone afterwards, with everything it kept."""
    if os.geteuid() != 0:
        pytest.skip("killing a container's process from outside requires root")
    home = tmp_path_factory.mktemp("containers")
    for directory in (home, *home.parents):  # the containers' user passes through, pytest's own are closed
        if directory.name.startswith("pytest"):
            directory.chmod(0o755)
    with own_ports(5) as port:
        made = System(home, f"edbench-test-{uuid.uuid4().hex[:8]}", port)
        try:
            made.compose("build", "controller", seconds=BUILD_SECONDS)
            made.up()
            yield made
        finally:
            made.down()
            left = made.containers()
            made.client.close()
            assert left == []


@pytest.fixture(scope="module")
def token(system: System) -> str:
    return system.token()


def _log(system: System, service: str) -> str:
    return system.compose("logs", "--no-log-prefix", service).stdout


@pytest.fixture(scope="module")
def sample(system: System) -> None:
    """The road in the browser, from the link in the controller's log to the report."""
    pictures = Path(os.environ["EDBENCH_PICTURES"]) if "EDBENCH_PICTURES" in os.environ else system.home
    complaints = Complaints()
    with launched() as browser:
        context = browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme="light")
        context.set_default_timeout(TIMEOUT_MS)
        page = context.new_page()
        complaints.listen(page)
        _walk(system, page, pictures)
        context.close()
    assert not complaints.unexpected()


def _walk(system: System, page: Page, pictures: Path) -> None:
    def picture(name: str) -> None:
        for width in (1400, 400):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (
                f"{name} is wider than {width} pixels"
            )
            page.screenshot(path=pictures / f"{name}-{width}.png", full_page=True)
        page.set_viewport_size({"width": 1400, "height": 900})

    link = LINK.findall(_log(system, "controller"))[-1]
    page.goto(link.partition("#")[0])
    picture("1-sign-in")
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_url(f"{system.site}/")
    picture("2-first-page")
    page.get_by_role("button", name="Generate a sample corpus and run it").click()
    page.wait_for_url("**/jobs/*-*", timeout=LONG_MS)
    for figure, unit in (("discovered", "GB/hour"), ("calls", "calls/s")):
        text = re.compile(rf"[1-9][\d.,]*.*{unit}", re.DOTALL)
        expect(page.locator(f"[data-figure={figure}]")).to_contain_text(text, timeout=LONG_MS)
    picture("3-running")
    expect(page.locator("#state")).to_have_text(re.compile("^completed"), timeout=LONG_MS)
    picture("4-completed")


def test_the_road_in_the_browser(system: System, sample: None) -> None:
    link = LINK.findall(_log(system, "controller"))[-1]
    code = urllib.request.Request(f"{system.site}/login", f"code={link.partition('code=')[2]}".encode())
    with urllib.request.urlopen(code, timeout=PATIENCE) as answer:
        assert answer.url.endswith("/login?failed=code")
    (listed,) = system.edbench("job", "list")
    assert listed["state"] == "completed_with_exceptions"
    assert system.edbench("verify", "last")["differences"] == 0
    system.inside("edbench", "doctor")  # fails where a check does


def test_a_scale_up_in_the_browser(system: System, sample: None) -> None:
    complaints = Complaints()
    with launched() as browser:
        context = browser.new_context(viewport={"width": 1400, "height": 900}, accept_downloads=True)
        context.set_default_timeout(LONG_MS)
        page = context.new_page()
        complaints.listen(page)
        page.goto(system.edbench("token")["url"])
        page.wait_for_url(f"{system.site}/")
        page.get_by_role("link", name="Measure").click()
        page.get_by_label("Workers", exact=True).fill("1,2,3")
        page.get_by_label("Repeats").fill("1")
        page.get_by_role("button", name="Measure").click()
        page.wait_for_url("**/measurements/*-*")
        expect(page.locator("#state")).to_have_text("completed", timeout=LONG_MS)
        page.locator("#result a").click()
        expect(page.locator("iframe.report")).to_be_visible()
        assert page.locator("table.cards td[data-name=workers]").all_inner_texts() == ["1", "2", "3"]
        pictures = Path(os.environ.get("EDBENCH_PICTURES", system.home))
        for width in (1400, 400):
            page.set_viewport_size({"width": width, "height": 900})
            page.screenshot(path=pictures / f"5-result-{width}.png", full_page=True)
        with page.expect_download() as package:
            page.get_by_role("link", name="Everything as ZIP").click()
        with zipfile.ZipFile(package.value.path()) as archive:
            assert any(name.endswith("/result.json") for name in archive.namelist())
        context.close()
    assert not complaints.unexpected()


def test_what_is_published_and_who_gets_in(system: System, token: str) -> None:
    """The web UI and Grafana, on loopback; each with its password. Prometheus, which has none, stays inside, and its log has no line
    about names that do not resolve."""
    assert system.published() == {"controller": {"127.0.0.1"}, "grafana": {"127.0.0.1"}}
    lines = _log(system, "controller").splitlines()
    assert any("docker compose exec controller edbench token" in line for line in lines)
    assert any(line.startswith(f"Grafana: {system.grafana}/") for line in lines)
    assert any(re.match(r"storage: .* /storage, [\d,.]+ GB of .* writable as user 1000:1000$", line) for line in lines)
    access = system.edbench("token", "--grafana")

    def dashboards(password: str) -> Any:
        login = base64.b64encode(f"admin:{password}".encode()).decode()
        asked = urllib.request.Request(f"{system.grafana}/api/search", headers={"Authorization": f"Basic {login}"})
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
            return json.load(answer)

    assert {board["uid"] for board in dashboards(access["password"])} >= {"edbench-run", "edbench-system"}
    for wrong in ("admin", token):
        with pytest.raises(urllib.error.HTTPError, match="401"):
            dashboards(wrong)
    for wrong in ("", token[:-1] + ("a" if token[-1] != "a" else "b")):
        assert system.ask("/api/v1/jobs", bearer=wrong)[0] == 401
        assert "/login?next=" in system.ask("/jobs/last", bearer=wrong)[1]
    assert json.loads(system.ask("/api/v1/health")[2])["status"] == "ok"
    assert "dns" not in _log(system, "prometheus").lower()


def test_a_server_that_hangs_is_unhealthy(system: System) -> None:
    """It accepts connections and answers none; the check must not take that for health."""
    (controller,) = system.containers("controller")
    check = controller.attrs["Config"]["Healthcheck"]["Test"][1:]
    check[check.index("20")] = "2"  # seconds
    pid = int(controller.attrs["State"]["Pid"])
    assert controller.exec_run(check).exit_code == 0
    os.kill(pid, signal.SIGSTOP)
    try:
        assert controller.exec_run(check).exit_code != 0
    finally:
        os.kill(pid, signal.SIGCONT)
    assert controller.exec_run(check).exit_code == 0


def test_a_group_over_both_databases_and_what_a_container_refuses(system: System, sample: None) -> None:
    out = system.inside("edbench", "discover", "/storage/corpora/sample", "--databases", "2", "--shard")
    assert "adds up" in out
    assert f"{WORKERS} x 4 slots" in out
    group = system.edbench("job", "show", "last")
    assert group["sum"]["items"] == sum(job["items"] for job in group["jobs"]) > 1_000
    assert system.edbench("verify", "last")["differences"] == 0
    asked = {
        ("corpus", "generate", "corpora/here", "--scale", "0.0002"): "not on the storage under test",
        ("discover", "/evidence"): "is empty",
    }
    for line, refusal in asked.items():
        done = system.compose("exec", "-T", "controller", "edbench", *line, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert refusal in done.stderr


def _databases(system: System) -> str:
    names = "SELECT string_agg(datname, ',' ORDER BY datname) FROM pg_database"
    return system.inside("psql", "-U", "edbench", "-d", "postgres", "-tAc", names, service="db1").strip()


def test_a_scale_out_by_the_command_leaves_the_system_as_it_was(system: System, sample: None) -> None:
    """Over an emulated filer: databases of its own for each run on both servers, the connected workers on them, what each used in the
    result; afterwards nothing of it is left. Neither is after Ctrl-C; meanwhile a job is refused, and so are more workers than there
    are, with the command that starts them. The clients of a storage test are at all workers."""
    system.inside("edbench", "corpus", "generate", "/storage/corpora/tiny", "--scale", "0.0001")
    before, there = system.standing(), _databases(system)
    words = ("bench", "scale-out", "--corpus", "/storage/corpora/tiny", "--slots", "2", "--repeats", "1")
    result = system.edbench(*words, "--workers", "2", "--databases", "1,2", "--filer", "nas-1g")
    assert [point["at"]["databases"] for point in result["points"]] == [1, 2]
    assert result["verdict"].startswith("EMULATED FILER nas-1g")
    for point in result["points"]:
        (run,) = point["repeats"]
        assert 0 < run["worker_cpu"] <= 1
        assert run["null_elapsed_s"] is not None
    for used in result["conditions"]["hosts_by_run"]:
        assert len(used["hosts"]) == 2
        assert all(one["workers_cpu_s"] > 0 and one["received_bytes"] > 0 for one in used["hosts"])

    system.inside("mkdir", "/storage/under-test")
    sweep = ("--set", "clients=1,6", "--set", "size=100000", "--set", "window=0.01", "--repeats", "1")
    result = system.edbench("bench", "storage", "client-sweep", "--path", "/storage/under-test", *sweep)
    assert len(result["conditions"]["hosts"]) == WORKERS
    for point in result["points"]:
        (run,) = point["repeats"]
        assert [phase["done"] for phase in run["phases"]] == [point["at"]["clients"]] * 3
        assert run["null_elapsed_s"] is not None

    line = ("exec", "-T", "controller", "edbench", *words, "--databases", "1", "--workers")
    many = system.compose(*line, "20", check=False)
    assert many.returncode == 2
    assert f"20 workers are required, but {WORKERS} are connected" in many.stderr
    assert "`edbench scale 20`" in many.stderr

    process = system.begun(*line, "2")
    until(lambda: _databases(system) != there, "a run has a database")
    refused = system.compose("exec", "-T", "controller", "edbench", "discover", "/storage/corpora/tiny", check=False)
    assert "an experiment uses this system" in refused.stderr
    inside = system.containers("controller")[0].top(ps_args="-eo pid,args")["Processes"]
    (command,) = [int(pid) for pid, arguments in inside if "scale-out" in arguments and "python" in arguments]
    os.kill(command, signal.SIGINT)
    out, err = process.communicate(timeout=COMMAND_SECONDS)
    assert process.returncode == 130, f"{out}\n{err}"
    assert _databases(system) == there
    assert system.standing() == before


def test_a_worker_that_is_killed_in_an_experiment_is_named_and_the_run_repeated(system: System, sample: None) -> None:
    """The engine starts the container again, and it is a member again."""
    words = ("--corpus", "/storage/corpora/sample", "--workers", str(WORKERS), "--slots", "1", "--filer", "cloud-nas")
    line = ("exec", "-T", "controller", "edbench", "bench", "scale-up", *words, "--repeats", "1", "--no-baseline")
    process = system.begun(*line, "-o", "json")
    storage = system.volume("storage")
    until(lambda: any(storage.glob("experiments/*/*/jobs/*/items/*")), "items are written")
    system.kill("worker")
    out, err = process.communicate(timeout=COMMAND_SECONDS)
    assert process.returncode == 0, f"{out}\n{err}"
    assert re.search(r"not counted and run again: member \S+ was lost: it no longer answers", " ".join(err.split()))
    (used,) = json.loads(out)["conditions"]["hosts_by_run"]
    assert len(used["hosts"]) == WORKERS


def test_prometheus_finds_every_process_and_every_query_finds_something(system: System, sample: None) -> None:
    url = f"http://{system.address('prometheus', 'metrics')}:9090"
    wanted = {
        f"http://{container.attrs['NetworkSettings']['Networks'][f'{system.name}_metrics']['IPAddress']}:9464/metrics"
        for container in system.containers("worker", "queue_manager", "controller")
    }

    def scraped() -> set[str]:
        return {t["scrapeUrl"] for t in ask(url, "targets")["activeTargets"] if t["health"] == "up"}

    until(lambda: len(wanted) == WORKERS + 2 and wanted <= scraped(), f"{wanted} are scraped")
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

    until(lambda: health() == {"ok"}, "every rule was evaluated")


def test_a_parser_that_was_taken_over_gets_nowhere_in_a_container(system: System) -> None:
    """As the containers' ordinary user, under the engine's own seccomp profile: it reads no secret, nothing of the worker's memory and
    environment, signals nothing and opens no socket. Outside the sandbox the same user does, so the attacks are real."""
    attack = (PLUGINS / "in_a_container.py").read_text()
    plugin = (PLUGINS / "intruder_plugin.py").read_text()
    found = json.loads(system.inside("python", "-c", attack, plugin, service="worker"))
    inside = {what: how for what, how in found["inside"].items() if isinstance(how, str)}
    assert {what: how for what, how in inside.items() if not how.startswith("refused")} == {}
    assert found["inside"]["secrets"] == []
    for real in ("read any file", "read the slot's environment", "signal the slot", "open a UDP socket"):
        assert found["outside"][real] == "done", real
    assert found["lacking"] == ""
    assert system.containers("worker")[0].attrs["HostConfig"]["SecurityOpt"] == ["no-new-privileges:true"]


def test_containers_hold_no_more_than_they_need(system: System) -> None:
    """Ours run as another user than root, on a read-only root file system, and each has its own secrets alone, which are in no image and
    no environment. A worker cannot change the evidence, reaches the databases as a worker and no other host; what makes the
    secrets sees no network at all."""
    secrets = {system.token(), system.edbench("token", "--grafana")["password"]}
    for service in ("controller", "queue_manager", "worker"):
        script = "id -u; touch /opt/x 2>&1 || true; ls /secrets; cat /secrets/login"
        user, refused, *files, login = system.inside("sh", "-c", script, service=service).splitlines()
        assert user != "0"
        assert "Read-only" in refused
        assert files == (["grafana", "login", "token"] if service == "controller" else ["login"])
        name, _, password = login.partition(":")
        assert name == f"edbench_{service}"
        assert len(password) >= 32
        secrets.add(password)
    assert len(secrets) == 5
    described = system.run("docker", "history", "--no-trunc", system.image).stdout
    described += str([container.attrs for container in system.containers()])
    assert not [secret for secret in secrets if secret in described]

    tried = "touch /evidence/x 2>&1; python -c \"import socket; socket.create_connection(('1.1.1.1', 443), 5); print('through')\" 2>&1"
    out = system.inside("sh", "-c", f"{tried}; true", service="worker")
    assert "Read-only file system" in out
    assert "Error" in out
    assert "through" not in out.splitlines()
    code = "import os, psycopg2\nfrom core.settings import read_settings\n"
    code += "url = read_settings(os.environ).databases[0].url.replace('+psycopg2', '')\n"
    code += "psycopg2.connect(url).cursor().execute(\"COPY (SELECT 1) TO PROGRAM 'true'\")"
    attack = system.compose("exec", "-T", "worker", "python", "-c", code, check=False)
    assert attack.returncode != 0
    assert "permission denied to COPY to or from an external program" in attack.stderr
    (maker,) = system.containers("secrets")
    assert set(maker.attrs["NetworkSettings"]["Networks"]) == {"none"}
    assert maker.attrs["State"]["ExitCode"] == 0


def test_a_killed_worker_and_queue_manager_and_more_workers_in_the_middle(
    system: System, token: str, sample: None
) -> None:
    """The engine starts what was killed again, and three more workers join, by `edbench scale` on the host: nothing is missing or
    double, and Compose knows the workers as its own."""

    def restarts() -> int:
        return sum(each.attrs["RestartCount"] for each in system.containers("worker", "queue_manager"))

    before = restarts()
    job = system.begin(token)
    system.kill("worker")
    system.kill("queue_manager")
    system.run(str(EDBENCH), "scale", "6")
    system.ends_right(token, job)
    workers = system.compose("ps", "--quiet", "worker").stdout.split()
    system.compose("up", "--detach", "--no-recreate", "--no-deps", "--scale", "worker=6", "worker")
    assert system.compose("ps", "--quiet", "worker").stdout.split() == workers
    assert len(workers) == 6
    assert restarts() == before + 2, (_log(system, "worker")[-3000:], _log(system, "queue_manager")[-3000:])


def test_a_killed_database_in_the_middle(system: System, token: str, sample: None) -> None:
    """It recovers and the job goes on, though it comes back with the address that the other one had: whoever is led to the wrong
    server is refused there."""
    job = system.begin(token)
    network = f"{system.name}_back"
    servers = sorted(system.containers("db1", "db2"), key=lambda each: system.address_of(each, network))
    before = [system.address_of(each, network) for each in servers]
    for server in servers:
        server.kill()
    for server in reversed(servers):
        server.start()
        server.reload()
    assert [system.address_of(each, network) for each in servers] == before[::-1]

    def settled() -> bool:
        with contextlib.suppress(OSError, AssertionError):
            row = system.job(token, job)
            if row["state"] == "suspended":
                system.ask(f"/api/v1/jobs/{job}/resume", {}, bearer=token)
            return bool(row["finished"])
        return False

    until(settled, "the job ends")
    system.ends_right(token, job)


def test_stop_and_start_and_down_and_up_in_the_middle(system: System, token: str, sample: None) -> None:
    job = system.begin(token)
    system.compose("stop", "--timeout", "20")
    system.compose("start")
    until(lambda: system.inside("edbench", "job", "list", check=False), "the controller answers")
    system.compose("down", "--timeout", "20")
    system.up()
    assert system.token() == token
    system.ends_right(token, job)
    code = LINK.findall(_log(system, "controller"))
    assert len(code) == 1, "the containers are new, and so is the link"


def test_the_storage_is_switched_to_a_filer(system: System, sample: None) -> None:
    """EDBENCH_SHARED is set on a system that runs: it has that storage afterwards, or `up` fails; jobs that are over keep their labels
    and the name of the storage that they had, and a source on another file system is labelled. What the old databases knew on it is
    found after `down -v`."""
    before = {job["job_id"]: job for job in system.edbench("job", "list")}
    missing = system.home / "not mounted"
    system.env |= {"EDBENCH_SHARED": str(missing)}
    refused = system.up(1, check=False)
    assert refused.returncode != 0
    assert f"bind source path does not exist: {missing}" in refused.stderr
    assert not missing.exists()

    filer, evidence = system.home / "filer", system.home / "evidence"
    filer.mkdir()
    system.compose("cp", "controller:/storage/corpora/sample", str(evidence))
    system.run("chown", "-R", "1000:1000", str(evidence))  # what is copied out of a container belongs to who copies
    system.run("mount", "-t", "tmpfs", "-o", "mode=755,size=500m", "edbench-test-filer", str(filer))
    try:
        limits = {"EDBENCH_WORKER_CPUS": "1.5", "EDBENCH_WORKER_MEMORY": "2g"}
        system.env |= {"EDBENCH_SHARED": str(filer), "EDBENCH_EVIDENCE": str(evidence)} | limits
        assert system.up(1, check=False).returncode != 0
        assert f"chown 1000:1000 {filer}" in _log(system, "storage")
        os.chown(filer, 1000, 1000)
        system.up(1)
        mounts = system.inside("cat", "/proc/self/mountinfo", service="worker")
        assert f" {filer} " in mounts
        assert "tmpfs edbench-test-filer" in mounts
        (worker,) = system.containers("worker")
        limited = worker.attrs["HostConfig"]
        assert (limited["NanoCpus"], limited["Memory"]) == (1_500_000_000, 2 << 30)
        out = " ".join(system.inside("edbench", "discover", str(evidence)).split())
        assert f"memory (tmpfs), edbench-test-filer, {filer}" in out
        assert "SOURCE NOT ON THE STORAGE UNDER TEST" in out
        after = {job["job_id"]: job for job in system.edbench("job", "list")}
        assert len(after) == len(before) + 1
        assert {job: after[job] for job in before} == before
        assert system.edbench("storage", "clean") == []
        assert len(list((filer / "jobs").iterdir())) == 1
        _joined_from_another_host(system, filer)
    finally:
        system.down()
        system.run("umount", str(filer))


def _joined_from_another_host(system: System, filer: Path) -> None:
    """By what docs/hosts.md says to write and to type, with the addresses and paths of this machine: an experiment uses both workers."""
    docs = (REPOSITORY / "docs/hosts.md").read_text()
    login, override = system.home / "login", system.home / "override.yml"
    here = {
        "10.0.0.1:5432": f"127.0.0.1:{system.port + 2}", "10.0.0.1:5433": f"127.0.0.1:{system.port + 3}",
        "10.0.0.1:6379": f"127.0.0.1:{system.port + 4}", "/etc/edbench/login": str(login), "/mnt/filer": str(filer),
        "edbench-scratch": f"{system.name}-scratch", "docker run -d": f"docker run -d --name {system.name}-far",
    }  # fmt: skip
    written = re.findall(r"```(?:yaml)?\n((?:services:|docker run -d).*?)```", docs, re.DOTALL)
    for there, ours in here.items():
        written = [text.replace(there, ours) for text in written]
    override.write_text(written[0])
    login.write_text(system.inside("cat", "/secrets/login", service="worker"))
    login.chmod(0o400)
    os.chown(login, 1000, 1000)
    system.env |= {"COMPOSE_FILE": f"{REPOSITORY / 'docker-compose.yml'}:{override}", "IMAGE": system.image}
    system.up(1)
    try:
        system.run("sh", "-c", written[1])
        system.inside("edbench", "corpus", "generate", f"{filer}/corpora/tiny", "--scale", "0.0001")
        words = ("--corpus", f"{filer}/corpora/tiny", "--workers", "2", "--repeats", "1", "--wait", "120")
        result = system.edbench("bench", "scale-up", *words, "--no-baseline")
        assert len(result["conditions"]["hosts"]) == 2
    finally:
        system.run("docker", "rm", "--force", f"{system.name}-far", check=False)
        system.run("docker", "volume", "rm", f"{system.name}-scratch", check=False)
