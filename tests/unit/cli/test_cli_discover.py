"""Options of `edbench discover` that do not go together."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.discover import refuse_scaling
from cli.main import USAGE, main
from core.errors import UsageError


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--shard",), "--databases 2"),
        (("--source-copies", "2"), "--databases 2"),
        (("--databases", "2", "--source-copies", "3"), "1 or 2"),
        (("--databases", "2", "--shard", "--source-copies", "2"), "exclude each other"),
        (("--ocr-languages", "eng"), "requires --ocr"),
        (("--ocr", "--ocr-languages", "../eng"), "write eng or eng+deu"),
    ],
)
def test_they_are_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], said: str
) -> None:
    """Promise: exit status 2 and one line that says what to do; no services are started."""
    (tmp_path / "source").mkdir()
    env = {"EDBENCH_SCRATCH": str(tmp_path / "scratch"), "EDBENCH_STORAGE": str(tmp_path / "storage")}
    assert main(["discover", str(tmp_path / "source"), *options], env) == USAGE
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1
    assert not (tmp_path / "scratch").exists()


def test_a_source_without_files_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also one of directories: a filer that is not mounted leaves such a source, and its job would be complete at once."""
    (tmp_path / "source" / "ann" / "mail").mkdir(parents=True)
    env = {"EDBENCH_SCRATCH": str(tmp_path / "scratch"), "EDBENCH_STORAGE": str(tmp_path / "storage")}
    assert main(["discover", str(tmp_path / "source")], env) == USAGE
    error = capsys.readouterr().err
    assert "is empty: there is no file in it" in error
    assert len(error.strip().splitlines()) == 1
    assert not (tmp_path / "scratch").exists()


def test_workers_of_other_processes_are_not_counted_by_the_command() -> None:
    """Inside a container `--workers 6` would change nothing: it is refused, and so is `--slots`."""
    for workers, slots in ((6, None), (None, 2)):
        with pytest.raises(UsageError, match=r"does not start the workers .* edbench scale 6"):
            refuse_scaling(workers, slots)
    refuse_scaling(None, None)


def test_a_corpus_that_is_not_on_the_storage_under_test_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    storage = Path("/dev/shm")
    if not os.path.ismount(storage) or storage.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("/dev/shm is no file system of its own here")
    login = "postgresql+psycopg2://u:p@h/d"
    env = {"EDBENCH_DATABASES": f"db1={login}", "EDBENCH_BROKER": "redis://:p@h", "EDBENCH_STORAGE": str(storage)}
    assert main(["corpus", "generate", str(tmp_path / "corpus"), "--scale", "0.0001"], env) == USAGE
    error = capsys.readouterr().err
    assert "not on the storage under test (memory (tmpfs)" in error
    assert len(error.strip().splitlines()) == 1
    assert not (tmp_path / "corpus").exists()
