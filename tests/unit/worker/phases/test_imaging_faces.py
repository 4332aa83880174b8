"""Which typefaces there are is asked of the system, and no answer is not "none"."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from core.errors import SystemFault
from worker.phases.producing.imaging import faces


@pytest.mark.parametrize("kilobytes", [100, 300])
def test_a_system_that_cannot_answer_is_not_one_without_typefaces(
    kilobytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real fc-list in so little memory that it cannot start, or starts, finds nothing and calls that success: a page
    drawn after that would be another than one drawn elsewhere, for as long as the slot lives."""
    real = shutil.which("fc-list")
    if real is None:
        pytest.skip("there is no fc-list")
    poor = tmp_path / "fc-list"
    poor.write_text(f'#!/bin/sh\nulimit -d {kilobytes}\nexec {real} "$@"\n')
    poor.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    faces.installed.cache_clear()
    try:
        with pytest.raises(SystemFault, match="did not tell which typefaces"):
            faces.installed(0xE9)
        monkeypatch.undo()
        assert faces.installed(0xE9)  # nothing was remembered
    finally:
        faces.installed.cache_clear()
