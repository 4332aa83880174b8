"""Which typefaces there are is asked of the system, and no answer is not "none"."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

import pytest

from core.errors import SystemFault
from production import typesetting


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
    typesetting.installed.cache_clear()
    try:
        with pytest.raises(SystemFault, match="did not list the installed typefaces"):
            typesetting.installed(0xE9)
        monkeypatch.undo()
        assert typesetting.installed(0xE9)  # nothing was remembered
    finally:
        typesetting.installed.cache_clear()


def test_a_typeface_that_cannot_be_read_now_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Path(typesetting.own_path(0)).read_bytes()
    face = tmp_path / "face.ttf"
    face.write_bytes(whole)
    assert typesetting.lacking(str(face), 0, "a") == ""
    tables = struct.iter_unpack(">4s4xII", whole[12 : 12 + 16 * int.from_bytes(whole[4:6], "big")])
    at, size = next((at, size) for tag, at, size in tables if tag == b"glyf")
    with face.open("r+b", buffering=0) as file:
        file.seek(at)
        file.write(b"\xff" * size)
        assert typesetting.lacking(str(face), 0, "b") == "b"
        file.seek(0)
        file.write(whole)
    assert typesetting.lacking(str(face), 0, "b") == ""
    monkeypatch.setattr(typesetting, "own_path", lambda _number: str(tmp_path / "ours.ttf"))
    (tmp_path / "ours.ttf").write_bytes(whole[:100])
    with pytest.raises(SystemFault, match="cannot be loaded"):
        typesetting.lacking(str(tmp_path / "ours.ttf"), 0, "a")
