"""A measurement beside what the server does for others: it does not begin while that goes on."""

import dataclasses
import importlib
import json
import os
import shutil
import signal
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from commands import Command
from debian_programs import program
from installation import COMMAND_SECONDS, PATIENCE, Bench, until

from cli.main import main
from controller.custody import operator
from core.errors import UsageError
from core.records import JobState
from core.settings import DatabaseAddress, Settings
from sql.session import Database
from web.__main__ import page
from web.api import measure
from web.background import BackgroundTasks, Measurement, Measurements

API = "/api/v1"
PROFILE = {"profile": "self-check", "small": True}


class Noted(Measurements):
    """Measures nothing: what would begin is over at once."""

    def start(self, kind: str, words: Sequence[str]) -> Measurement:
        now = datetime.now(UTC)
        return Measurement(id=uuid.uuid4(), kind=kind, command=list(words), who="test", begun=now, ended=now)


@pytest.fixture
def measuring(make_site: Any) -> Any:
    """A server that can measure."""
    site = make_site(embedded=True)
    context = site.app.state.context
    measurements = Noted(context.settings, dict(os.environ))
    site.app.state.context = dataclasses.replace(context, measurements=measurements)
    return site


def _measure(site: Any) -> Any:
    pytest.importorskip("storage_tests")
    program("fio", "fio")
    return site.client.post(f"{API}/measurements/profile", json=PROFILE)


@pytest.mark.parametrize(
    ("done_by", "path", "body"),
    [
        ("web.api.actions.create_discovery", "jobs", {}),
        ("production.routes.create_production", "productions", {"type": "export", "sources": ["last"]}),
        ("web.api.named.tag_found", "jobs/last/tags", {"tag": "hot", "query": "the"}),
        ("web.api.actions.resume_all", "jobs/last/resume", None),
        ("web.api.actions.requeue_exceptions", "jobs/last/requeue", None),
        ("web.background.BackgroundTasks.start", "jobs/last/duplicates", {}),
    ],
)
def test_no_measurement_begins_meanwhile(
    measuring: Any, monkeypatch: pytest.MonkeyPatch, done_by: str, path: str, body: Any
) -> None:
    """A job that is being created has no row yet, and a tag never has one: both would be in the figures."""
    asked: list[Any] = []

    def meanwhile(*_: Any, **__: Any) -> None:
        asked.append(_measure(measuring))
        raise UsageError("enough")

    if path == "jobs":
        source = measuring.copy.settings.storage.parent / "evidence"
        source.mkdir()
        (source / "a.txt").write_text("a")
        body = {"source": str(source)}
    if path == "productions":
        body = body | {"out": f"{measuring.copy.settings.storage}/production"}
    above, name = done_by.rsplit(".", 1)
    monkeypatch.setattr(
        BackgroundTasks if above == "web.background.BackgroundTasks" else importlib.import_module(above),
        name,
        meanwhile,
    )
    assert "enough" in measuring.client.post(f"{API}/{path}", json=body).json()["error"]
    (refused,) = asked
    assert refused.status_code == 409
    assert "it would distort the measurement" in refused.json()["error"]
    assert _measure(measuring).status_code == 201


