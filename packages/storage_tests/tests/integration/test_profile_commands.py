"""`edbench bench storage`: gone on with after kill -9, and all of it to one page."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from array_counters import NAME, options
from debian_programs import program
from installation import EDBENCH, until
from result_packages import package

import storage_tests.profile as catalogue
import storage_tests.profile as refusal
from cli.main import FAILED, OK, USAGE, main
from core.errors import StorageFault, UsageError
from experiments import summary
from experiments.package.check import check
from experiments.result.codec import read_result
from storage_tests.owner import MARKER
from storage_tests.profile import profiles

GATE = """#!/bin/sh
echo >> "$GATE/begun"
if [ -e "$GATE/shut" ] && [ "$(wc -l < "$GATE/begun")" -gt 2 ]; then
    echo > "$GATE/reached"
    exec sleep 600
fi
exec {fio} "$@"
"""


@pytest.fixture(autouse=True)
def _fio() -> None:
    program("fio", "fio")


def environment(place: Path) -> dict[str, str]:
    """Of a command with storage root and scratch of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EDBENCH_")}
    return kept | {"EDBENCH_STORAGE": str(place / "storage"), "EDBENCH_SCRATCH": str(place / "scratch")}


def test_an_interrupted_matrix_is_gone_on_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Killed in its second cell: what the first one did is kept as it was, what lay on the path goes, one result comes out."""
    gate, under_test = tmp_path / "gate", tmp_path / "there"
    gate.mkdir()
    under_test.mkdir()
    (gate / "shut").touch()
    (gate / "fio").write_text(GATE.format(fio=shutil.which("fio")))
    (gate / "fio").chmod(0o755)
    env = environment(tmp_path) | {"GATE": str(gate), "PATH": f"{gate}:{os.environ['PATH']}"}
    sizes = ["threads=1", "records=64KiB", "files=256KiB,1MiB"]
    words = ["bench", "storage", "--repeats", "1", "matrix", "--path", str(under_test)]
    asked = [*words, *(w for s in sizes for w in ("--set", s))]
    process = subprocess.Popen(
        [EDBENCH, *asked], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        until(lambda: (gate / "reached").exists() or process.poll() is not None, "the second cell began")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert (under_test / MARKER).exists()
    (kept,) = (tmp_path / "scratch").rglob("000.json.gz")
    observed = kept.read_bytes()

    (gate / "shut").unlink()
    assert main([*asked, "--resume"], environment(tmp_path)) == OK
    directory = Path(capsys.readouterr().out.splitlines()[-1]).parent
    assert (directory / "raw" / "runs" / "000.json.gz").read_bytes() == observed
    result = read_result(directory)
    assert len(result.points) == 2
    assert "it was interrupted and resumed 1 time: runs are of 2 commands" in result.warnings
    assert check(directory).differences == ()
    assert list(under_test.iterdir()) == []
    assert main([*words, "--resume"], environment(tmp_path)) == USAGE


SMALLEST = (
    "stream.file_size=1MiB",
    "stream.streams=1",
    "matrix.threads=1",
    "matrix.records=64KiB",
    "matrix.files=256KiB",
)


@pytest.fixture(scope="module")
def discovery(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The package of one that was made before."""
    return str(package(tmp_path_factory.mktemp("made")))


def all_of(under_test: Path, place: Path, discovery: str, monkeypatch: pytest.MonkeyPatch, *given: str) -> int:
    """Two profiles beside the discovery; the exit status."""
    chosen = {name: profiles()[name] for name in ("matrix", "stream")}
    monkeypatch.setattr(catalogue, "profiles", lambda: chosen)
    command = ["bench", "storage", "--repeats", "1", "all", "--path", str(under_test), "--discovery", discovery, "--small",
               *(word for one in SMALLEST for word in ("--set", one)), *given]  # fmt: skip
    return main(command, environment(place))


def test_everything_is_one_page(
    discovery: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    under_test, shown = tmp_path / "there", tmp_path / "said.json"
    under_test.mkdir()
    given = ("-o", "json", "--output-file", str(shown), *options(tmp_path))
    assert all_of(under_test, tmp_path, discovery, monkeypatch, *given) == OK
    page = Path(capsys.readouterr().out.splitlines()[-1])
    runs = [run for point in read_result(page.parent / "packages" / "stream").points for run in point.repeats]
    assert [use.name for run in runs for use in run.array] == [NAME] * len(runs), "the array's own counters"
    assert {path.name for path in (page.parent / "packages").iterdir()} == {"discovery", "matrix", "stream"}
    assert summary.check(page.parent).differences == ()
    assert [one["name"] for one in json.loads(shown.read_text())["tests"]] == ["discovery", "matrix", "stream"]
    text = page.read_text()
    for name in ("discovery", "matrix", "stream"):
        assert f'href="packages/{name}/report.html"' in text
    assert list(under_test.iterdir()) == []


def test_a_test_that_fails_is_reported_and_the_others_are_made(
    discovery: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    under_test = tmp_path / "there"
    under_test.mkdir()
    (under_test / "theirs").write_text("not ours")
    assert all_of(under_test, tmp_path, discovery, monkeypatch) == FAILED
    shown = capsys.readouterr()
    assert "is not empty" in shown.out
    assert "stream: not measured: " in shown.out
    assert "discovery: not measured" not in shown.out
    assert (under_test / "theirs").read_text() == "not ours"


def test_a_path_that_cannot_be_looked_at_is_reported_of_each_profile(
    discovery: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends nothing else: the discovery of before is shown."""
    under_test = tmp_path / "there"
    under_test.mkdir()

    def fails(_profile: object, *, fill: bool) -> None:
        raise StorageFault("there: Input/output error")

    monkeypatch.setattr(refusal, "refuse_room", fails)
    assert all_of(under_test, tmp_path, discovery, monkeypatch) == OK
    shown = capsys.readouterr().out
    assert "stream: not measured: there: Input/output error" in shown
    assert "discovery: not measured" not in shown


def test_a_path_that_every_test_refuses_ends_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before the test without a path runs, which shows nothing of that storage."""

    def fails(*_: object, **__: object) -> None:
        raise UsageError("no room")

    monkeypatch.setattr(refusal, "refuse_bytes", fails)
    assert main(["bench", "storage", "all", "--path", str(tmp_path), "--small"], environment(tmp_path)) == USAGE
    shown = capsys.readouterr()
    assert "no test can run: no room" in shown.err
    assert "self-check" not in shown.out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--set", "block=4096"), "NAME.SETTING=VALUE"),
        (("--set", "stream.engineless=1"), "engineless"),
        (("--resume",), "no run with these settings was interrupted"),
    ],
)
def test_everything_is_refused_before_anything_is_run(
    given: tuple[str, ...],
    message: str,
    discovery: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    under_test = tmp_path / "there"
    under_test.mkdir()
    assert all_of(under_test, tmp_path, discovery, monkeypatch, *given) == USAGE
    assert message in capsys.readouterr().err
    assert list(under_test.iterdir()) == []
