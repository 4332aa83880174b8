"""`edbench predict` from outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.main import OK, USAGE, main


def test_a_prediction_is_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.json"
    arguments = ["--workers", "2,4", "--databases", "1", "--filer", "titan", "--raw-gb", "0.1", "--one-host"]
    assert main(["predict", *arguments, "--json", str(file)], {}) == OK
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
        (["--from", "/nowhere"], "/nowhere"),
        (["--json", "/nowhere/p.json"], "--json"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", *arguments], {}) == USAGE
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert said in lines[0]
