"""worker.ocr.tesseract: what may be asked for, and the lines that refuse it."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.doctor import Level, ocr
from core.errors import UsageError
from core.records import OcrChoice
from worker.ocr.tesseract import ocr_choice, refuse_no_ocr


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a tesseract would be found; there is none yet."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "tesseract"


def _install(program: Path) -> None:
    program.write_text('#!/bin/sh\ncase $1 in --version) echo tesseract 5.3.0;; *) echo "x (1):"; echo eng;; esac\n')
    program.chmod(0o755)


def test_what_is_asked_for() -> None:
    """English when no language is said; languages alone are a mistake."""
    assert ocr_choice(False, None) == OcrChoice()
    assert ocr_choice(True, None).languages == "eng"
    assert ocr_choice(True, "deu+eng").languages == "deu+eng"
    with pytest.raises(UsageError, match="requires --ocr"):
        ocr_choice(False, "eng")


def test_without_tesseract(program: Path) -> None:
    """Refused in one line that says what to install; who does not ask hears nothing of it."""
    refuse_no_ocr(OcrChoice())
    with pytest.raises(UsageError) as refused:
        refuse_no_ocr(OcrChoice(languages="eng"))
    assert str(refused.value) == (
        "--ocr: tesseract is not installed here; install it (Debian, Ubuntu: apt-get install tesseract-ocr),"
        " or remove --ocr"
    )
    found = ocr()
    assert (found.level, "apt-get install tesseract-ocr" in found.fix) == (Level.WARN, True)


def test_without_a_languages_data(program: Path) -> None:
    """Named, with its package, at the option that named it."""
    _install(program)
    refuse_no_ocr(OcrChoice(languages="eng"))
    with pytest.raises(UsageError) as refused:
        refuse_no_ocr(OcrChoice(languages="eng+deu"))
    assert str(refused.value) == (
        "--ocr-languages: tesseract has no data of deu here (it has eng);"
        " install it (Debian, Ubuntu: apt-get install tesseract-ocr-deu), or give other languages"
    )
    assert (ocr().level, ocr().what) == (Level.OK, "OCR: tesseract 5.3.0 with eng")
