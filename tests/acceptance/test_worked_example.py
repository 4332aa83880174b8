"""docs/worked-example.md, run as it is written."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from installation import COMMAND_SECONDS, EDBENCH

PAGE = Path(__file__).parents[2] / "docs/worked-example.md"


def test_the_worked_example_runs_as_written(tmp_path: Path) -> None:
    """Each line in turn, in an empty directory with an empty HOME; what it leaves is a production set that holds."""
    lines = [line.strip() for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("    ")]
    assert len(lines) > 12
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EDBENCH_")}
    environment = kept | {"HOME": str(tmp_path), "PATH": f"{EDBENCH.parent}{os.pathsep}{kept['PATH']}"}
    for line in lines:
        done = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=COMMAND_SECONDS
        )
        if done.returncode:
            pytest.fail(f"{line}: {done.stdout[-500:]}{done.stderr[-500:]}")
    assert list(tmp_path.glob("production/VOL001/IMAGES/*/ABC*.tif"))
    assert (tmp_path / "production/loadfile.opt").stat().st_size
    actions = [one for one in map(json.loads, (tmp_path / "custody.jsonl").open()) if one["record"] == "action"]
    assert {"created", "tagged", "export created", "processing created"} <= {action["action"] for action in actions}
