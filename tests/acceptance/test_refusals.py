"""What cannot work is refused before anything starts, with one line that says what to do; commands beside each other."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from installation import Bench

Refused = tuple[int, str]


def _refused(bench: Bench, *arguments: str) -> Refused:
    """Exit status and the one line."""
    done = bench.ask(*arguments, check=None)
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.returncode, done.stderr


def _source(bench: Bench) -> Path:
    source = bench.home / "source"
    (source / "ann").mkdir(parents=True)
    (source / "ann" / "a.txt").write_text("sesame")
    return source


def test_a_source_that_is_a_file(bench: Bench) -> None:
    file = bench.home / "mail.mbox"
    file.write_text("x")
    status, line = _refused(bench, "discover", str(file))
    assert (status, "is not a directory; give" in line) == (2, True), line
    assert not (bench.scratch / "logs").exists()


@pytest.mark.parametrize(("variable", "role"), [("EDBENCH_STORAGE", "storage"), ("EDBENCH_SCRATCH", "scratch")])
def test_a_place_that_cannot_be_written(bench: Bench, variable: str, role: str) -> None:
    """`discover` names the place and says what to do; `doctor` finds it beforehand."""
    source = _source(bench)
    file = bench.home / "a file"
    file.write_text("x")
    places = [file]
    if os.access("/proc/self", os.F_OK):
        places.append(Path("/proc/edbench"))  # not even root may make it
    for place in places:
        bench.env[variable] = str(place)
        status, line = _refused(bench, "discover", str(source), "--workers", "1")
        assert status in (1, 2), line
        assert str(place) in line, line
        assert ";" in line, f"it does not say what to do: {line}"
        found = json.loads(bench.ask("doctor", "-o", "json", check=1).stdout)
        bad = [f for f in found if f["level"] == "bad" and f["what"].startswith(role)]
        assert bad, found
        assert all(f["fix"] for f in bad), bad


def test_two_jobs_at_once_in_one_installation(bench: Bench) -> None:
    """The second command attaches to the first one's services; both jobs end well, and nothing is left."""
    source = _source(bench.furnish())
    first = bench.start(
        "discover",
        str(source),
        "--workers",
        "1",
        "--slots",
        "2",
        "-o",
        "json",
        "--output-file",
        str(bench.home / "1.json"),
    )
    second = bench.start(
        "discover",
        str(source),
        "--workers",
        "1",
        "--slots",
        "2",
        "-o",
        "json",
        "--output-file",
        str(bench.home / "2.json"),
    )
    said = [bench.end(process) for process in (first, second)]
    with bench.attached():
        for number, out in enumerate(said, 1):
            job = out.splitlines()[-1].strip()
            result = json.loads((bench.home / f"{number}.json").read_text())
            assert (result["job_id"], result["state"], result["items"]) == (job, "completed", 1)
            bench.ask("verify", job, "--internal")
