"""What cannot work is refused before anything starts, with one line that says what to do; commands beside each other."""

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


@pytest.mark.parametrize(
    ("made", "options", "line"),
    [
        ("mail.mbox", ("mail.mbox",), "is not a directory; give"),
        ("", ("nowhere",), "nowhere"),
        ("bank.txt", ("source", "--passwords", "bank.txt"), "bank.txt: line 2 is not UTF-8; save the file as UTF-8\n"),
        ("bad.toml", ("source", "--filer", "bad.toml"), "metadata.servers is -1"),
    ],
)
def test_what_cannot_be_discovered(bench: Bench, made: str, options: tuple[str, ...], line: str) -> None:
    _source(bench)
    if made:
        (bench.home / made).write_bytes(b'name = "bad"\n[metadata]\nservers = -1\n' if "toml" in made else b"x\n\xff\n")
    status, shown = _refused(bench, "discover", *options)
    assert (status, line in shown) == (2, True), shown
    assert not bench.scratch.exists()


@pytest.mark.parametrize(("variable", "role"), [("EDBENCH_STORAGE", "storage"), ("EDBENCH_SCRATCH", "scratch")])
def test_a_place_that_cannot_be_written(bench: Bench, variable: str, role: str) -> None:
    """`discover` names the place and says what to do; `doctor` finds it beforehand."""
    source = _source(bench.furnish())
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
    """The second command attaches to the first one's services; both jobs end well, and nothing is left. Without a manifest `verify`
    requires --internal."""
    source = _source(bench.furnish())
    results = [bench.home / f"{number}.json" for number in range(2)]
    crew = ("--workers", "1", "--slots", "2", "-o", "json", "--output-file")
    processes = [bench.start("discover", str(source), *crew, str(result)) for result in results]
    shown = [bench.end(process) for process in processes]
    with bench.attached():
        for file, out in zip(results, shown, strict=True):
            job, result = out.splitlines()[-1].strip(), json.loads(file.read_text())
            assert (result["job_id"], result["state"], result["items"]) == (job, "completed", 1)
            bench.ask("verify", job, check=2)
            bench.ask("verify", job, "--internal")
