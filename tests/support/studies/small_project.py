"""A project that is cloned, made and run for real, and does little: for profile `setup-effort`."""

from __future__ import annotations

import subprocess
from pathlib import Path

_MAKEFILE = """setup:
	mkdir -p .venv/bin && printf '#!/bin/sh\\ntest "$$1" != verify || test "$$HOME" != "$$(pwd)"\\n' >.venv/bin/edbench
	chmod +x .venv/bin/edbench
clean:
	rm -rf .venv
"""


def small_project(directory: Path) -> str:
    """Made there, with one commit; which one."""
    directory.mkdir()
    (directory / "Makefile").write_text(_MAKEFILE)
    git = ["git", "-C", str(directory), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "first"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
