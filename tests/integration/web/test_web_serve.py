"""`edbench serve` as a person uses it: a job from the page, Ctrl-C in the middle, and going on."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from installation import COMMAND_SECONDS, Bench, until
from PIL import Image
from profile_runs import need_fio

from controller.custody.actions import operator

pytestmark = pytest.mark.services

TOKEN = "a token for the tests of serve"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def bench(open_dir: Path, small_corpus: Path, empty_scratch: Path) -> Iterator[Bench]:
    """An installation of this test's own that may read the corpus."""
    home = open_dir / "served place"
    home.mkdir()
    home.chmod(0o711)
    env = {"EDBENCH_CORPORA": str(small_corpus), "EDBENCH_TOKEN": TOKEN}
    yield Bench(home, small_corpus, env, furniture=empty_scratch)
    shutil.rmtree(home, ignore_errors=True)


def _served(bench: Bench) -> tuple[subprocess.Popen[str], httpx.Client]:
    process = bench.start_afresh("serve", "--port", "0")
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:"), bench.end(process, None)
    client = httpx.Client(base_url=f"{address}api/v1", headers=HEADERS, timeout=COMMAND_SECONDS)
    until(lambda: client.get("/health").status_code == 200, "the page answers")
    return process, client


def _stop(bench: Bench, process: subprocess.Popen[str], number: int) -> str:
    process.send_signal(number)
    return bench.end(process)


def _events(client: httpx.Client, job: str) -> Iterator[tuple[str, Any]]:
    with client.stream("GET", f"/jobs/{job}/events", timeout=COMMAND_SECONDS) as answer:
        name = ""
        for line in answer.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield name, json.loads(line.removeprefix("data: "))


def test_a_job_from_the_page_survives_ctrl_c(bench: Bench) -> None:
    """It is paused, nothing is left running, and another server resumes it to the same end as any job."""
    hold = bench.furnish().hold("index", 0)
    process, client = _served(bench)
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
    process, client = _served(bench)
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
    out = bench.storage / "productions" / "first"
    out.parent.mkdir()
    crew = {"workers": 1, "slots": 2}
    _pages_from_the_api(client, out.parent / "pages", crew)
    asked = {"type": "export", "sources": ["last"], "out": str(out), "prefix": "WEB", "trace": True}
    order = asked | crew
    made = client.post("/productions", json=order)
    assert made.headers["Location"].endswith(made.json()["id"])
    assert dict(_events(client, made.json()["id"]))["end"]["state"].startswith("completed")
    export = client.get(f"/jobs/{made.json()['id']}").json()
    assert (export["type"], export["sources"], "requeue" in export["allowed"]) == ("export", [job], False)
    panels = client.get(f"/jobs/{export['id']}/timeline").json()["panels"]
    (volumes,) = (panel["series"] for panel in panels if panel["id"] == "gb_per_hour")
    assert [series["label"] for series in volumes] == ["written, now", "written, since start"]
    assert list((out / "VOL001" / "TEXT" / "0001").glob("WEB*.txt"))
    until(lambda: client.get("/traces").json()["traces"], "its trace is made")
    (trace,) = client.get("/traces").json()["traces"]
    assert (trace["job"], trace["type"], trace["bytes"] > 1_000) == (made.json()["id"], "export", True)
    assert client.post("/productions", json=order).json()["errors"].keys() == {"out"}  # it is that job's
    (out / "VOL123").mkdir()  # somebody else's
    deleted = client.delete(f"/jobs/{made.json()['id']}")
    assert (deleted.status_code, "which stay: VOL123" in deleted.json()["left"][0]) == (200, True)
    assert list(out.iterdir()) == [out / "VOL123"]
    assert bench.edbench("verify", "last").returncode == 0
    assert client.delete(f"/jobs/{job[:8]}").json() == {"left": []}
    assert client.get("/jobs").json()["total"] == 0
    if shutil.which("fio") is not None:
        _measured_from_the_api(client)
    _stop(bench, process, signal.SIGTERM)
    until(lambda: not bench.leftovers(), "everything is gone")
    need_fio()


def _pages_from_the_api(client: httpx.Client, out: Path, crew: dict[str, int]) -> None:
    """A processing job of the messages alone; as many colour pictures as its Opticon file says."""
    asked = {"type": "processing", "sources": ["last"], "out": str(out), "image_format": "jpeg", "dpi": 72}
    made = client.post("/productions", json=asked | crew | {"query": "type:message AND size:<4kB", "no_families": True})
    assert made.status_code == 201, made.text
    job = made.json()["id"]
    assert dict(_events(client, job))["end"]["state"].startswith("completed")
    pages = sorted(out.glob("VOL001/IMAGES/*/*.jpg"))
    told = (out / "loadfile.opt").read_text().splitlines()
    assert [path.stem for path in pages] == [line.partition(",")[0] for line in told]
    with Image.open(pages[0]) as page:
        assert (page.format, page.mode, page.width < 700) == ("JPEG", "RGB", True)
    assert client.delete(f"/jobs/{job}").json() == {"left": []}


def _measured_from_the_api(client: httpx.Client) -> None:
    """A small profile, as a child of the server; its result is among the results."""
    begun = client.post("/measurements/profile", json={"profile": "self-check", "small": True})
    assert begun.status_code == 201, begun.text
    place = begun.headers["Location"].removeprefix("/api/v1")
    until(lambda: client.get(place).json()["ended"], "it is over")
    measured = client.get(place).json()
    assert measured["state"] == "completed", client.get(f"{place}/log").text
    assert client.get("/results/" + measured["result"]).status_code == 200


def test_what_cannot_be_served_is_one_line(bench: Bench) -> None:
    """Before anything is started."""
    bench.env["EDBENCH_TOKEN"] = "short"
    done = bench.edbench("serve", "--host", "0.0.0.0", check=2)
    assert "EDBENCH_TOKEN" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not bench.scratch.exists()