def test_an_old_job_that_runs_is_seen(measuring: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many were made since."""
    old = uuid.uuid4()
    states = [(uuid.uuid4(), JobState.COMPLETED)] * 150 + [(old, JobState.RUNNING)]
    jobs = [(None, SimpleNamespace(job=SimpleNamespace(id=job, state=state))) for job, state in states]
    monkeypatch.setattr(measure, "newest_jobs", lambda databases, limit: jobs[:limit])
    refused = _measure(measuring)
    assert (refused.status_code, f"job {old} is running" in refused.json()["error"]) == (409, True)


TOKEN = "a token for the tests of the container"


def test_the_containers_page_wants_the_token(database: Database, services: Settings) -> None:
    own = (DatabaseAddress(name="db1", url=database.url),)
    settings = Settings(databases=own, broker=services.broker, storage=services.storage)
    with page(settings, {"EDBENCH_TOKEN": TOKEN}, port=0) as address:
        here = address.replace("0.0.0.0", "127.0.0.1")
        headers = {"Authorization": f"Bearer {TOKEN}", "Host": "controller.example"}
        assert httpx.get(f"{here}api/v1/jobs", timeout=PATIENCE).status_code == 401
        assert httpx.get(f"{here}api/v1/jobs", headers=headers, timeout=PATIENCE).json() == {"jobs": [], "total": 0}
        choices = httpx.get(f"{here}api/v1/choices", headers=headers, timeout=PATIENCE).json()
        assert (choices["embedded"], choices["creating"], choices["workers"]) == (False, True, 0)
        order = {"source": "/", "workers": 2}
        refused = httpx.post(f"{here}api/v1/jobs", headers=headers, json=order, timeout=PATIENCE)
        assert list(refused.json()["errors"]) == ["workers"]
        form = httpx.get(f"{here}measure", headers=headers, timeout=PATIENCE).text
        assert all(f'name="{name}"' in form for name in ("workers", "slots", "repeats", "filer"))
        assert "nas-1g" in form
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{here}api/v1/jobs", timeout=PATIENCE)


def test_links_that_sign_in(
    database: Database,
    services: Settings,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first is in the log, `edbench token` prints more; each signs in once. A session creates none, and there are none for a
    port that other machines reach."""
    own = (DatabaseAddress(name="db1", url=database.url),)
    settings = Settings(databases=own, broker=services.broker, storage=tmp_path)
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "grafana").write_text("grafana's password\n")
    env = {
        "EDBENCH_TOKEN_FILE": str(tmp_path / "token"),
        "EDBENCH_WEB_ADDRESS": "127.0.0.1:8080",
        "EDBENCH_GRAFANA_ADDRESS": "127.0.0.1:3000",
    }

    def used(link: str, here: str) -> httpx.Response:
        place, _, code = link.partition("#code=")
        assert place == "http://127.0.0.1:8080/login"
        return httpx.post(f"{here}login", data={"code": code}, timeout=PATIENCE)

    with page(settings, env, port=0) as address:
        here = address.replace("0.0.0.0", "127.0.0.1")
        monkeypatch.setattr("web.__main__.PORT", int(here.rstrip("/").rpartition(":")[2]))
        log = capsys.readouterr().out.splitlines()
        assert len(log) == 4
        assert "/login?failed" in used("http://127.0.0.1:8080/login#code=guessed", here).headers["location"]
        signed_in = used(log[0].rpartition(" ")[2], here)
        assert signed_in.headers["location"] == "/"
        assert "failed=code" in used(log[0].rpartition(" ")[2], here).headers["location"]
        form = httpx.get(f"{here}login?failed=code", timeout=PATIENCE).text
        assert "docker compose exec controller edbench token" in form
        session = httpx.post(f"{here}api/v1/sign-in-links", cookies=signed_in.cookies, timeout=PATIENCE)
        assert session.status_code == 409
        assert main(["token", "-o", "json"], env) == 0
        out, err = capsys.readouterr()
        assert "ssh -L 8080:" in err
        assert used(json.loads(out)["url"], here).headers["location"] == "/"
        assert main(["token", "--grafana"], env) == 0
        assert capsys.readouterr().out.split("\n") == [
            "http://127.0.0.1:3000/",
            "user admin",
            "password grafana's password",
            "",
        ]
        assert main(["token", "--api"], env) == 0
        assert capsys.readouterr().out == f"{TOKEN}\n"
        assert main(["token"], {}) == 2
        assert "docker compose exec controller edbench token" in capsys.readouterr().err
    env["EDBENCH_WEB_ADDRESS"] = "0.0.0.0:8080"
    with page(settings, env, port=0) as address:
        assert "code=" not in capsys.readouterr().out
        here = address.replace("0.0.0.0", "127.0.0.1")
        asked = httpx.post(
            f"{here}api/v1/sign-in-links", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=PATIENCE
        )
        assert asked.status_code == 409
        assert "not on loopback" in asked.json()["error"]


