"""worker.ocr.pages and reading: frames and rendered pages, item by item."""

from __future__ import annotations

import dataclasses
import io
import math
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ocr_pictures import ENGLISH, captioned, drawn, mixed_pdf, need_tesseract, picture, read, stand_in
from PIL import Image

from core.records import Limits, OcrChoice
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.records import TextState
from worker.ocr.pages import is_picture, pages_of
from worker.ocr.pdf_pages import dpi_for

_WORD = r"printf '5\t1\t1\t1\t1\t1\t0\t0\t9\t9\t90\t%s\n'"
_ECHO = f"{_WORD} page"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "BMP", "WEBP", "GIF", "TIFF", "PDF"])
def test_every_kind_is_read(kind: str) -> None:
    need_tesseract()
    text, row, codes = read(picture(kind, ["HARVEST LANTERN"]))
    assert text.split() == ["HARVEST", "LANTERN"]
    assert (row.state, row.characters, row.pages, codes) == (TextState.OK, len(text), 1, {})
    about = {key: value for key, value in row.metadata.items() if key.startswith("ocr")}
    assert about.pop("ocr_engine").startswith("tesseract ")
    assert about.pop("ocr_confidence") > 60
    assert about == {"ocr": True, "ocr_languages": "eng", "ocr_pages": 1}


@pytest.mark.parametrize("kind", ["TIFF", "PDF"])
def test_pages_come_in_order(kind: str) -> None:
    need_tesseract()
    text, row, _ = read(picture(kind, ["HARVEST"], [], ["LANTERN"]))
    assert text.split() == ["HARVEST", "LANTERN"]
    assert (row.metadata["ocr_pages"], row.pages) == (3, 3)


def test_nothing_found_leaves_the_state() -> None:
    need_tesseract()
    text, row, codes = read(picture("PNG", []))
    assert (text, row.state, codes, row.metadata["ocr"]) == ("", TextState.NO_TEXT_LAYER, {}, True)
    assert "ocr_confidence" not in row.metadata


def test_a_caption_stays_and_is_not_what_was_recognised(tmp_path: Path) -> None:
    about = captioned(picture("PNG", []), "seen at the jetty")
    text, row, codes = read(about, engine=stand_in(tmp_path, ""))
    assert (text, row.state, codes) == ("seen at the jetty\n", TextState.NO_TEXT_LAYER, {})
    text, row, _ = read(about, engine=stand_in(tmp_path, _ECHO))
    assert (text, row.state) == ("seen at the jetty\npage\n", TextState.OK)


def test_real_scans(real_files: Path) -> None:
    need_tesseract()
    scans = real_files / "ingest-file"
    text, _, codes = read((scans / "hello_world_tiff.tif").read_bytes())
    assert ("HELLO" in text.upper(), codes) == (True, {})


def test_pages_beyond_the_limit_are_left_out(tmp_path: Path) -> None:
    few = dataclasses.replace(ENGLISH, pages=2)
    text, row, codes = read(picture("TIFF", ["a"], ["b"], ["c"]), few, stand_in(tmp_path, _ECHO))
    assert (text, row.state, codes) == ("page\npage\n", TextState.TRUNCATED_BY_LIMIT, {})
    assert row.metadata["ocr_pages"] == 2


def test_characters_beyond_the_limit_are_left_out(tmp_path: Path) -> None:
    text, row, _ = read(
        picture("TIFF", ["a"], ["b"]), engine=stand_in(tmp_path, _ECHO), limits=Limits(text_characters=7)
    )
    assert (text, row.state) == ("page\npa", TextState.TRUNCATED_BY_LIMIT)


def test_one_bad_page_costs_the_others_nothing(tmp_path: Path) -> None:
    bad = f'case "$*" in *page_number=1*) kill -SEGV $$;; esac; {_ECHO}'
    text, row, codes = read(picture("TIFF", ["a"], ["b"], ["c"]), engine=stand_in(tmp_path, bad))
    assert (text, row.state) == ("page\npage\n", TextState.PARTIAL)
    assert codes["killed_parser"].startswith("page 2: ")


def test_an_item_that_takes_too_long_keeps_what_there_is(tmp_path: Path) -> None:
    none = dataclasses.replace(ENGLISH, item_seconds=-1.0)
    text, row, codes = read(picture("TIFF", ["a"], ["b"]), none, stand_in(tmp_path, _ECHO))
    assert (text, row.state, list(codes)) == ("", TextState.FAILED, ["timeout"])


def test_too_many_pixels(tmp_path: Path) -> None:
    small = dataclasses.replace(ENGLISH, pixels=1_000, rendered_pixels=100_000)
    _, row, codes = read(picture("PNG", ["HARVEST"]), small, stand_in(tmp_path, _ECHO))
    assert (row.state, list(codes)) == (TextState.FAILED, ["too_large"])
    text, _, codes = read(
        picture("PDF", ["HARVEST"]), small, stand_in(tmp_path, f'{_WORD} "$(head -c 20 | head -2 | tr "\\n" " ")"')
    )
    magic, width, height, _ = text.split(maxsplit=3)
    assert (magic, codes) == ("P5", {})
    assert int(width) * int(height) <= 100_000


