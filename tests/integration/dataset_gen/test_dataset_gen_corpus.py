"""Whole corpora: the same bytes however they are made, resumption, refusals."""

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from installation import COMMAND_SECONDS, until

from cli.main import USAGE, main
from core.errors import RunFailed, UsageError
from dataset_gen import corpus as corpus_module
from dataset_gen.corpus import generate_corpus
from dataset_gen.truth import check
from dataset_gen.truth.check import check_corpus
from dataset_gen.truth.manifest import read_manifest

SCALE = 0.0002
CORPUS_FILES = ["data", "dataset.json", "manifest.parquet", "system-files.csv"]
# Bytes of (reference version 1, scale 0.0002, seed 1). They change only with a new profile or generator version,
# or when a pinned library that writes them (deflate, reportlab, mimesis) is changed.
GOLDEN = "d51589f03209a4c512ec315576be5eda6e5ddb4147cdc41cdf1c61b91372e6e6"
GOLDEN_CONTENT = "af60f120f97550c5e5f9a19066bf4dff196aeb050742e1cbe5cac7650d015dfd"


def _silent(done: int, total: int) -> None:
    pass


def _tree(data: Path) -> dict[str, tuple[str, int]]:
    """Hash and time of every file."""
    return {
        os.fsencode(f.relative_to(data)).hex(): (hashlib.sha256(f.read_bytes()).hexdigest(), f.stat().st_mtime_ns)
        for f in data.rglob("*")
        if f.is_file()
    }


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A corpus made by one process."""
    directory = tmp_path_factory.mktemp("alone") / "c"
    return directory, generate_corpus(directory, "reference", SCALE, 1, 1, _silent)


def test_golden_hash(alone: tuple[Path, dict[str, Any]]) -> None:
    assert (alone[1]["hash"], alone[1]["content_hash"]) == (GOLDEN, GOLDEN_CONTENT)


def test_number_of_processes_does_not_matter(alone: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    directory = tmp_path / "c"
    assert generate_corpus(directory, "reference", SCALE, 1, 3, _silent) == alone[1]
    assert _tree(directory / "data") == _tree(alone[0] / "data")
    assert read_manifest(directory).equals(read_manifest(alone[0]))
    assert sorted(f.name for f in directory.iterdir()) == CORPUS_FILES


def test_a_finished_corpus_is_left_alone(alone: tuple[Path, dict[str, Any]]) -> None:
    before = (alone[0] / "manifest.parquet").stat().st_mtime_ns
    assert generate_corpus(alone[0], "reference", SCALE, 1, 1, _silent) == alone[1]
    assert (alone[0] / "manifest.parquet").stat().st_mtime_ns == before
    assert json.loads((alone[0] / "dataset.json").read_text()) == alone[1]


def test_other_directories_are_refused(alone: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="another corpus"):
        generate_corpus(alone[0], "reference", SCALE, 2, 1, _silent)
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        generate_corpus(tmp_path, "reference", SCALE, 1, 1, _silent)
    with pytest.raises(UsageError, match="not a directory"):
        generate_corpus(tmp_path / "note.txt", "reference", SCALE, 1, 1, _silent)


def test_disk_space_is_checked_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = shutil.disk_usage(tmp_path)._replace(free=5_000_000)
    monkeypatch.setattr(corpus_module.shutil, "disk_usage", lambda path: small)
    with pytest.raises(UsageError, match="free"):
        generate_corpus(tmp_path / "c", "reference", SCALE, 1, 1, _silent)
    assert not (tmp_path / "c").exists()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own name, not by that of a probe in it; not even root may write to this one."""
    here = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(corpus_module.shutil, "disk_usage", lambda path: here)
    with pytest.raises(UsageError, match=r"^cannot write in /proc: .*; make it writable"):
        generate_corpus(Path("/proc/edbench"), "reference", SCALE, 1, 1, _silent)


