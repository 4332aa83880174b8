"""One picture through tesseract, in a process of its own under limits.

The picture goes in as standard input and the text comes back as standard output, both anonymous files in memory: no
name is passed, nothing is written to any disk, and no pipe can stall. The caller has checked the picture's first bytes
(`pages`): tesseract takes anything that it does not recognise as a picture for a list of file names, and opens them."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from core.errors import EdbenchError, SystemFault, UsageError
from core.records import OcrChoice
from core.services.launch import CANNOT_START
from core.services.process import tied
from readers.errors import DocumentError, ExceptionCode, corrupt
from worker.sandbox import confine

OLDEST = 4  # the first release with the recogniser whose figures docs/ocr.md has
_SECONDS = 60  # it answers in 0.02 s; a machine may be busy
_VERSION = re.compile(r"tesseract v?((\d+)[\w.\-]*)")


class OcrUnavailable(EdbenchError):
    """OCR is not possible here. `what` is missing, and `fix` is how to get it; the caller that reports it adds for
    what."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{what}; {fix}")
        self.what = what
        self.fix = fix


@dataclass(frozen=True, slots=True)
class Engine:
    """An installed tesseract."""

    program: str  # its path
    version: str  # "5.3.0"
    languages: tuple[str, ...]  # languages with data, sorted

    def needs(self, languages: str) -> None:
        """Raise OcrUnavailable if there is no data of one of the languages (joined by "+")."""
        absent = [name for name in languages.split("+") if name not in self.languages]
        if absent:
            packages = " ".join(f"tesseract-ocr-{name.replace('_', '-').lower()}" for name in absent)
            raise OcrUnavailable(
                f"tesseract has no data for {', '.join(absent)} on this host (it has data for "
                f"{', '.join(self.languages) or 'none'})",
                f"install it (Debian, Ubuntu: apt-get install {packages})",
            )


def find_engine() -> Engine:
    """Return the tesseract in the PATH. Raises OcrUnavailable without a usable one."""
    program = shutil.which("tesseract")
    if program is None:
        raise OcrUnavailable(
            "tesseract is not installed on this host", "install it (Debian, Ubuntu: apt-get install tesseract-ocr)"
        )
    return _asked(program)


@lru_cache(maxsize=8)
def _asked(program: str) -> Engine:
    """Query version and languages of the program; once a process. Failures are not remembered: they may be fixed
    meanwhile."""
    version, major = parse_version(_output_of(program, "--version"))
    if major < OLDEST:
        raise OcrUnavailable(f"tesseract {version} is too old", f"install version {OLDEST} or newer")
    return Engine(program, version, parse_languages_list(_output_of(program, "--list-langs")))


