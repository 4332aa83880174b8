"""Options of `edbench discover` that do not go together."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.main import USAGE, main


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
