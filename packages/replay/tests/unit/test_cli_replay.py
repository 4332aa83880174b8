"""What `edbench trace replay` refuses before anything is started or made."""

from __future__ import annotations

from pathlib import Path

import pytest
from replay_traces import reading_trace

from cli.main import USAGE, main
from traces.write import write_trace


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "t.edbtrace"
    write_trace(reading_trace(), path)
    return path


def _refusal(tmp_path: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line; nothing was started or made."""
    before = sorted(path for path in tmp_path.rglob("*"))
    env = {"EDBENCH_SCRATCH": str(tmp_path / "scratch"), "EDBENCH_STORAGE": str(tmp_path / "storage")}
    assert main(["trace", "replay", *arguments], env) == USAGE
    error = capsys.readouterr().err
    assert len(error.strip().splitlines()) == 1
    assert sorted(path for path in tmp_path.rglob("*")) == before
    return error


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--pace", "fast"), "job, schedule, max"),
        (("--pace", "x0"), "job, schedule, max"),
        (("--scaling", "mixed"), "strong or weak"),
        (("--scaling", "strong", "--clients", "1,3"), "2 streams to deal out, not enough for 3 clients"),
        (("--scaling", "weak", "--clients", "2,3"), "takes 2 clients"),
        (("--scaling", "weak", "--max-p99", "read=1ms"), "exclude each other"),
        (("--clients", "two"), "--clients"),
        (("--clients", "0"), "0 clients"),
        (("--clients", "1,10000"), "from 1 to 4096"),
        (("--clients", "2,4", "--max-p99", "read=1ms"), "exclude each other"),
        (("--max-p99", "read"), "OP=TIME"),
        (("--max-p99", "seek=1ms"), "no op 'seek'"),
        (("--peak", "100"), "--peak requires --levels"),
        (("--levels", "10", "--pace", "x2"), "--levels sets the pace"),
        (("--levels", "10", "--pace", "job"), "--levels sets the pace"),
        (("--levels", "10", "--max-p99", "read=1ms"), "--levels sets the pace"),
        (("--levels", "10", "--clients", "1,2"), "--levels takes one --filer"),
        (("--filer", "no-such"), "no-such"),
        (("--filer", "none,no-such"), "no-such"),
        (("--filer", "titan,"), "names such as"),
        (("--filer", "none,titan", "--max-p99", "read=1ms"), "one --filer"),
    ],
)
def test_options(
    tmp_path: Path, trace: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], said: str
) -> None:
    (tmp_path / "target").mkdir()
    assert said in _refusal(tmp_path, capsys, str(trace), "--path", str(tmp_path / "target"), *options)


def test_traces(tmp_path: Path, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "target").mkdir()
    whole = trace.read_bytes()
    newer = whole.replace(b"edbench-trace/1", b"edbench-trace/9", 1)
    for name, data, said in (
        ("missing", None, "missing does not exist"),
        ("short", whole[:-5], "cut short"),
        ("foreign", b"not a trace at all", "is not a trace"),
        ("newer", newer, "newer"),
    ):
        path = tmp_path / name
        if data is not None:
            path.write_bytes(data)
        assert said in _refusal(tmp_path, capsys, str(path), "--path", str(tmp_path / "target"))


def test_paths(tmp_path: Path, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Missing, a file, not empty, given twice, and one within another; with --force what is there does not matter."""
    empty, full, file = tmp_path / "empty", tmp_path / "full", tmp_path / "file"
    for directory in (empty, full, full / "within"):
        directory.mkdir()
    file.write_bytes(b"")
    for paths in ([tmp_path / "missing"], [file], [full], [empty, empty], [full, full / "within"]):
        options = [part for path in paths for part in ("--path", str(path))]
        force = ["--force"] if paths[0] == full and len(paths) > 1 else []
        assert str(paths[0]) in _refusal(tmp_path, capsys, str(trace), *options, *force)