def _output_of(program: str, option: str) -> str:
    try:
        done = subprocess.run(
            [program, option], stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OcrUnavailable(f"{program} does not run ({error})", "reinstall tesseract") from error
    if done.returncode != 0:
        last_line = (done.stderr.decode(errors="replace").strip() or "no output").splitlines()[-1]
        raise OcrUnavailable(f"{program} {option} failed ({last_line})", "reinstall tesseract and its language data")
    return (done.stdout + done.stderr).decode(errors="replace")  # older ones write the version to standard error


def parse_version(text: str) -> tuple[str, int]:
    """Parse `tesseract 5.3.0` and more lines as ("5.3.0", 5). Raises OcrUnavailable for anything else."""
    match = _VERSION.search(text)
    if match is None:
        raise OcrUnavailable("tesseract does not print its version", "reinstall tesseract")
    return match[1], int(match[2])


def parse_languages_list(text: str) -> tuple[str, ...]:
    """Parse the output of `--list-langs`: a heading that ends with a colon, then a name a line."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(sorted({line for line in lines if line and not line.endswith(":") and " " not in line}))


_COLUMNS = 12
_WORD = "5"


@dataclass(frozen=True, slots=True)
class Recognised:
    """Text of one page."""

    text: str = ""
    letters: int = 0  # characters of words
    confidence: float = 0.0  # of all letters together: their mean times `letters`
    cut: bool = False  # there was more than a page may give


def recognised(table: bytes, page: float, word: float, *, cut: bool = False) -> Recognised:
    """Return the words of at least confidence `word` if the mean over all letters is at least `page`, else nothing.

    Lines that are not of the table, such as a truncated last one, are skipped."""
    words = list(_words(table))
    letters = sum(len(one.text) for one in words)
    if not letters or sum(one.sure * len(one.text) for one in words) / letters < page:
        return Recognised(cut=cut)
    kept = [one for one in words if one.sure >= word]
    pieces: list[str] = []
    before: tuple[str, ...] = ()
    for one in kept:
        pieces += (_between(before, one.line), one.text)
        before = one.line
    letters, sure = sum(len(one.text) for one in kept), sum(one.sure * len(one.text) for one in kept)
    return Recognised("".join(pieces), letters, sure, cut)


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    sure: float
    line: tuple[str, ...]  # page, block, paragraph, line


def _words(table: bytes) -> Iterator[_Word]:
    for line in table.decode("utf-8", "ignore").split("\n"):
        columns = line.rstrip("\r").split("\t")
        if len(columns) != _COLUMNS or columns[0] != _WORD:
            continue
        text, sure = columns[11].replace("\0", "").strip(), _number(columns[10])
        if text and sure is not None:
            yield _Word(text, sure, tuple(columns[1:5]))


def _between(before: tuple[str, ...], now: tuple[str, ...]) -> str:
    """Return the separator before a word: a blank in the same line, an empty line before another paragraph."""
    if not before:
        return ""
    if before == now:
        return " "
    return "\n" if before[:-1] == now[:-1] else "\n\n"


def _number(text: str) -> float | None:
    """Parse a confidence; None if it is not one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number <= 100 else None


_TIMES = 2  # a process killed by a signal is started once more: only a picture that kills twice is to blame
_WORDS_OF_MEMORY = (b"bad_alloc", b"alloc fail", b"out of memory", b"insufficient memory")
_WORDS_OF_DATA = (b"Failed loading language", b"Could not initialize tesseract")


@contextmanager
def held(name: str = "edbench-ocr") -> Iterator[int]:
    """Yield an anonymous file in memory; closed, and so removed, at the end."""
    descriptor = os.memfd_create(name)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def recognise(engine: Engine, picture: int, choice: OcrChoice, *, frame: int = 0, dpi: int | None = None) -> Recognised:
    """Return the text of the picture in file `picture`, of a TIFF its frame (from 0).

    Raises DocumentError `timeout`, `memory`, `corrupt` or `killed_parser` (twice); SystemFault if tesseract cannot be
    started."""
    arguments = ["stdin", "stdout", "-l", choice.languages, "-c", f"tessedit_page_number={frame}"]
    arguments += ["-c", "tessedit_create_tsv=1"]
    arguments += ["--dpi", str(dpi)] if dpi else []
    for _ in range(_TIMES):
        with held() as out, held() as err:
            status = _run(engine, arguments, picture, out, err, choice)
            output = _content(err)
            if status in (0, -signal.SIGXFSZ) and not _lacked_memory(output):
                return recognised(_content(out), choice.page_confidence, choice.word_confidence, cut=status != 0)
            error = fault_of(status, output)
        if error.code is not ExceptionCode.KILLED_PARSER:
            break
    raise error


def _run(engine: Engine, arguments: list[str], picture: int, out: int, err: int, choice: OcrChoice) -> int:
    """Run tesseract; return its exit status, or minus SIGALRM if it still ran at the end of its time."""
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
    """Return `command` confined: without network, and without files but those of programs and its data, under a user of
    its own if possible (worker.sandbox)."""
    readable = "\n".join({os.path.dirname(os.path.realpath(command[0])), os.environ.get("TESSDATA_PREFIX", "")})
    return [sys.executable, "-I", "-S", confine.__file__, str(os.getpid()), readable, "", *command]


def _environment() -> dict[str, str]:
    """Return only the variables that it needs; one thread, because the slots share the cores among them."""
    out = {"OMP_THREAD_LIMIT": "1", "LC_ALL": "C.UTF-8", "PATH": os.environ.get("PATH", os.defpath)}
    if data := os.environ.get("TESSDATA_PREFIX"):
        out["TESSDATA_PREFIX"] = data
    return out


def _content(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0) if size else b""


def fault_of(status: int, output: bytes) -> DocumentError:
    """Return the error by exit status (negative: a signal) and output. Raises SystemFault if it cannot be started."""
    if status in (-signal.SIGALRM, -signal.SIGXCPU):
        return DocumentError(ExceptionCode.TIMEOUT, "tesseract was still reading it at its deadline")
    if _lacked_memory(output):
        return DocumentError(ExceptionCode.MEMORY, "reading it with tesseract needs more memory than the limit")
    if status == CANNOT_START or any(words in output for words in _WORDS_OF_DATA):
        raise SystemFault(f"tesseract cannot be started: {_last(output)}; see `edbench doctor`")
    if status < 0:
        return DocumentError(ExceptionCode.KILLED_PARSER, f"tesseract was killed reading it ({_signal(-status)})")
    return corrupt(f"tesseract cannot read the picture ({_last(output)})")


def _lacked_memory(output: bytes) -> bool:
    """Whether memory ran out: Leptonica may continue without what did not fit, and end as if nothing were wrong."""
    return any(words in output.lower() for words in _WORDS_OF_MEMORY)


def _last(output: bytes) -> str:
    """The last line with more than the statement that there was an error."""
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    causes = [line for line in lines if line != "Error during processing."] or lines or ["no output"]
    return "".join(c if c.isprintable() else "?" for c in causes[-1])[:200]


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def refuse_no_ocr(choice: OcrChoice) -> None:
    """Raise UsageError if OCR is requested and not possible on this machine, whose own processes would do it.

    Workers that others run check it themselves: without OCR they suspend the job at their first task, with the
    reason."""
    if not choice.asked:
        return
    try:
        engine = find_engine()
    except OcrUnavailable as error:
        raise UsageError(f"--ocr: {error}, or remove --ocr", field="ocr") from error
    try:
        engine.needs(choice.languages)
    except OcrUnavailable as error:
        raise UsageError(f"--ocr-languages: {error}, or give other languages", field="ocr_languages") from error
