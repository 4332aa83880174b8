"""core.program.whole: a process of ours from its first line to its last."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[4]
_PROGRAM = """
import atexit, gc
while_loading = gc.get_threshold()[0]
atexit.register(print, "tidied up")
def run():
    print("collects after", while_loading)
    return 3
"""


def _python(code: str, path: Path = REPOSITORY) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": str(path)}
    return subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, env=env, capture_output=True, text=True)


def test_a_program_loads_in_peace_and_ends_where_its_work_does(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(_PROGRAM)
    code = (
        "import atexit; atexit.register(print, 'taken apart'); from core.program.whole import begin; begin('program')"
    )
    ended = _python(code, tmp_path)
    assert (ended.returncode, ended.stdout) == (3, "collects after 100000\ntidied up\n")


def test_a_program_that_fails_says_where(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("def run():\n    raise ValueError('so')\n")
    ended = _python("from core.program.whole import begin; begin('program')", tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.endswith("ValueError: so\n")


@pytest.mark.parametrize("package", ["cli", "worker", "worker.box", "queue_manager"])
def test_every_program_of_a_job_begins_so(package: str) -> None:
    code = f"import sys, {package}.__main__ as first; print(first.begin.__module__, '{package}.main' in sys.modules)"
    assert _python(code).stdout.split() == ["core.program.whole", "False"]
