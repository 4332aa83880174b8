"""worker.ocr.tesseract: one picture in a process that may die, hang or swell."""

import dataclasses
import io
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from debian_programs import program
from hypothesis import given, settings
from hypothesis import strategies as st
from installation import is_gone, until
from ocr_pictures import ENGLISH, captioned, drawn, mixed_pdf, picture, read, stand_in
from PIL import Image

from core.errors import SystemFault
from core.records import Limits, OcrChoice
from monitoring.processes import below
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.records import TextState
from worker.ocr import tesseract
from worker.ocr.pages import is_picture, pages_of
from worker.ocr.pdf_pages import dpi_for
from worker.ocr.tesseract import Engine, Recognised, fault_of, find_engine, held, recognise

_WORD = r"printf '5\t1\t1\t1\t1\t1\t0\t0\t9\t9\t90\t%s\n'"


def _recognise(engine: Engine, choice: OcrChoice = ENGLISH, data: bytes = b"picture") -> Recognised:
    with held() as file:
        os.write(file, data)
        return recognise(engine, file, choice)


def _code(engine: Engine, choice: OcrChoice = ENGLISH, data: bytes = b"picture") -> ExceptionCode:
    with pytest.raises(DocumentError) as failed:
        _recognise(engine, choice, data)
    assert "\n" not in failed.value.detail
    return failed.value.code


def test_words_are_read() -> None:
    program("tesseract", "tesseract-ocr")
    found = _recognise(find_engine(), data=picture("PNG", ["HARVEST LANTERN"]))
    assert found.text.split() == ["HARVEST", "LANTERN"]
    assert found.confidence / found.letters > 60


def test_a_picture_without_words_gives_none() -> None:
    program("tesseract", "tesseract-ocr")
    assert _recognise(find_engine(), data=picture("PNG", [])) == Recognised()


def test_bytes_that_are_no_picture_are_corrupt() -> None:
    program("tesseract", "tesseract-ocr")
    assert _code(find_engine(), data=picture("PNG", ["HARVEST"])[:500]) is ExceptionCode.CORRUPT


def test_memory_is_limited() -> None:
    """More pixels than fit are the document's trouble, and nobody else's."""
    program("tesseract", "tesseract-ocr")
    choice = dataclasses.replace(ENGLISH, memory_mb=30)
    assert _code(find_engine(), choice, picture("BMP", ["HARVEST"] * 60)) is ExceptionCode.MEMORY


def test_it_has_the_picture_one_thread_and_little_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDBENCH_TOKEN", "secret")
    engine = stand_in(
        tmp_path,
        f'{_WORD} "$(cat)"; for v in OMP_THREAD_LIMIT=$OMP_THREAD_LIMIT "$EDBENCH_TOKEN"; do {_WORD} "$v"; done',
    )
    assert _recognise(engine).text == "picture OMP_THREAD_LIMIT=1"


def test_it_may_not_write_files(tmp_path: Path) -> None:
    """Not more than its text could be, into any file: core dumps are off, and its own directory is none of ours."""
    engine = stand_in(tmp_path, f'{_WORD} "$(pwd)"; {_WORD} "$(ulimit -c)"; {_WORD} "$(ulimit -f)"')
    blocks = ENGLISH.page_bytes // 512
    assert _recognise(engine).text == f"/ 0 {blocks}"


def test_a_flood_is_cut(tmp_path: Path) -> None:
    engine = stand_in(tmp_path, f"while :; do {_WORD} flood; done")
    found = _recognise(engine, dataclasses.replace(ENGLISH, page_bytes=5_000))
    assert found.cut
    assert set(found.text.split()) == {"flood"}


def test_one_that_hangs_is_ended(tmp_path: Path) -> None:
    assert (
        _code(stand_in(tmp_path, "exec sleep 1000"), dataclasses.replace(ENGLISH, page_seconds=0.2))
        is ExceptionCode.TIMEOUT
    )


