"""Results are found by listing; nothing that is not listed is read."""

import io
import json
import os
import re
import tempfile
import threading
import zipfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from installation import until
from made_records import running_job
from report_results import result

import web.runs
from controller.databases import JobHandle, alone
from controller.jobs.run import Tended
from core.clock import SystemClock
from core.errors import SystemFault, UsageError
from core.settings import Settings
from experiments.package.manifest import seal
from experiments.result.codec import write_result
from experiments.workloads.discovery.result import Result
from sql.session import Database
from web.app import create_app
from web.context import WebContext
from web.errors import FieldErrors
from web.runs import CommandRunner, EmbeddedRunner
from web.token import GRAFANA, WEB, Door, headless_line, published, start_lines

API = "/api/v1"
TOKEN = "the token of these tests"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A storage root."""
    return tmp_path_factory.mktemp("root")


@pytest.fixture(scope="module")
def runs(root: Path) -> dict[str, Result]:
    """Two results with reports, one that cannot be read, a link, and a secret beside."""
    made = {}
    for name in ("run-a", "run b é"):
        directory = root / "results" / name
        made[name] = result()
        write_result(made[name], directory)
    (root / "results" / "run-a" / "report.html").write_text("<!doctype html><title>report</title>")
    (root / "results" / "run-a" / "figures").mkdir()
    (root / "results" / "run-a" / "figures" / "a.png").write_bytes(b"\x89PNG")
    (root / "results" / "broken").mkdir()
    (root / "results" / "broken" / "result.json").write_text("{")
    (root / "secret.txt").write_text("secret")
    (root / "results" / "run-a" / "link.txt").symlink_to(root / "secret.txt")
    (root / "results" / "linked").symlink_to(root / "results" / "run-a")
    return made


def _client(root: Path) -> TestClient:
    """An application without a database, as between two runs of an experiment."""
    context = WebContext(
        settings=Settings(storage=root), databases=(), embedded=True, runner=CommandRunner(), door=Door(TOKEN)
    )
    return TestClient(create_app(context), base_url="http://localhost", raise_server_exceptions=False, headers=HEADERS)


@pytest.fixture(scope="module")
def client(root: Path, runs: dict[str, Result]) -> TestClient:
    return _client(root)


def test_the_list_states_what_can_be_read_and_what_cannot(client: TestClient, runs: dict[str, Result]) -> None:
    """Newest first; the unreadable one with its reason."""
    listed = client.get(f"{API}/results").json()
    assert {row["run"] for row in listed["results"]} == set(runs)
    assert list(listed["unreadable"]) == ["broken"]
    assert {row["run"]: row["report"] for row in listed["results"]} == {"run-a": True, "run b é": False}
    assert client.get(f"{API}/results/broken").status_code == 409


def test_one_result_with_its_files(client: TestClient, runs: dict[str, Result]) -> None:
    details = client.get(f"{API}/results/run-a").json()
    assert details["verdict"] == runs["run-a"].verdict
    assert len(details["points_measured"]) == details["points"] == len(runs["run-a"].points)
    names = [file["name"] for file in details["files"]]
    assert {"result.json", "report.html"} < set(names)
    assert "link.txt" not in names
    for file in details["files"]:
        answer = client.get(f"{API}/results/run-a/files/{file['name']}")
        assert (answer.status_code, len(answer.content)) == (200, file["bytes"])


def test_a_report_may_run_nothing(client: TestClient) -> None:
    answer = client.get(f"{API}/results/run-a/files/report.html")
    policy = answer.headers["content-security-policy"]
    assert answer.headers["content-type"].startswith("text/html")
    assert policy.startswith("sandbox;")
    assert "script-src" not in policy
    assert "default-src 'none'" in policy


@pytest.mark.parametrize(
    "path",
    [
        "run-a/files/link.txt",
        "run-a/files/../../../secret.txt",
        "run-a/files/..%2F..%2F..%2Fsecret.txt",
        "run-a/files//etc/passwd",
        "run-a/files/%2Fetc%2Fpasswd",
        "run-a/files/figures",
        "run-a/files/.",
        "run-a/files/result.json%00.html",
        "..%2Fsecret.txt/files/secret.txt",
        "..",
        "%2e%2e",
        ".",
        "linked",
        "linked/files/result.json",
        "RUN-A",
        "..%2fresults%2frun-a.zip",
        "gone.zip",
    ],
)
def test_nothing_else_is_read(client: TestClient, path: str) -> None:
    answer = client.get(f"{API}/results/{path}")
    assert answer.status_code in (404, 422) or "results" in answer.json(), (path, answer.text)
    assert "secret" not in answer.text.replace("secret.txt", "")


def test_everything_as_one_archive(client: TestClient) -> None:
    for run in ("run-a", "run b é"):
        answer = client.get(f"{API}/results/{run}.zip")
        assert answer.headers["content-type"] == "application/zip"
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            assert archive.testzip() is None
            names = {file["name"] for file in client.get(f"{API}/results/{run}").json()["files"]}
            assert set(archive.namelist()) == {f"{run}/{name}" for name in names}
            assert json.loads(archive.read(f"{run}/result.json"))["kind"] == "scale-up"


def test_side_by_side(client: TestClient, runs: dict[str, Result]) -> None:
    both: dict[str, list[str] | str] = {"run": ["run-a", "run b é"]}
    refused = client.get(f"{API}/compare", params=both)
    assert refused.status_code == 409
    assert "result 2: " in refused.json()["error"]  # alone, without a manifest
    answer = client.get(f"{API}/compare", params=both | {"force": "true"}).json()
    assert len(answer["points"]) == len(runs["run-a"].points)
    assert all(len(point["cells"]) == 2 for point in answer["points"])
    assert len(answer["differences"]) == 2
    assert "NOT COMPARABLE" in client.get("/compare", params=both | {"force": "true"}).text
    assert client.get(f"{API}/compare", params={"run": ["run-a"]}).status_code == 422
    assert client.get(f"{API}/compare", params={"run": ["run-a", "../x"]}).status_code == 404


def test_without_a_database_there_is_no_job(client: TestClient) -> None:
    assert client.get(f"{API}/jobs").json() == {"jobs": [], "total": 0}
    assert client.get(f"{API}/jobs/last").status_code == 404
    assert client.post(f"{API}/jobs", json={"source": "/"}).status_code in (409, 422)
    assert client.get("/results").status_code == 200


def test_a_replay_has_its_points_and_is_compared_with_replays_only(tmp_path: Path) -> None:
    write_result(result(), tmp_path / "results" / "run-a")
    results = pytest.importorskip("replay_results")
    made = results.result(results.point(4, 990.0))
    for name in ("replay-b", "replay-c"):
        write_result(made, tmp_path / "results" / name)
    (tmp_path / "results" / "replay-b" / "report.html").write_text("<!doctype html><title>report</title>")
    client = _client(tmp_path)
    listed = client.get(f"{API}/results").json()
    assert {row["run"]: (row["workload"], row["kind"]) for row in listed["results"]} == {
        "run-a": ("discovery", "scale-up"), "replay-b": ("replay", "sweep"), "replay-c": ("replay", "sweep"),
    }  # fmt: skip
    assert listed["unreadable"] == {}
    shown = client.get(f"{API}/results/replay-b").json()
    (point,) = shown["points_measured"]
    assert (shown["verdict"], shown["points"], point["at"]["clients"]) == (made.verdict, 1, 4)
    assert point["figures"]["calls_per_second"]["median"] == 990.0
    page = client.get("/results/replay-b").text
    assert "files/report.html" in page
    assert 'value="replay-c"' in page
    assert 'value="run-a"' not in page
    assert re.search(r'data-name="response p99">[\d.]+ [µm]?s<', page)
    compared = client.get("/compare", params={"run": ["replay-b", "replay-c"], "force": "1"})
    assert compared.status_code == 200
    assert "fewer than 5 repeats, or a zero: no statement" in compared.text
    refused = client.get("/compare", params={"run": ["replay-b", "run-a"], "force": "1"})
    assert refused.status_code == 409
    assert "of workload discovery" in refused.text


def test_what_the_servers_user_may_not_read_is_one_line(tmp_path: Path) -> None:
    """Results of an experiment that root ran before they were given away: never a bug (500), but what to do."""
    if os.geteuid() != 0:
        pytest.skip("only root can make what another may not read")
    for directory in (tmp_path, *tmp_path.parents):
        if directory == Path(tempfile.gettempdir()):
            break
        directory.chmod(0o755)
    for name in ("one", "two", "closed"):
        directory = tmp_path / "results" / name
        write_result(result(), directory)
        (directory / "raw").mkdir()
        (directory / "raw" / "study.json").write_text("{}")
        seal(directory)
        (directory / "raw").chmod(0o700)
    (tmp_path / "results" / "closed").chmod(0o700)
    client = _client(tmp_path)
    os.seteuid(65_534)
    try:
        listed = client.get(f"{API}/results").json()
        compared = client.get(f"{API}/compare", params={"run": ["one", "two"], "force": "1"})
        closed = client.get(f"{API}/results/closed")
        page = client.get("/compare", params={"run": ["one", "closed"]})
    finally:
        os.seteuid(0)
    assert list(listed["unreadable"]) == ["closed"]
    assert "Permission denied" in listed["unreadable"]["closed"]
    assert any("raw/study.json: permission denied" in line for line in compared.json()["differences"])
    assert closed.status_code == 409
    assert "Permission denied" in closed.json()["error"]
    assert page.status_code < 500
    assert "Permission denied" in page.text


CODE = "a-code"


@pytest.mark.parametrize(
    ("text", "url", "loopback"),
    [
        ("127.0.0.1:8080", "http://127.0.0.1:8080/", True),
        ("127.1.2.3:80", "http://127.1.2.3:80/", True),
        ("[::1]:8080", "http://[::1]:8080/", True),
        ("localhost:8081", "http://localhost:8081/", True),
        ("127.0.0.1:", "http://$(docker compose port controller 8080)/", True),
        ("0.0.0.0:8080", "http://SERVER:8080/", False),
        ("[::]:8080", "http://SERVER:8080/", False),
        ("10.0.0.5:8080", "http://10.0.0.5:8080/", False),
        ("localhost.example.org:8080", "http://localhost.example.org:8080/", False),
        ("127.0.0.1.example.org:8080", "http://127.0.0.1.example.org:8080/", False),
    ],
)
def test_a_link_is_printed_for_a_port_on_loopback_alone(text: str, url: str, loopback: bool, tmp_path: Path) -> None:
    """Elsewhere it would cross the network as plain text: there the lines have no code, and the command that asks for one is refused."""
    web = published({WEB: text}, WEB)
    assert (web.url, web.loopback) == (url, loopback)
    lines = "\n".join(start_lines(web, None, CODE, tmp_path))
    assert (CODE in lines) is loopback
    if loopback:
        web.refuse_link()
        assert web.sign_in(CODE) == f"{url}login#code={CODE}"
    else:
        with pytest.raises(UsageError, match="token --api"):
            web.refuse_link()


def test_the_controller_prints_four_lines(tmp_path: Path) -> None:
    env = {WEB: "127.0.0.1:8080", GRAFANA: "127.0.0.1:3000"}
    web, grafana = published(env, WEB), published(env, GRAFANA)
    assert web is not None
    link, another, dashboards, storage = start_lines(web, grafana, CODE, tmp_path)
    assert link.endswith("http://127.0.0.1:8080/login#code=a-code")
    assert "docker compose exec controller edbench token" in another
    assert "ssh -L 8080:127.0.0.1:8080 -L 3000:127.0.0.1:3000 SERVER" in another
    assert "http://127.0.0.1:3000/" in dashboards
    assert "token --grafana" in dashboards
    assert str(tmp_path) in storage
    assert "GB free, writable as user" in storage
    assert headless_line(published({WEB: "127.0.0.1:"}, WEB)) == ""


@pytest.mark.parametrize("text", ["8080", ":8080", "127.0.0.1:http", "127.0.0.1:٣"])
def test_an_address_that_is_none_is_refused_and_none_is_set_outside_of_containers(text: str) -> None:
    assert published({}, WEB) is None
    with pytest.raises(UsageError, match=WEB):
        published({WEB: text}, WEB)


PATIENCE = 300.0


class Work:
    """Stands for following jobs: each run waits until it may end, or until its workers tell it to stop."""

    def __init__(self) -> None:
        self.settings: list[Settings] = []
        self.begun = threading.Semaphore(0)
        self.may_end = threading.Semaphore(0)
        self.fault: Exception | None = None
        self.until: Callable[[Tended], None] = lambda workers: None

    def __call__(
        self, handles: Sequence[JobHandle], settings: Settings, workers: AbstractContextManager[Tended], *rest: Any
    ) -> None:
        self.settings.append(settings)
        self.begun.release()
        with workers as tended:
            self.until(tended)
        assert self.may_end.acquire(timeout=PATIENCE)
        if self.fault is not None:
            raise self.fault


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Instead of following a job in its database."""
    made = Work()
    monkeypatch.setattr(web.runs, "run_all_to_rest", made)
    return made


