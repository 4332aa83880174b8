"""Debian's readers of the older Office formats, which the pipeline does not use."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

_PACKAGES = {"antiword": "antiword", "catdoc": "catdoc", "catppt": "catdoc", "xls2csv": "catdoc"}
_OPTIONS = {"antiword": ("-w", "0", "-m", "UTF-8.txt"), "catdoc": ("-dutf-8", "-w")}


def text_by(program: str, file: Path) -> str:
    """What a program prints of a file; skips where it is not installed, CI must have it."""
    if shutil.which(program) is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"there is no {program}: .ci/run is to install Debian's package {_PACKAGES[program]}")
        pytest.skip(f"there is no {program} here; Debian's package {_PACKAGES[program]} has it")
    command = [program, *_OPTIONS.get(program, ("-dutf-8",)), str(file)]
    out = subprocess.run(command, capture_output=True, check=True, timeout=300)
    return out.stdout.decode("utf-8", "replace")


def words(text: str) -> set[str]:
    """Its words of three letters or more."""
    return set(re.findall(r"[^\W\d_]{3,}", text.lower()))
