"""benchmarks.formats.readers: what other programs find."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import tempfile
from pathlib import Path

import pytest

from benchmarks.formats import readers
from benchmarks.formats.readers import PROGRAMS, Program, ReaderAbsent, read_by
from readers.registry import all_handlers

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


def test_what_a_program_writes_into_a_directory(tmp_path: Path) -> None:
    """Its text is what it leaves there; the directory is gone afterwards."""
    (tmp_path / "a").write_text("Vertrag", encoding="utf-8")
    script = 'cp "$1" "$2/copy" && echo "$2" >"$1.where" && cat "$2"/*'
    found, failed = read_by(Program(("sh", "-c", script, "sh", "{}", "{out}"), (), needs=("sh", "cp")), tmp_path, ["a"])
    assert (found["a"].terms, failed) == ({"vertrag"}, [])
    assert not Path((tmp_path / "a.where").read_text().strip()).exists()


def test_what_a_program_leaves_where_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """unrtf writes a document's pictures there, whatever it is told: nothing of them may stay in whoever's directory."""
    (tmp_path / "a").write_text("Vertrag", encoding="utf-8")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    found, failed = read_by(Program(("sh", "-c", 'cat "$1" && echo x >pict001.emf', "sh", "{}"), ()), Path(".."), ["a"])
    assert (found["a"].terms, failed) == ({"vertrag"}, [])
    assert list(here.iterdir()) == []


def test_one_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives nothing, and what it started does not run on: LibreOffice is started by a script."""
    monkeypatch.setattr(readers, "_SECONDS", 0.5)
    (tmp_path / "a").write_text("", encoding="utf-8")
    script = 'tail -f /dev/null & echo $! >"$1.child"; wait'
    assert read_by(Program(("sh", "-c", script, "sh", "{}"), ()), tmp_path, ["a"]) == ({}, ["a"])
    with contextlib.suppress(ProcessLookupError):  # gone already
        child = os.pidfd_open(int((tmp_path / "a.child").read_text()))
        assert select.select([child], [], [], 30)[0], "it runs on"
        os.close(child)


def test_every_program_takes_a_type_that_there_is() -> None:
    """One that is misspelt would be asked about nothing, and nobody would see it."""
    known = {media_type for handler in all_handlers() for media_type in handler.media_types}
    assert {name for name, program in PROGRAMS.items() if not known.issuperset(program.media_types)} == set()


def test_pythons_own_mail_reader() -> None:
    """The program that is a script of ours."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "a.eml"
        path.write_bytes(
            b"From: Ann <a@b.example>\nSubject: =?utf-8?q?gr=C3=BCn?=\nContent-Type: text/plain\n\nbody words\n"
        )
        found, failed = read_by(PROGRAMS["python-email"], path.parent, ["a.eml"])
    assert failed == []
    assert {"ann", "grün", "body", "words"} <= found["a.eml"].terms
