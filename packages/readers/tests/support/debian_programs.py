"""Programs of Debian's packages, which read and write beside our own code."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def program(name: str, package: str) -> str:
    """Return the path of a program. Without it the test is skipped, and fails in CI."""
    found = shutil.which(name)
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"there is no {name}: .ci/run is to install Debian's package {package}")
        pytest.skip(f"there is no {name} here; Debian's package {package} has it")
    return found


def printed(package: str, *command: str, where: Path) -> str:
    """Return what a program of this package prints."""
    line = [program(command[0], package), *command[1:]]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(line, cwd=where, env=environment, capture_output=True, timeout=300, check=True)
    return done.stdout.decode("utf-8", "replace")