PROFILE = """
name = "tiny"
version = 1
raw_bytes = 2_000_000
system_files = 0.2
[[custodians]]
mail = "maildir"
[[custodians]]
mail = "folders"
[shares]
mail = 0.4
[formats]
txt = { loose = 3, attached = 1, median = 9000 }
jpg = { loose = 1, attached = 1, median = 40000 }
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small corpus of a profile of one's own."""
    root = tmp_path_factory.mktemp("check")
    (root / "tiny.toml").write_text(PROFILE)
    generate_corpus(root / "c", str(root / "tiny.toml"), 1.0, 1, 1, _silent)
    return root / "c"


def _profile(corpus: Path) -> str:
    return str(corpus.parent / "tiny.toml")


def _described(corpus: Path) -> dict[str, Any]:
    return dict(json.loads((corpus / "dataset.json").read_text()))


def test_an_interrupted_run_continues(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "c"

    def stop_half_way(done: int, total: int) -> None:
        if done * 2 > total:
            raise KeyboardInterrupt

    monkeypatch.setattr("dataset_gen.writer.UNIT_BYTES", 200_000)
    with pytest.raises(KeyboardInterrupt):
        generate_corpus(directory, _profile(whole), 1.0, 1, 1, stop_half_way)
    assert [f.name for f in directory.iterdir()] == [".edbench-generate"]
    first: list[int] = []
    made = generate_corpus(directory, _profile(whole), 1.0, 1, 1, lambda done, total: first.append(done))
    assert first[0] > 0
    assert made == _described(whole)
    assert _tree(directory / "data") == _tree(whole / "data")


def test_a_killed_run_leaves_no_process_and_continues(whole: Path, tmp_path: Path) -> None:
    directory = tmp_path / "c"
    code = (
        "import sys; from pathlib import Path; from dataset_gen.corpus import generate_corpus\n"
        "if __name__ == '__main__':\n"
        "    generate_corpus(Path(sys.argv[1]), sys.argv[2], 1.0, 1, 2, lambda done, total: None)\n"
    )
    script = tmp_path / "run.py"
    script.write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    command = subprocess.Popen(
        [sys.executable, script, directory, _profile(whole)], env=environment, start_new_session=True
    )
    written = directory / ".edbench-generate" / "data"
    until(lambda: command.poll() is not None or any(names for _, _, names in os.walk(written)), "something is written")
    command.send_signal(signal.SIGKILL)
    command.wait()
    until(lambda: not _group_alive(command.pid), "no process is left")
    assert generate_corpus(directory, _profile(whole), 1.0, 1, 1, _silent) == _described(whole)


def test_a_dead_process_is_reported(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the system kills a generating process, the run says so instead of waiting; it can be finished."""
    monkeypatch.setattr("dataset_gen.writer.UNIT_BYTES", 200_000)

    def kill_all(done: int, total: int) -> None:
        for server in psutil.Process().children() if done else ():
            with contextlib.suppress(psutil.Error):  # it may have ended meanwhile
                if "forkserver" in " ".join(server.cmdline()):
                    for child in server.children():
                        child.kill()

    with pytest.raises(RunFailed, match="died"):
        generate_corpus(tmp_path / "c", _profile(whole), 1.0, 1, 2, kill_all)
    assert generate_corpus(tmp_path / "c", _profile(whole), 1.0, 1, 1, _silent) == _described(whole)


def _group_alive(group: int) -> bool:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            return True
    return False


@pytest.fixture
def corpus(whole: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(whole, tmp_path / "c"))


def _first(corpus: Path) -> Path:
    return min(f for f in (corpus / "data").rglob("*.txt") if f.stat().st_size > 100)


def _flip(corpus: Path) -> None:
    data = bytearray(_first(corpus).read_bytes())
    data[50] ^= 1
    _first(corpus).write_bytes(data)


def _lengthen(corpus: Path) -> None:
    with _first(corpus).open("ab") as file:
        file.write(b"more")


def _describe(corpus: Path) -> None:
    shown = json.loads((corpus / "dataset.json").read_text())
    (corpus / "dataset.json").write_text(json.dumps({**shown, "items": shown["items"] + 1}))


CHANGES: dict[str, Callable[[Path], object]] = {
    "changed": _flip,
    "instead of": _lengthen,
    "missing": lambda corpus: _first(corpus).unlink(),
    "extra": lambda corpus: (corpus / "data" / "new.txt").write_text("new"),
    "dataset.json": _describe,
    "system-files.csv": lambda corpus: (corpus / "system-files.csv").write_text("sha256,name\n"),
}


def test_a_whole_corpus(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["corpus", "check", str(whole), "--processes", "1"], {}) == 0
    assert json.loads((whole / "dataset.json").read_text())["hash"] in capsys.readouterr().out
    found = check_corpus(whole, 2, _silent)
    assert not found.differences
    assert not found.published
    assert found.read == found.description["raw_bytes"]


@pytest.mark.parametrize("message", CHANGES)
def test_changes_are_named(message: str, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    CHANGES[message](corpus)
    assert main(["corpus", "check", str(corpus), "--processes", "1"], {}) == 1
    assert message in capsys.readouterr().out


def test_another_corpus_under_the_same_name(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = ("tiny", 1, 1.0, 1)
    monkeypatch.setitem(check.PUBLISHED, key, "00" * 32)
    assert [d.where for d in check_corpus(whole, 1, _silent).differences] == ["hash"]
    shown = json.loads((whole / "dataset.json").read_text())
    monkeypatch.setitem(check.PUBLISHED, key, shown["hash"])
    assert check_corpus(whole, 1, _silent).published


def test_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a corpus"):
        check_corpus(tmp_path, 1, _silent)


def test_another_seed_gives_other_bytes_and_the_same_system_files(whole: Path, tmp_path: Path) -> None:
    shown = generate_corpus(tmp_path / "c", _profile(whole), 1.0, 2, 1, _silent)
    assert not {shown["hash"], shown["content_hash"]} & {_described(whole)["hash"], _described(whole)["content_hash"]}
    assert shown["system_files"] > 0
    assert (tmp_path / "c" / "system-files.csv").read_bytes() == (whole / "system-files.csv").read_bytes()


def test_generate_writes_a_corpus_and_states_what(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "a corpus"
    generate = ["corpus", "generate", str(directory), "--scale", "0.00005", "--seed", "3", "--processes", "2"]
    assert main(generate, {}) == 0
    shown = capsys.readouterr().out
    assert "items per raw GB" in shown
    assert "hash " in shown
    assert sorted(f.name for f in directory.iterdir()) == CORPUS_FILES


def test_an_interrupted_command_can_be_given_again(tmp_path: Path) -> None:
    """SIGTERM, as Ctrl-C: exit status 130, one line that says how to go on, no corpus half there, and no process left, whose
    standard error would be open still."""
    directory = tmp_path / "c"
    generate = ("corpus", "generate", str(directory), "--scale", "0.01", "--processes", "2")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    command = subprocess.Popen(
        [sys.executable, "-m", "cli", *generate], env=environment, stderr=subprocess.PIPE, text=True
    )
    written = directory / ".edbench-generate" / "data"
    until(lambda: any(names for _, _, names in os.walk(written)), "something is written")
    command.send_signal(signal.SIGTERM)
    _, shown = command.communicate(timeout=COMMAND_SECONDS)
    assert command.returncode == 130
    assert "Traceback" not in shown
    assert shown.strip().splitlines()[-1].startswith("edbench: interrupted: ")
    assert "run the same command to continue" in shown.strip().splitlines()[-1]
    assert [f.name for f in directory.iterdir()] == [".edbench-generate"]


def test_bad_requests_are_usage_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (("--scale", "0.0000001"), ("--profile", "nope")):
        assert main(["corpus", "generate", str(tmp_path / "c"), *arguments], {}) == USAGE
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
        assert not (tmp_path / "c").exists()
