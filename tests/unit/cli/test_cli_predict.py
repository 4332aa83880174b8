"""`edbench bench predict` from outside."""

from __future__ import annotations

import io
import json
import threading
from pathlib import Path

import pytest
from rich.console import Console

from cli.main import OK, USAGE, main
from cli.progress import step_told


def test_a_prediction_is_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.json"
    arguments = ["--workers", "2,4", "--databases", "1", "--filer", "titan", "--raw-gb", "0.1", "--one-host"]
    assert main(["bench", "predict", *arguments, "-o", "json", "--output-file", str(file)], {}) == OK
    shown = capsys.readouterr().out
    assert "GB/hour discovered" in shown
    assert "exact mean values" in shown
    assert "the reference calibration" in shown
    assert "walk " in shown
    assert "index " in shown
    plain = json.loads(file.read_text())
    assert [point["workers"] for point in plain["points"]] == [2, 4]
    assert {"workers", "databases", "elapsed_s", "gb_per_hour_discovered", "limit"} <= set(plain["points"][0])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--workers", "0"], "--workers"),
        (["--workers", "ten"], "--workers"),
        (["--databases", "0"], "--databases"),
        (["--filer", "none"], "--filer none"),
        (["--site", "nowhere"], "laptop-nas"),
        (["--site", "r1", "--filer", "titan"], "exclude each other"),
        (["--site", "r1", "--one-host"], "exclude each other"),
        (["--site", "r1", "--index-streams", "-1"], "--index-streams"),
        (["--databases", "999"], "at most 64"),
        (["--from", "/nowhere"], "/nowhere"),
        (["-o", "json", "--output-file", "/nowhere/p.json"], "--output-file"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "predict", *arguments], {}) == USAGE
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert said in lines[0]


def test_a_long_step_is_told_where_nobody_sees_a_terminal() -> None:
    """Again and again while it lasts; one that is over at once is not."""

    class Pipe(io.StringIO):
        """Knows when it was written to twice."""

        lines, twice = 0, threading.Event()

        def write(self, text: str) -> int:
            self.lines += text.count("\n")
            if self.lines > 1:
                self.twice.set()
            return super().write(text)

    pipe = Pipe()
    with step_told(Console(file=pipe), first=0.001, every=0.001) as say:
        say("simulating [30] workers")
        assert pipe.twice.wait(30)
    assert pipe.getvalue().splitlines()[:2] == ["simulating [30] workers"] * 2
    quiet = io.StringIO()
    with step_told(Console(file=quiet), first=600) as say:
        say("over at once")
    assert quiet.getvalue() == ""
