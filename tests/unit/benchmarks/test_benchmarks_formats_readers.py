"""benchmarks.formats.readers: what other programs find."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.formats.readers import Program, ReaderAbsent, read_by

_SCRIPT = "import sys; data = open(sys.argv[1]).read(); print('### made by it'); print(data) if data else sys.exit(3)"


def test_terms_of_a_program(tmp_path: Path) -> None:
    """Its output without its own lines; a file that it fails on is told apart from one that is empty of terms."""
    (tmp_path / "a").write_text("Vertrag über 5", encoding="utf-8")
    (tmp_path / "b").write_text("", encoding="utf-8")
    silent = _SCRIPT.replace("print('### made by it'); ", "")
    found, failed = read_by(Program((sys.executable, "-c", _SCRIPT, "{}"), (), own="###"), tmp_path, ["a"])
    assert (found["a"].terms, failed) == ({"vertrag", "über"}, [])
    assert read_by(Program((sys.executable, "-c", silent, "{}"), ()), tmp_path, ["b"]) == ({}, ["b"])


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    """Is said, not taken for one that finds nothing."""
    with pytest.raises(ReaderAbsent, match="edbench-no-such-program"):
        read_by(Program(("edbench-no-such-program", "{}"), ()), tmp_path, ["a"])