@pytest.fixture
def runner() -> EmbeddedRunner:
    """With room for eight slots."""
    return EmbeddedRunner(Settings(), {}, SystemClock(), room=8)


def _job() -> JobHandle:
    return JobHandle(Database("db1", "postgresql+psycopg2://u@h/db1"), running_job())


def _begin(runner: EmbeddedRunner, work: Work, workers: int = 1, slots: int = 2) -> JobHandle:
    handle = _job()
    runner.refuse(workers, slots, "none")
    runner.start(alone(handle), workers=workers, slots=slots)
    assert work.begun.acquire(timeout=PATIENCE)
    return handle


def _ended(runner: EmbeddedRunner) -> None:
    for thread in threading.enumerate():
        if thread.name.startswith("job "):
            thread.join(PATIENCE)


def test_jobs_share_workers_of_one_kind_while_there_is_room(runner: EmbeddedRunner, work: Work) -> None:
    _begin(runner, work)
    _begin(runner, work, workers=2)
    assert runner.room() == 8 - 3 * 2
    for order, field in (((1, 3, "none"), "slots"), ((1, 2, "titan"), "filer"), ((2, 2, "none"), "workers")):
        with pytest.raises(FieldErrors) as raised:
            runner.refuse(*order)
        assert list(raised.value.errors) == [field]
    work.may_end.release(2)
    _ended(runner)
    assert runner.room() == 8
    runner.refuse(2, 4, "titan")