@pytest.mark.parametrize("number", ["SEGV", "KILL", "ABRT"])
def test_only_a_picture_that_kills_twice_is_to_blame(
    tmp_path: Path, number: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, somebody else may have been; the second process reads the picture from its beginning again."""
    monkeypatch.setattr(tesseract, "_confined", list)  # it tells its second self by a file
    once = stand_in(
        tmp_path,
        f'[ -e "{tmp_path}/again" ] || {{ : >"{tmp_path}/again"; cat >&2; kill -{number} $$; }}; {_WORD} "$(cat)"',
    )
    assert _recognise(once).text == "picture"
    assert _code(stand_in(tmp_path, f"kill -{number} $$")) is ExceptionCode.KILLED_PARSER


def test_one_that_cannot_be_started_is_no_documents_fault(tmp_path: Path) -> None:
    """Gone, or without its language data since the job began: the job is suspended."""
    with pytest.raises(SystemFault, match="doctor"):
        _recognise(Engine(str(tmp_path / "gone"), "5", ("eng",)))
    with pytest.raises(SystemFault, match="doctor"):
        _recognise(stand_in(tmp_path, "echo \"Failed loading language 'eng'\" >&2; exit 1"))


def test_it_sees_no_files_and_no_network(tmp_path: Path) -> None:
    """But those of programs: neither ours nor the system's secrets, and it writes none."""
    tries = f"{{ cat /etc/passwd {Path(__file__)} /proc/$PPID/environ; ls /; : >/tmp/edbench-written; }} 2>&-"
    assert _recognise(stand_in(tmp_path, f'{_WORD} "$({tries})none"')).text == "none"
    assert not Path("/tmp/edbench-written").exists()


def _is_asleep(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep")
    except OSError:
        return False


def test_it_dies_with_its_slot(tmp_path: Path) -> None:
    engine = stand_in(tmp_path, "exec sleep 1000")
    code = (
        "from core.records import OcrChoice; from worker.ocr.tesseract import Engine;"
        " from worker.ocr.tesseract import held, recognise\n"
        f"with held() as file: recognise(Engine({engine.program!r}, '5', ()), file, OcrChoice(languages='eng'))"
    )
    root = Path(__file__).parents[4]
    slot = subprocess.Popen([sys.executable, "-c", code], cwd=root, env={**os.environ, "PYTHONPATH": str(root)})

    def asleep() -> list[int]:
        assert slot.poll() is None
        return [pid for pid in below(slot.pid, direct=True) if _is_asleep(pid)]

    (pid,) = until(asleep)
    slot.kill()
    slot.wait()
    until(lambda: is_gone(pid))


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (1, b"Error in pixReadMem: png: no pix returned\nError during processing.\n", ExceptionCode.CORRUPT),
        (1, b"", ExceptionCode.CORRUPT),
        (1, b"libpng error: Out of memory\nError during processing.", ExceptionCode.MEMORY),
        (-signal.SIGABRT, b"terminate called: std::bad_alloc", ExceptionCode.MEMORY),
        (-signal.SIGXCPU, b"", ExceptionCode.TIMEOUT),
        (-signal.SIGSEGV, b"", ExceptionCode.KILLED_PARSER),
        (-64, b"\xff\n", ExceptionCode.KILLED_PARSER),
    ],
)
def test_codes(status: int, message: bytes, code: ExceptionCode) -> None:
    assert fault_of(status, message).code is code


_ECHO = f"{_WORD} page"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "BMP", "WEBP", "GIF", "TIFF", "PDF"])
def test_every_kind_is_read(kind: str) -> None:
    program("tesseract", "tesseract-ocr")
    text, row, codes = read(picture(kind, ["HARVEST LANTERN"]))
    assert text.split() == ["HARVEST", "LANTERN"]
    assert (row.state, row.characters, row.pages, codes) == (TextState.OK, len(text), 1, {})
    about = {key: value for key, value in row.metadata.items() if key.startswith("ocr")}
    assert about.pop("ocr_engine").startswith("tesseract ")
    assert about.pop("ocr_confidence") > 60
    assert about == {"ocr": True, "ocr_languages": "eng", "ocr_pages": 1}


@pytest.mark.parametrize("kind", ["TIFF", "PDF"])
def test_pages_come_in_order(kind: str) -> None:
    program("tesseract", "tesseract-ocr")
    text, row, _ = read(picture(kind, ["HARVEST"], [], ["LANTERN"]))
    assert text.split() == ["HARVEST", "LANTERN"]
    assert (row.metadata["ocr_pages"], row.pages) == (3, 3)


def test_nothing_found_leaves_the_state() -> None:
    program("tesseract", "tesseract-ocr")
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
    program("tesseract", "tesseract-ocr")
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


def test_damage_that_is_known_is_not_reported_twice() -> None:
    program("tesseract", "tesseract-ocr")
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
    program("tesseract", "tesseract-ocr")
    for head in (b"\xff\xd8\xff", b"GIF89a", b"BM", b"II*\0", b"RIFF1234WEBP"):
        data = head + b"\n/etc/hostname\n"
        assert is_picture(data)
        assert "hostname" not in _message(data)


def _message(data: bytes) -> str:
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
        assert os.pread(page.file, len(data) + 1, 0) == data


def test_bare_pages_among_pages_with_text() -> None:
    """They alone are read; the text of the others stays, once, and the metadata says what was read."""
    program("tesseract", "tesseract-ocr")
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
