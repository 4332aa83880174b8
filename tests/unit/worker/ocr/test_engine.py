"""worker.ocr.tesseract: which tesseract is there, and the lines that say why there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from ocr_pictures import need_tesseract

from worker.ocr.tesseract import Engine, OcrUnavailable, find_engine, parse_languages_list, parse_version


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tesseract 5.3.0\n leptonica-1.82.0\n", ("5.3.0", 5)),
        ("tesseract 4.1.1\n", ("4.1.1", 4)),
        ("tesseract v5.4.0.20240606\n", ("5.4.0.20240606", 5)),
        ("tesseract 5.0.0-alpha-20210401", ("5.0.0-alpha-20210401", 5)),
    ],
)
def test_versions(text: str, found: tuple[str, int]) -> None:
    """As the releases, Windows builds and development versions write them."""
    assert parse_version(text) == found


def test_what_says_no_version_is_no_tesseract() -> None:
    with pytest.raises(OcrUnavailable, match="install"):
        parse_version("usage: something else")


def test_languages() -> None:
    text = 'List of available languages in "/usr/share/x/" (3):\neng\nosd\nscript/Latin\n\nsome warning here\n'
    assert parse_languages_list(text) == ("eng", "osd", "script/Latin")


def test_a_language_without_data_is_named_with_its_package() -> None:
    with pytest.raises(OcrUnavailable) as refused:
        Engine("t", "5.3.0", ("eng", "osd")).needs("deu+eng+chi_sim")
    said = str(refused.value)
    assert "no data of deu, chi_sim" in said
    assert "apt-get install tesseract-ocr-deu tesseract-ocr-chi-sim" in said
    assert "\n" not in said
    Engine("t", "5.3.0", ("eng", "osd")).needs("eng")


def test_no_tesseract(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OcrUnavailable, match="apt-get install tesseract-ocr"):
        find_engine()
    program = tmp_path / "tesseract"
    program.write_text('#!/bin/sh\ncase $1 in --version) echo tesseract 5.9.1;; *) echo "x (1):"; echo eng;; esac\n')
    program.chmod(0o755)
    assert find_engine() == Engine(str(program), "5.9.1", ("eng",))


@pytest.mark.parametrize(
    ("script", "said"), [("echo tesseract 3.04.01", "too old"), ("echo wrong >&2; exit 3", "wrong")]
)
def test_one_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, said: str) -> None:
    program = tmp_path / "tesseract"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OcrUnavailable, match=said):
        find_engine()


def test_the_one_of_this_machine() -> None:
    need_tesseract()
    engine = find_engine()
    assert Path(engine.program).name == "tesseract"
    engine.needs("eng")
