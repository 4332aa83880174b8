"""The commands as a person types them, each a process of its own, with services that come and go."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from installation import COMMAND_SECONDS, Hold, until

from core.services import embedded_services
from core.settings import Settings
from dataset_gen.corpus import generate_corpus

pytestmark = pytest.mark.services

REPOSITORY = Path(__file__).parents[3]
PLUGINS = REPOSITORY / "tests" / "support" / "plugins"


class Place:
    """A directory with a corpus, and the commands run in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._env = {key: value for key, value in os.environ.items() if not key.startswith("EDBENCH_")}
        self._env["PYTHONPATH"] = os.pathsep.join(map(str, (REPOSITORY, PLUGINS)))

    def start(self, *argv: str) -> subprocess.Popen[str]:
        """The command in a session of its own, as a terminal's foreground job is."""
        return subprocess.Popen(
            [sys.executable, "-m", "cli.main", *argv],
            cwd=self.directory,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *argv: str, status: int = 0) -> str:
        """The command's standard output; its exit status has to be `status`."""
        return self.end(self.start(*argv), status)[0]

    def end(self, process: subprocess.Popen[str], status: int = 0) -> tuple[str, str]:
        """Wait for a command's end; its standard output and standard error. Its exit status has to be `status`."""
        out, err = process.communicate(timeout=COMMAND_SECONDS)
        assert process.returncode == status, (process.args, out, err)
        return out, err

    def discover_held(self, corpus: Path) -> tuple[subprocess.Popen[str], Hold]:
        """A job that is in the middle of expand, and stays there."""
        hold = Hold(self.directory / "hold", "expand")
        hold.directory.mkdir()
        hold.after(1)
        self._env["EDBENCH_PLUGINS"] = "hold_plugin"
        process = self.start("discover", str(corpus), "--workers", "1", "--slots", "1")
        hold.until_reached(process)
        return process, hold

    def state(self) -> str:
        """Of the newest job, while its services run."""
        (job,) = json.loads(self.run("jobs", "--json"))
        return str(job["state"])

    def left_running(self) -> list[str]:
        """Processes that work in this directory's scratch."""
        mark = str(self.directory / ".edbench")
        found = []
        for process in psutil.process_iter(["cmdline"]):
            line = " ".join(process.info["cmdline"] or ())
            if mark in line and process.pid != os.getpid():
                found.append(line)
        return found


@pytest.fixture(scope="module")
def corpus(open_dir: Path) -> Path:
    """A corpus in a path with a space."""
    directory = open_dir / "cli corpus" / "c"
    generate_corpus(directory, "reference", 0.0003, 5, 1, lambda done, total: None)
    return directory


@pytest.fixture
def place(open_dir: Path, corpus: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    """A fresh place to work in, beside the corpus."""
    directory = open_dir / f"place {request.node.name[:20]}"
    directory.mkdir()
    directory.chmod(0o711)
    yield Place(directory)
    shutil.rmtree(directory, ignore_errors=True)


def test_from_corpus_to_deleted_job(place: Place, corpus: Path) -> None:
    """discover, verify, search, items, job, jobs and delete work one after another, and leave nothing running."""
    out = place.run("discover", str(corpus), "--workers", "1", "--slots", "2", "--single-pass", "--json", "r.json")
    job = out.splitlines()[-1]
    result = json.loads((place.directory / "r.json").read_text())
    truth = json.loads((corpus / "dataset.json").read_text())
    assert (result["job_id"], result["items"], result["passes"]) == (job, truth["items"], 1)
    assert place.left_running() == []
    settings = Settings(storage=place.directory / "edbench-storage", scratch=place.directory / ".edbench")
    with embedded_services(settings, slots=16):  # the commands attach, which is faster
        _look_at(place, job, truth)
        place.run("delete", job)
        assert json.loads(place.run("jobs", "--json")) == []
    assert not list((settings.storage / "jobs").iterdir())
    place.run("job", job, status=2)
    assert place.left_running() == []


def _look_at(place: Place, job: str, truth: dict[str, Any]) -> None:
    """Every command that shows something of a finished job."""
    assert "0 missing, 0 extra, 0 wrong" in place.run("verify", job[:8], "--json", "v.json")
    assert json.loads((place.directory / "v.json").read_text())["differences"] == 0
    lines = place.run("items", "last", "--jsonl").splitlines()
    assert len(lines) == truth["items"]
    assert len(list(csv.reader(io.StringIO(place.run("items", "last", "--csv"))))) == truth["items"] + 1
    mail = place.run("items", "last", "--jsonl", "--where", "date>1970", "--type", "message/rfc822").splitlines()
    assert 0 < len(mail) <= sum(json.loads(line)["media_type"] == "message/rfc822" for line in lines)
    assert all(line in lines for line in mail)
    name = json.loads(lines[0])["custodian"]
    assert json.loads(place.run("search", "last", f"custodian:{name.split('_')[0]}", "--json"))
    assert json.loads(place.run("job", "last", "--json"))["kinds"] == truth["kinds"]
    assert job in place.run("jobs")


def test_ctrl_c_pauses_and_resume_finishes_with_the_same_result(place: Place, corpus: Path) -> None:
    """Status 130, a job that is paused, nothing left running; resumed it is as if nothing had happened."""
    process, hold = place.discover_held(corpus)
    process.send_signal(signal.SIGINT)
    until(lambda: place.state() == "pausing", "the job is asked to pause")
    hold.let_go()
    out, err = place.end(process, 130)
    job = out.splitlines()[-1]
    assert f"edbench resume {job}" in err
    assert "Traceback" not in err
    assert place.left_running() == []
    assert json.loads(place.run("job", job, "--json"))["state"] == "paused"
    place.run("verify", job, status=2)
    assert place.run("resume", job).splitlines()[-1] == job
    place.run("verify", job)


def test_a_killed_command_leaves_a_job_that_resumes(place: Place, corpus: Path) -> None:
    """SIGKILL gives it no time to say anything: the services end by themselves and `resume` takes the job up."""
    process, hold = place.discover_held(corpus)
    process.kill()
    process.communicate(timeout=COMMAND_SECONDS)
    hold.let_go()
    until(lambda: place.left_running() == [], "nothing left running")
    place.run("resume", "last", "--workers", "1")
    place.run("verify", "last")


def test_pause_and_cancel_from_another_terminal(place: Place, corpus: Path) -> None:
    """`discover` ends by itself with status 0 and says what happened."""
    process, hold = place.discover_held(corpus)
    pause = place.start("pause", "last")
    until(lambda: place.state() == "pausing", "the job is asked to pause")
    hold.let_go()
    assert place.end(pause)[0].split()[1] == "paused"
    out, err = place.end(process)
    assert "was paused by another command" in err
    assert place.run("cancel", out.splitlines()[-1]).split()[1] == "cancelled"
    place.run("resume", "last", status=2)


def test_an_empty_directory_is_a_completed_job_with_zero_items(place: Place) -> None:
    """Nothing to do is done; without a manifest verify asks for --internal."""
    (place.directory / "empty").mkdir()
    place.run("discover", "empty", "--workers", "1", "--slots", "1", "--json", "r.json")
    result = json.loads((place.directory / "r.json").read_text())
    assert (result["state"], result["items"], result["exceptions"]) == ("completed", 0, {})
    place.run("verify", "last", status=2)
    assert "there was no manifest" in place.run("verify", "last", "--internal")
