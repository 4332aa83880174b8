"""Paths of a load file mean files below the production's root, as other programs write them, and never one elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from production.importing import Place


def _write(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    return path


@pytest.mark.parametrize(
    "message",
    ["NATIVES\\A3.txt", "\\NATIVES\\A3.txt", "/NATIVES/A3.txt", ".\\NATIVES\\A3.txt", "\\natives/a3.TXT", "./Natives/A3.Txt"],
)  # fmt: skip
def test_a_file_is_found_however_its_path_is_written(tmp_path: Path, message: str) -> None:
    there = _write(tmp_path / "NATIVES/A3.txt")
    assert Place(tmp_path).find(message) == (there.resolve(), "")


@pytest.mark.parametrize(
    "message",
    ["\\\\server\\share\\x", "//server/x", "/\\server\\x", "..\\x", "\\..\\x", "/a/../../x", ".\\..\\x", "C:\\x", "\\C:\\x",
     "\\", "/", ".", "a//b", "a\\", "a\0b", "link/x", "LINK/X", "\\Link\\x", "hop", "HOP"],
)  # fmt: skip
def test_a_path_that_leads_out_finds_nothing(tmp_path: Path, message: str) -> None:
    outside, root = _write(tmp_path / "outside/x"), tmp_path / "root"
    _write(tmp_path / "x")
    root.mkdir()
    (root / "link").symlink_to(outside.parent)
    (root / "hop").symlink_to(outside)
    assert Place(root).find(message) == (None, "is outside the production")


def test_an_absolute_path_is_one_below_the_root(tmp_path: Path) -> None:
    secret = _write(tmp_path / "secret")
    (tmp_path / "root").mkdir()
    assert Place(tmp_path / "root").find(str(secret)) == (None, "missing, or not a file")
    inner = _write(tmp_path / "root" / str(secret)[1:])
    assert Place(tmp_path / "root").find(str(secret)) == (inner.resolve(), "")


def test_of_files_that_differ_only_in_case_the_right_one_or_none(tmp_path: Path) -> None:
    """The one that is written so, else the only one, over directories that differ only in case, too; else none, and why."""
    small, capital = _write(tmp_path / "n/a.txt"), _write(tmp_path / "n/A.TXT")
    other = _write(tmp_path / "N/b.txt")
    (tmp_path / "n/B.TXT").mkdir()
    place = Place(tmp_path)
    assert [place.find(shown)[0] for shown in ("n/a.txt", "n/A.TXT", "n/B.txt")] == [small, capital, other]
    assert place.find("N/A.txt") == (
        None,
        "missing, or not a file; 2 files differ from it only in case, so none is used",
    )


def test_a_file_that_is_there_from_a_directory_above_is_reported_with_the_option(tmp_path: Path) -> None:
    _write(tmp_path / "VOL001/NATIVES/A1.txt")
    _write(tmp_path / "NATIVES/A1.txt")
    place = Place(tmp_path / "VOL001/DATA")
    assert place.find("\\NATIVES\\a1.txt") == (
        None,
        f"missing, or not a file; it exists with --root {tmp_path / 'VOL001'}",
    )
    assert place.find("VOL001/NATIVES/A1.txt") == (None, f"missing, or not a file; it exists with --root {tmp_path}")
    assert place.find("NATIVES/A2.txt") == (None, "missing, or not a file")


def test_a_directory_is_listed_once_for_all_that_is_missing_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path / "n/a.txt")
    listed: list[str] = []
    names = os.listdir

    def counted(path: Path) -> list[str]:
        listed.append(str(path))
        return names(path)

    monkeypatch.setattr(os, "listdir", counted)
    place = Place(tmp_path)
    for number in range(50):
        assert place.find(f"n/{number}.txt")[0] is None
    assert listed.count(str(tmp_path.resolve() / "n")) == 1
