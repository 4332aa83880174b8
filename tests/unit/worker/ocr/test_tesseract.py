"""worker.ocr.tesseract: one picture in a process that may die, hang or swell."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from installation import PATIENCE
from ocr_pictures import ENGLISH, need_tesseract, picture, stand_in

from core.errors import SystemFault
from core.records import OcrChoice
from readers.errors import DocumentError, ExceptionCode
from worker.ocr import tesseract
from worker.ocr.tesseract import Engine, Recognised, fault_of, find_engine, held, recognise
from worker.processes import children_of

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
    need_tesseract()
    found = _recognise(find_engine(), data=picture("PNG", ["HARVEST LANTERN"]))
    assert found.text.split() == ["HARVEST", "LANTERN"]
    assert found.confidence / found.letters > 60


def test_a_picture_without_words_gives_none() -> None:
    need_tesseract()
    assert _recognise(find_engine(), data=picture("PNG", [])) == Recognised()


def test_bytes_that_are_no_picture_are_corrupt() -> None:
    need_tesseract()
    assert _code(find_engine(), data=picture("PNG", ["HARVEST"])[:500]) is ExceptionCode.CORRUPT


def test_memory_is_limited() -> None:
    """More pixels than fit are the document's trouble, and nobody else's."""
    need_tesseract()
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
    deadline = time.monotonic() + PATIENCE
    while not (asleep := [pid for pid in children_of(slot.pid) if _is_asleep(pid)]):
        assert slot.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    (pid,) = asleep
    slot.kill()
    slot.wait()
    while _lives(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _lives(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    ("status", "said", "code"),
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
def test_codes(status: int, said: bytes, code: ExceptionCode) -> None:
    assert fault_of(status, said).code is code
