"""Pages of processing jobs: text that is typeset, pictures that are decoded, numbers below, the same bytes each time."""

import dataclasses
import io
import itertools
import os
import shutil
import struct
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from core.errors import SystemFault
from core.options import OcrChoice
from core.records import JobOptions, Limits
from production import typesetting
from production.pages import encoded, picture, stamped, text_of
from production.typesetting import COLUMNS, LINES, can_shape, drawn, installed, typeset
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.records import Kind
from sql.findings import Item
from worker.ocr.page import Page
from worker.ocr.pages import rendered
from worker.ocr.picture_pages import THRESHOLD, black_and_white

_CHOICE = OcrChoice(drawn=True)


@given(st.text(max_size=3_000))
def test_no_character_that_shows_is_lost(text: str) -> None:
    pages = typeset(text, 1_000)
    assert all(len(page) <= LINES for page in pages)
    assert all(len(line) <= COLUMNS for page in pages for line in page if line.isascii())
    shown = [c for c in text if c.isprintable() and c != " "]
    assert [c for page in pages for line in page for c in line if c != " "] == shown


def test_a_text_without_end_stops_at_the_limit() -> None:
    assert len(typeset("x\n" * 100_000, 3)) == 4


def _ink(lines: list[str]) -> tuple[int, int, int, int]:
    """Where on the page there is any."""
    box = drawn(lines, 100).point(lambda value: 255 - value).getbbox()
    assert box is not None
    return box


def test_what_runs_from_the_right_stands_at_the_right() -> None:
    hebrew, arabic = "\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627"
    lost: set[str] = set()
    drawn([hebrew, arabic], 100, lost)
    if not can_shape():
        assert lost == set(hebrew + arabic)  # said, not shown
        pytest.skip("there is no FriBiDi here")
    assert not lost
    assert _ink([hebrew])[0] > 400 > _ink(["budget"])[2]
    assert drawn([hebrew], 100).tobytes() != drawn([hebrew[::-1]], 100).tobytes()


def test_what_no_typeface_has_is_reported_of() -> None:
    unknown, known = "\U000f1234", "\u4e2d"
    lost: set[str] = set()
    drawn([f"a{unknown}b", "plain"], 100, lost)
    assert lost == {unknown}
    lost.clear()
    drawn([known], 100, lost)
    assert bool(lost) is not bool(installed(ord(known)))