def test_room_is_kept_for_a_job_that_is_being_made(runner: EmbeddedRunner, work: Work) -> None:
    """Of two that are made at once the second is refused at its field, as beside one that runs; afterwards it is not."""
    with runner.reserved(2, 3, "none"):
        assert runner.room() == 2
        for order, field in (((1, 2, "none"), "slots"), ((1, 3, "titan"), "filer"), ((1, 3, "none"), "workers")):
            with pytest.raises(FieldErrors) as raised, runner.reserved(*order):
                pass
            assert list(raised.value.errors) == [field]
        runner.start(alone(_job()), workers=2, slots=3)
    assert work.begun.acquire(timeout=PATIENCE)
    assert runner.room() == 2
    work.may_end.release()
    _ended(runner)
    with runner.reserved(2, 4, "titan"):
        assert runner.room() == 0


def test_what_goes_wrong_is_kept_until_the_job_is_started_again(runner: EmbeddedRunner, work: Work) -> None:
    """One line, for the job's row; a bug of ours has its type in it."""
    for fault, line in (
        (SystemFault("w1 ended\n5 times"), "w1 ended 5 times"),
        (KeyError("x"), "internal error: KeyError"),
    ):
        work.fault = fault
        handle = _begin(runner, work)
        work.may_end.release()
        _ended(runner)
        assert (runner.problem(handle.id) or "").startswith(line)
        assert not runner.tends(handle.id)
        work.fault = None
        runner.start(alone(handle), workers=1, slots=2)
        assert runner.problem(handle.id) is None
        assert work.begun.acquire(timeout=PATIENCE)
        work.may_end.release()
        _ended(runner)


