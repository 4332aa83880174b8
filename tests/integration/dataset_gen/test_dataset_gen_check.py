"""`edbench corpus check`: a whole corpus passes, any change to it is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.main import main
from core.errors import UsageError
from dataset_gen.corpus import generate_corpus
from dataset_gen.truth import check
from dataset_gen.truth.check import check_corpus

PROFILE = """
name = "tiny"
version = 1
raw_bytes = 2_000_000
system_files = 0.2
[[custodians]]
mail = "maildir"
[[custodians]]
mail = "folders"
[shares]
mail = 0.4
[formats]
txt = { loose = 3, attached = 1, median = 9000 }
jpg = { loose = 1, attached = 1, median = 40000 }
"""


def _silent(done: int, total: int) -> None:
    pass


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small corpus of a profile of one's own."""
    root = tmp_path_factory.mktemp("check")
    (root / "tiny.toml").write_text(PROFILE)
    generate_corpus(root / "c", str(root / "tiny.toml"), 1.0, 1, 1, _silent)
    return root / "c"


@pytest.fixture
def corpus(whole: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(whole, tmp_path / "c"))


def _first(corpus: Path) -> Path:
    return min(f for f in (corpus / "data").rglob("*.txt") if f.stat().st_size > 100)


def _flip(corpus: Path) -> None:
    data = bytearray(_first(corpus).read_bytes())
    data[50] ^= 1
    _first(corpus).write_bytes(data)


def _lengthen(corpus: Path) -> None:
    with _first(corpus).open("ab") as file:
        file.write(b"more")


def _describe(corpus: Path) -> None:
    said = json.loads((corpus / "dataset.json").read_text())
    (corpus / "dataset.json").write_text(json.dumps({**said, "items": said["items"] + 1}))


CHANGES: dict[str, Callable[[Path], object]] = {
    "changed": _flip,
    "instead of": _lengthen,
    "missing": lambda corpus: _first(corpus).unlink(),
    "extra": lambda corpus: (corpus / "data" / "new.txt").write_text("new"),
    "dataset.json": _describe,
    "system-files.csv": lambda corpus: (corpus / "system-files.csv").write_text("sha256,name\n"),
}


def test_a_whole_corpus(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["corpus", "check", str(whole), "--processes", "1"], {}) == 0
    assert json.loads((whole / "dataset.json").read_text())["hash"] in capsys.readouterr().out
    found = check_corpus(whole, 2, _silent)
    assert not found.differences
    assert not found.published
    assert found.read == found.description["raw_bytes"]


@pytest.mark.parametrize("said", CHANGES)
def test_changes_are_named(said: str, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    CHANGES[said](corpus)
    assert main(["corpus", "check", str(corpus), "--processes", "1"], {}) == 1
    assert said in capsys.readouterr().out


def test_another_corpus_under_the_same_name(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = ("tiny", 1, 1.0, 1)
    monkeypatch.setitem(check.PUBLISHED, key, "00" * 32)
    assert [d.where for d in check_corpus(whole, 1, _silent).differences] == ["hash"]
    said = json.loads((whole / "dataset.json").read_text())
    monkeypatch.setitem(check.PUBLISHED, key, said["hash"])
    assert check_corpus(whole, 1, _silent).published


def test_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a corpus"):
        check_corpus(tmp_path, 1, _silent)


def test_system_files_do_not_depend_on_the_seed(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(PROFILE)
    said = generate_corpus(tmp_path / "c", str(tmp_path / "tiny.toml"), 1.0, 2, 1, _silent)
    assert said["system_files"] > 0
    assert (tmp_path / "c" / "system-files.csv").read_bytes() == (whole / "system-files.csv").read_bytes()