def test_without_a_token_there_is_no_page(services: Settings) -> None:
    with pytest.raises(UsageError, match="EDBENCH_TOKEN"), page(services, {}, port=0):
        pass


SERVE_TOKEN = "a token for the tests of serve"
HEADERS = {"Authorization": f"Bearer {SERVE_TOKEN}"}


@pytest.fixture
def bench(open_dir: Path, small_corpus: Path, empty_scratch: Path) -> Iterator[Bench]:
    """An installation of this test's own that may read the corpus."""
    home = open_dir / "served place"
    home.mkdir()
    home.chmod(0o711)
    env = {"EDBENCH_CORPORA": str(small_corpus), "EDBENCH_TOKEN": SERVE_TOKEN}
    yield Bench(home, small_corpus, env, furniture=empty_scratch)
    shutil.rmtree(home, ignore_errors=True)


def _connected(address: str) -> httpx.Client:
    assert address.startswith("http://127.0.0.1:")
    client = httpx.Client(base_url=f"{address}api/v1", headers=HEADERS, timeout=COMMAND_SECONDS)
    until(lambda: client.get("/health").status_code == 200, "the page answers")
    return client


def _events(client: httpx.Client, job: str) -> Iterator[tuple[str, Any]]:
    with client.stream("GET", f"/jobs/{job}/events", timeout=COMMAND_SECONDS) as answer:
        name = ""
        for line in answer.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield name, json.loads(line.removeprefix("data: "))


def test_a_job_from_the_page_survives_ctrl_c(bench: Bench) -> None:
    """The first server and its crew begin afresh, as a user's do."""
    hold = bench.furnish().hold("index", 0)
    process = bench.start_afresh("serve", "--port", "0")
    assert process.stdout is not None
    client = _connected(process.stdout.readline().strip())
    (corpus,) = client.get("/corpora").json()["corpora"]
    order = {"corpus": corpus["id"], "workers": 1, "slots": 2, "name": "from the page"}
    job = client.post("/jobs", json=order).json()["id"]
    assert client.post("/jobs", json=order | {"slots": 3}).json()["errors"].keys() == {"slots"}
    assert client.post("/jobs", json=order | {"workers": 500}).json()["errors"].keys() == {"workers"}
    next(row for name, row in _events(client, job) if name == "job" and row["items"])
    hold.until_reached(process)
    process.send_signal(signal.SIGINT)
    bench.until_pausing()
    hold.let_go()
    assert "stopping" in bench.end(process)
    until(lambda: not bench.leftovers(), "everything is gone")
    again = bench.start("serve", "--port", "0")
    assert isinstance(again, Command)
    client = _connected(until(again.first_line, "it prints its address"))
    paused = client.get(f"/jobs/{job}").json()
    assert (paused["state"], paused["problem"]) == ("paused", None)
    assert "resume" in paused["allowed"]
    assert client.post("/jobs/last/resume").json() == {"id": job, "state": "running"}
    seen = dict(_events(client, job))
    assert seen["end"] == {"state": "completed_with_exceptions"}
    acted = [(one["action"], one["who"]) for one in client.get(f"/jobs/{job}/actions").json()["actions"]]
    caller = "web UI at 127.0.0.1"
    assert acted == [("created", caller), ("pause", operator()), ("resume", caller)]  # Ctrl-C is a pause, too
    ended = client.get(f"/jobs/{job}").json()
    assert ended["name"] == "from the page"
    truth = json.loads((bench.corpus / "dataset.json").read_text())
    assert ended["items"] == truth["items"]
    assert bench.edbench("verify", "last").returncode == 0
    assert client.delete(f"/jobs/{job[:8]}").json() == {"left": []}
    assert client.get("/jobs").json()["total"] == 0
    again.terminate()
    bench.end(again)
    until(lambda: not bench.leftovers(), "everything is gone")


def test_what_cannot_be_served_is_one_line(bench: Bench) -> None:
    bench.env["EDBENCH_TOKEN"] = "short"
    done = bench.edbench("serve", "--host", "0.0.0.0", check=2)
    assert "EDBENCH_TOKEN" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not bench.scratch.exists()