def test_a_job_resumed_while_it_comes_to_rest_continues(runner: EmbeddedRunner, work: Work) -> None:
    handle = _begin(runner, work)
    runner.start(alone(handle), workers=1, slots=2)
    work.may_end.release()
    assert work.begun.acquire(timeout=PATIENCE)
    assert runner.tends(handle.id)
    work.may_end.release()
    _ended(runner)
    assert len(work.settings) == 2
    assert not runner.tends(handle.id)


def test_stopping_interrupts_every_run(runner: EmbeddedRunner, work: Work) -> None:
    reported = threading.Semaphore(0)

    def look(workers: Tended) -> None:
        try:
            while True:
                if stopping.wait(0.001):
                    workers.check()
        except KeyboardInterrupt:
            reported.release()

    stopping = threading.Event()
    work.until = look
    handles = [_begin(runner, work) for _ in range(2)]
    work.may_end.release(2)
    ending = threading.Thread(target=runner.stop)
    ending.start()
    until(lambda: all(run.stop.is_set() for run in list(runner._runs.values())), "the runs are told")
    stopping.set()
    ending.join(PATIENCE)
    assert reported.acquire(timeout=PATIENCE)
    assert reported.acquire(timeout=PATIENCE)
    assert not any(runner.tends(handle.id) for handle in handles)