def test_typefaces_that_are_not_reported_are_not_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page drawn without them would be another than the same page drawn later; where there is no fontconfig there are none."""
    program = tmp_path / "fc-list"
    program.write_text("#!/bin/sh\nkill -9 $$\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    installed.cache_clear()
    with pytest.raises(SystemFault, match="fc-list"):
        drawn(["\u4e2d"], 100)
    program.unlink()
    assert installed(0x4E2D) == ()
    installed.cache_clear()


def test_a_line_that_is_too_wide_is_drawn_smaller() -> None:
    assert _ink(["\u05e9" + "W" * COLUMNS])[0] > 50


def _bytes(image: Image.Image, kind: str, **more: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **more)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["tiff", "jpeg", "pdf"])
def test_the_same_page_is_the_same_bytes(kind: str) -> None:
    page = drawn(["Budget"], 100)
    data = [encoded(stamped(drawn(["Budget"], 100), 100, "ABC00000001"), 100, kind) for _ in range(2)]  # type: ignore[arg-type]
    assert data[0] == data[1]
    assert data[0] != encoded(stamped(page, 100, "ABC00000002"), 100, kind)  # type: ignore[arg-type]
    if kind != "pdf":
        with Image.open(io.BytesIO(data[0])) as image:
            assert image.mode == {"tiff": "1", "jpeg": "RGB"}[kind]
            assert image.size == (page.width, page.height + 25)
            assert round(image.info["dpi"][0]) == 100
            if kind == "tiff":
                assert image.info["compression"] == "group4"
                assert (
                    image.crop((0, 0, *page.size)).tobytes()
                    == page.point(lambda v: 255 * (v >= THRESHOLD), "1").tobytes()
                )


@pytest.mark.parametrize("mode", ["L", "RGB", "1"])
def test_a_page_that_is_narrower_than_its_number_has_all_of_it(mode: str) -> None:
    for dpi, number in itertools.product((72, 300), ("ABC00000001", "ABC00000002", "A" * 40 + "9" * 18)):
        small = stamped(Image.new(mode, (16, 16)), dpi, number)
        wide = stamped(Image.new(mode, (3_000, 16)), dpi, number)
        assert _printed(small) == _printed(wide)
        others = small.convert("L").crop((16, 0, small.width, 16))
        assert others.getextrema() == (255, 255)
        assert small.convert("L").crop((0, 0, 16, 16)).getextrema() == (0, 0)
    assert _printed(stamped(Image.new(mode, (16, 16)), 72, "A1")) != _printed(
        stamped(Image.new(mode, (16, 16)), 72, "A2")
    )


def _printed(page: Image.Image) -> tuple[tuple[int, int], bytes]:
    """The ink of a number below 16 lines of picture, its size, and no white around it."""
    strip = page.convert("L").crop((0, 16, *page.size)).point(lambda value: 255 - value)
    box = strip.getbbox()
    assert box is not None
    assert box[2] < page.width
    return (box[2] - box[0], box[3] - box[1]), strip.crop(box).tobytes()


def _pages(data: bytes, media_type: str, choice: OcrChoice = _CHOICE) -> list[Page | None]:
    with rendered(MemorySource(b"x", data), media_type, Limits(), choice) as pages:
        return [pages.page(number) for number in range(pages.count)]


def test_black_and_white_is_what_is_darker_than_the_threshold() -> None:
    for width in (1, 7, 8, 13):
        image = Image.frombytes("L", (width, 3), bytes((79 * n) % 256 for n in range(3 * width)))
        (page,) = _pages(_bytes(image, "PNG"), "image/png", OcrChoice(drawn=True, bilevel=True, dpi=1200))
        assert page is not None
        assert picture(page).tobytes() == black_and_white(image).tobytes()


def test_frames_of_a_picture_are_pages() -> None:
    """Upright, on white, at the resolution that they say, smaller where they have more pixels than a page."""
    frames = [Image.new("RGBA", (200, 100), (0, 0, 0, alpha)) for alpha in (0, 255)]
    data = _bytes(frames[0], "TIFF", save_all=True, append_images=frames[1:], dpi=(100, 100))
    clear, black = _pages(data, "image/tiff")
    assert clear is not None
    assert black is not None
    assert (clear.data[:15], clear.dpi) == (b"P5 200 100 255\n", 100)
    assert (clear.data[-1], black.data[-1]) == (255, 0)
    (small,) = _pages(data[: len(data)], "image/tiff", OcrChoice(drawn=True, rendered_pixels=5_000, colour=True))[:1]
    assert small is not None
    assert small.data.startswith(b"P6 100 50 255\n")
    assert small.dpi == 50


@dataclass(frozen=True)
class _Bad:
    data: bytes
    media_type: str


@pytest.mark.parametrize(
    "bad",
    [
        _Bad(_bytes(Image.new("L", (50, 50)), "PNG")[:60], "image/png"),
        _Bad(b"GIF89a\xff\xff\xff\xff\0\0\0", "image/gif"),
        _Bad(b"II*\0\x08\0\0\0\xff\xff", "image/tiff"),
        _Bad(b"BM" + b"\xff" * 60, "image/bmp"),
        _Bad(b"no picture", "image/png"),
    ],
)
def test_damage_and_bombs_are_document_errors(bad: _Bad) -> None:
    with pytest.raises(DocumentError):
        _pages(bad.data, bad.media_type)


@pytest.mark.parametrize(
    "data", [b"", b"P5 2 2 255\nabc", b"P5 99999 99999 255\nx", b"P7 1 1 255\nx", b"P5 0 0 255\n", b"P6 1 1 255\nx"]
)
def test_what_the_box_sends_is_not_believed(data: bytes) -> None:
    with pytest.raises(DocumentError):
        picture(Page(data, 100))
    with pytest.raises(DocumentError):
        picture(Page(b"P4 2 1 255\n\0", 100))
    assert picture(Page(b"P4 2 1\n\x40", 100)).convert("L").tobytes() == b"\xff\0"
    assert picture(Page(b"P5 2 1 255\n\0\xff", 100)).tobytes() == b"\0\xff"


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


_MAIL = b"From: ann@example.org\r\nSubject: plums\r\nDate: Tue, 02 Jul 2024 10:00:00\r\n\r\n"


def _of(data: bytes, media_type: str, options: JobOptions | None = None) -> tuple[str, tuple[DocumentError, ...]]:
    item = Item(
        id=uuid.UUID(int=1), parent=None, family=None, custodian=0, ordinal=b"a", depth=0, name=b"a",
        container_path=("a",), kind=Kind.LOOSE_FILE, container=False, media_type=media_type, size=len(data), sha256=b"",
    )  # fmt: skip
    return text_of(item, MemorySource(b"a", data), options or JobOptions())


def test_a_text_that_was_cut_ends_with_a_line_that_reports_it() -> None:
    options = JobOptions(limits=Limits(text_characters=20))
    for media_type, head in (("text/plain", b""), ("message/rfc822", _MAIL)):
        text, faults = _of(head + b"word " * 10, media_type, options)
        assert text.endswith("word word word word \n\n[The text is cut here, after 20 characters.]"), media_type
        assert faults == ()
    assert "[" not in _of(b"word " * 4, "text/plain", options)[0]


def test_a_text_of_which_some_is_missing_is_drawn_and_its_exception_kept() -> None:
    lost = ("word " * 10 + "\ufffd" * 20).encode()
    text, (fault,) = _of(b"Content-Type: text/plain; charset=utf-8\r\n\r\n" + lost, "message/rfc822")
    assert fault.code is ExceptionCode.CORRUPT
    assert "word word" in text
    assert text.splitlines()[-1].startswith("[The text is incomplete: corrupt: ")
    with pytest.raises(DocumentError) as caught:
        _of(b"x" * 1_000, "text/html", JobOptions(limits=Limits(parse_bytes=100)))
    assert caught.value.code is ExceptionCode.TOO_LARGE


def test_dates_are_in_the_zone_of_the_job_that_found_it() -> None:
    options = dataclasses.replace(JobOptions(), time_zone="Europe/Berlin")
    assert "2024-07-02T08:00:00Z" in _of(_MAIL + b"x", "message/rfc822", options)[0]
