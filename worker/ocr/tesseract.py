"""One picture through tesseract, in a process of its own under limits.

The picture goes in as standard input and the text comes back as standard output, both anonymous files in memory: no name
is handed over, nothing is written to any disk, and no pipe can stall. Whoever calls has looked at the picture's first bytes
(`pages`): what tesseract does not know as a picture it takes for a list of file names, and opens them.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from core.errors import SystemFault
from core.records import OcrChoice
from core.services.launch import CANNOT_START
from core.services.process import tied
from readers.errors import DocumentError, ExceptionCode
from worker.box import confine
from worker.ocr.engine import Engine
from worker.ocr.words import Recognised, recognised

_TIMES = 2  # a process killed by a signal is started once more: only a picture that kills twice is to blame
_WORDS_OF_MEMORY = (b"bad_alloc", b"alloc fail", b"out of memory", b"insufficient memory")
_WORDS_OF_DATA = (b"Failed loading language", b"Could not initialize tesseract")


@contextmanager
def held(name: str = "edbench-ocr") -> Iterator[int]:
    """A file in memory that no directory has; closed, and so gone, at the end."""
    descriptor = os.memfd_create(name)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def recognise(engine: Engine, picture: int, choice: OcrChoice, *, frame: int = 0, dpi: int | None = None) -> Recognised:
    """The text of the picture in file `picture`, of a TIFF its frame (from 0).

    DocumentError `timeout`, `memory`, `corrupt` or `killed_parser` (twice); SystemFault when tesseract cannot be started.
    """
    arguments = ["stdin", "stdout", "-l", choice.languages, "-c", f"tessedit_page_number={frame}"]
    arguments += ["-c", "tessedit_create_tsv=1"]
    arguments += ["--dpi", str(dpi)] if dpi else []
    for _ in range(_TIMES):
        with held() as out, held() as err:
            status = _run(engine, arguments, picture, out, err, choice)
            said = _content(err)
            if status in (0, -signal.SIGXFSZ) and not _lacked_memory(said):
                return recognised(_content(out), choice.page_confidence, choice.word_confidence, cut=status != 0)
            error = fault_of(status, said)
        if error.code is not ExceptionCode.KILLED_PARSER:
            break
    raise error


def _run(engine: Engine, arguments: list[str], picture: int, out: int, err: int, choice: OcrChoice) -> int:
    """Its exit status; minus SIGALRM when it was still at it when its time was over."""
    os.lseek(picture, 0, os.SEEK_SET)
    seconds = choice.page_seconds
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: max(1, round(seconds)),
        resource.RLIMIT_FSIZE: choice.page_bytes,
        resource.RLIMIT_DATA: choice.memory_mb * 1_000_000,
    }
    process = subprocess.Popen(
        tied(_confined([engine.program, *arguments]), limits=limits),
        stdin=picture,
        stdout=out,
        stderr=err,
        cwd="/",
        env=_environment(),
        start_new_session=True,  # a Ctrl-C is for its slot, which ends in good order
    )
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return -signal.SIGALRM
    finally:
        if process.returncode is None:
            process.kill()
            process.wait()


def _confined(command: list[str]) -> list[str]:
    """`command` as it is started: without network, and without files but those of programs and its data, under a user of
    its own where that is possible (worker.box)."""
    readable = "\n".join({os.path.dirname(os.path.realpath(command[0])), os.environ.get("TESSDATA_PREFIX", "")})
    return [sys.executable, "-I", "-S", confine.__file__, str(os.getpid()), readable, "", *command]


def _environment() -> dict[str, str]:
    """Nothing but what it needs; one thread, for the slots share out the processors among them."""
    out = {"OMP_THREAD_LIMIT": "1", "LC_ALL": "C.UTF-8", "PATH": os.environ.get("PATH", os.defpath)}
    if data := os.environ.get("TESSDATA_PREFIX"):
        out["TESSDATA_PREFIX"] = data
    return out


def _content(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0) if size else b""


def fault_of(status: int, said: bytes) -> DocumentError:
    """Why it failed, from its exit status (negative: a signal) and what it wrote to standard error."""
    if status in (-signal.SIGALRM, -signal.SIGXCPU):
        return DocumentError(ExceptionCode.TIMEOUT, "tesseract was still reading it at its deadline")
    if _lacked_memory(said):
        return DocumentError(ExceptionCode.MEMORY, "reading it with tesseract needs more memory than the limit")
    if status == CANNOT_START or any(words in said for words in _WORDS_OF_DATA):
        raise SystemFault(f"tesseract cannot be started: {_last(said)}; see `edbench doctor`")
    if status < 0:
        return DocumentError(ExceptionCode.KILLED_PARSER, f"tesseract was killed reading it ({_signal(-status)})")
    return DocumentError(ExceptionCode.CORRUPT, f"tesseract cannot read the picture ({_last(said)})")


def _lacked_memory(said: bytes) -> bool:
    """Leptonica may go on without what it had no memory for, and end as if nothing were wrong."""
    return any(words in said.lower() for words in _WORDS_OF_MEMORY)


def _last(said: bytes) -> str:
    """The last line that says more than that there was an error."""
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    telling = [line for line in lines if line != "Error during processing."] or lines or ["no output"]
    return "".join(c if c.isprintable() else "?" for c in telling[-1])[:200]


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
