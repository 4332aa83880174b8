"""Damaged files through the whole unpacking path; the long run is `make test-mutants`."""

import os
import subprocess
import sys
from pathlib import Path

from mutants.misdeeds import EXPECTED
from unpacking import make_zip

REPOSITORY = Path(__file__).parents[3]
_MUTANTS = 300
_ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (REPOSITORY, REPOSITORY / "tests" / "support")))}


def _read(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: the harness forks, and a test runner has threads."""
    command = [sys.executable, "-m", "mutants", "--processes", "1", *arguments]
    return subprocess.run(command, env=_ENVIRONMENT, capture_output=True, text=True, check=False, timeout=1_200)


def test_damaged_files_keep_every_promise() -> None:
    done = _read("--count", str(_MUTANTS), "--seed", "7", "--seconds", "600")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{_MUTANTS} mutants, seed 7" in done.stdout


def test_the_harness_sees_broken_promises(tmp_path: Path) -> None:
    """Each in the middle of an archive; one that keeps every promise gives no finding."""
    for deed in ("none", *EXPECTED):
        members = {"a.txt": b"a", "b": b"EVIL" + deed.encode(), "c.txt": b"c"}
        (tmp_path / f"{deed}.{deed}").write_bytes(make_zip(members))
    count = 1 + len(EXPECTED)
    done = _read("--files", str(tmp_path), "--seed", "0", "--count", str(count), "--plugin", "mutants.misdeeds")
    assert done.returncode == 1, done.stderr
    findings = {line.partition(": ")[2] for line in done.stdout.splitlines() if line.startswith("    ")}
    assert [shown for shown in EXPECTED.values() if not any(found.startswith(shown) for found in findings)] == []
    assert f"{count} mutants, seed 0: {4 * count} items" in done.stdout
