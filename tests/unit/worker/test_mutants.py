"""Damaged files through the whole unpacking path; the long run is `make test-mutants`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
_MUTANTS = 300
_SUPPORT = REPOSITORY / "tests" / "support"
_ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (REPOSITORY, _SUPPORT, _SUPPORT / "samples")))}


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: the harness forks, and a test runner has threads."""
    return subprocess.run(
        [sys.executable, *arguments], env=_ENVIRONMENT, capture_output=True, text=True, check=False, timeout=1_200
    )


def test_damaged_files_keep_every_promise() -> None:
    done = _python("-m", "mutants", "--count", str(_MUTANTS), "--seed", "7", "--processes", "1", "--seconds", "600")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{_MUTANTS} mutants of" in done.stdout


def test_the_harness_sees_broken_promises(tmp_path: Path) -> None:
    done = _python("-m", "mutants.misdeeds", str(tmp_path))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    expected = {
        "index": "unnamed: IndexError",
        "write": "left behind: escaped.txt",
        "far": "fence: os.mkdir '/proc/escaped'",
        "memory": "unnamed: MemoryError",
        "recursion": "unnamed: RecursionError",
        "metadata": "NUL in metadata",
        "abort": "died: SIGABRT",
        "hang": "died: at the deadline",
    }
    for deed, said in expected.items():
        assert any(finding.startswith(said) for finding in found[deed]["findings"]), (deed, found[deed])
    assert found["none"]["findings"] == []
    assert {one["items"] for one in found.values()} == {4}
    assert not any(finding.startswith("siblings") for one in found.values() for finding in one["findings"])
