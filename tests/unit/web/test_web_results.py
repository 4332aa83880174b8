"""Results are found by listing; nothing that is not listed is read."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from pathlib import Path

import pytest
import replay_results
from fastapi.testclient import TestClient
from report_results import result

from core.settings import Settings
from experiments.package.manifest import seal
from experiments.result.codec import write_result
from experiments.workloads.discovery.result import Result
from web.app import create_app
from web.context import WebContext
from web.door import Door
from web.guests import BesideCommand

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


@pytest.fixture(scope="module")
def client(root: Path, runs: dict[str, Result]) -> TestClient:
    """An application without a database, as between two runs of an experiment."""
    context = WebContext(
        settings=Settings(storage=root), databases=(), embedded=True, runner=BesideCommand(), door=Door(TOKEN)
    )
    return TestClient(create_app(context), base_url="http://localhost", raise_server_exceptions=False, headers=HEADERS)


def test_the_list_says_what_can_be_read_and_what_cannot(client: TestClient, runs: dict[str, Result]) -> None:
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
    answer = client.get(f"{API}/compare", params={"run": ["run-a", "run b é"]}).json()
    assert len(answer["points"]) == len(runs["run-a"].points)
    assert all(len(point["cells"]) == 2 for point in answer["points"])
    assert len(answer["unchecked"]) == 2  # results alone, without what was observed
    assert "UNCHECKED" in client.get("/compare", params={"run": ["run-a", "run b é"]}).text
    assert client.get(f"{API}/compare", params={"run": ["run-a"]}).status_code == 422
    assert client.get(f"{API}/compare", params={"run": ["run-a", "../x"]}).status_code == 404


def test_without_a_database_there_is_no_job(client: TestClient) -> None:
    assert client.get(f"{API}/jobs").json() == {"jobs": [], "total": 0}
    assert client.get(f"{API}/jobs/last").status_code == 404
    assert client.post(f"{API}/jobs", json={"source": "/"}).status_code in (409, 422)
    assert client.get("/results").status_code == 200


def test_a_replay_has_its_points_and_is_compared_with_replays_only(tmp_path: Path) -> None:
    write_result(result(), tmp_path / "results" / "run-a")
    made = replay_results.result(replay_results.point(4, 990.0))
    for name in ("replay-b", "replay-c"):
        write_result(made, tmp_path / "results" / name)
    (tmp_path / "results" / "replay-b" / "report.html").write_text("<!doctype html><title>report</title>")
    context = WebContext(
        settings=Settings(storage=tmp_path), databases=(), embedded=True, runner=BesideCommand(), door=Door(TOKEN)
    )
    client = TestClient(
        create_app(context), base_url="http://localhost", raise_server_exceptions=False, headers=HEADERS
    )
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
    assert "response p99, µs" in page
    compared = client.get("/compare", params={"run": ["replay-b", "replay-c"]})
    assert compared.status_code == 200
    assert "fewer than 5 repeats: no statement" in compared.text
    refused = client.get("/compare", params={"run": ["replay-b", "run-a"], "force": "1"})
    assert refused.status_code == 409
    assert "of a discovery" in refused.text


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
    context = WebContext(
        settings=Settings(storage=tmp_path), databases=(), embedded=True, runner=BesideCommand(), door=Door(TOKEN)
    )
    client = TestClient(
        create_app(context), base_url="http://localhost", raise_server_exceptions=False, headers=HEADERS
    )
    os.seteuid(65_534)
    try:
        listed = client.get(f"{API}/results").json()
        compared = client.get(f"{API}/compare", params={"run": ["one", "two"]})
        closed = client.get(f"{API}/results/closed")
        page = client.get("/compare", params={"run": ["one", "closed"]})
    finally:
        os.seteuid(0)
    assert list(listed["unreadable"]) == ["closed"]
    assert "Permission denied" in listed["unreadable"]["closed"]
    assert any("raw/study.json: permission denied" in line for line in compared.json()["unchecked"])
    assert closed.status_code == 409
    assert "Permission denied" in closed.json()["error"]
    assert page.status_code < 500
    assert "Permission denied" in page.text