def test_damage_that_is_known_is_not_told_twice() -> None:
    need_tesseract()
    _, row, codes = read(picture("PNG", ["HARVEST LANTERN"])[:-40])
    assert list(codes) == ["truncated"]
    assert row.metadata["ocr"] is True


@pytest.mark.parametrize(
    "data", [b"/etc/hostname\n", b"https://example.org/x.png\n", b"P5 1 1 255\n0", b"%PDF-1.4", b""]
)
def test_what_is_no_picture_never_gets_to_tesseract(data: bytes) -> None:
    """It would take the bytes for a list of files, and open them."""
    assert not is_picture(data)
    with (
        pytest.raises(DocumentError) as refused,
        pages_of(MemorySource(b"x.png", data), "image/png", Limits(), ENGLISH),
    ):
        pass
    assert refused.value.code is ExceptionCode.CORRUPT


def test_tesseract_takes_for_pictures_what_we_do() -> None:
    need_tesseract()
    for head in (b"\xff\xd8\xff", b"GIF89a", b"BM", b"II*\0", b"RIFF1234WEBP"):
        data = head + b"\n/etc/hostname\n"
        assert is_picture(data)
        assert "hostname" not in _said(data)


def _said(data: bytes) -> str:
    done = subprocess.run(["tesseract", "stdin", "stdout"], input=data, capture_output=True, timeout=120, check=False)
    return (done.stdout + done.stderr).decode(errors="replace")


def test_a_blank_page_is_not_read(tmp_path: Path) -> None:
    """No process for a page without anything on it, which scanners give on every second side."""
    out = io.BytesIO()
    Image.new("L", (400, 300), 255).save(out, "PDF", save_all=True, append_images=[drawn("HARVEST")])
    text, row, _ = read(out.getvalue(), engine=stand_in(tmp_path, _ECHO))
    assert (text, row.metadata["ocr_pages"]) == ("page\n", 2)


@settings(max_examples=50)
@given(st.floats(min_value=0.001, max_value=1e7), st.floats(min_value=0.001, max_value=1e7))
def test_no_page_has_too_many_pixels(width: float, height: float) -> None:
    """Whatever size a PDF says that its page has: not more pixels than allowed."""
    choice = OcrChoice(languages="eng")
    scale = dpi_for(width, height, choice) / 72
    assert 0 <= scale <= choice.dpi / 72
    assert math.ceil(width * scale) * math.ceil(height * scale) <= choice.rendered_pixels


@pytest.mark.parametrize(("width", "height"), [(0.0, 100.0), (-1.0, 5.0), (float("nan"), 1.0), (float("inf"), 1.0)])
def test_pages_of_no_size(width: float, height: float) -> None:
    with pytest.raises(DocumentError):
        dpi_for(width, height, ENGLISH)


def test_a_picture_is_handed_over_as_it_is(tmp_path: Path) -> None:
    data = picture("BMP", ["HARVEST"] * 40)
    with pages_of(MemorySource(b"x", data), "image/bmp", Limits(), ENGLISH) as pages:
        page = pages.page(0)
        assert page is not None
        assert os.pread(page.file, len(data) + 1, 0) == data


def test_bare_pages_among_pages_with_text() -> None:
    """They alone are read; the text of the others stays, once, and the metadata says what was read."""
    need_tesseract()
    text, row, codes = read(mixed_pdf("plain words", ["HARVEST"], None, "more words", ["LANTERN"]))
    assert sorted(text.split()) == sorted(["plain", "words", "more", "words", "HARVEST", "LANTERN"])
    assert (row.state, row.characters, row.pages, codes) == (TextState.OK, len(text), 5, {})
    assert (row.metadata["pages_without_text"], row.metadata["ocr_pages"]) == ("2, 5", 2)


def test_bare_pages_in_which_nothing_is_found(tmp_path: Path) -> None:
    """All of it was read, and it says that somebody looked; with a page that kills it is partial, and an exception says why."""
    text, row, codes = read(mixed_pdf("words", ["x"]), engine=stand_in(tmp_path, ":"))
    assert (text.split(), row.state, codes, row.metadata["ocr_pages"]) == (["words"], TextState.OK, {}, 1)
    text, row, codes = read(mixed_pdf("words", ["x"]), engine=stand_in(tmp_path, "kill -SEGV $$"))
    assert (text.split(), row.state, [*codes]) == (["words"], TextState.PARTIAL, ["killed_parser"])


def test_more_bare_pages_than_are_read(tmp_path: Path) -> None:
    few = dataclasses.replace(ENGLISH, pages=2)
    pages = ["words", ["a"], "words", ["b"], ["c"]]
    text, row, _ = read(mixed_pdf(*pages), few, stand_in(tmp_path, _ECHO))
    assert (text.split().count("page"), row.state) == (2, TextState.TRUNCATED_BY_LIMIT)
    text, row, _ = read(mixed_pdf(*pages[:4]), few, stand_in(tmp_path, _ECHO))
    assert (text.split().count("page"), row.state) == (2, TextState.OK)
