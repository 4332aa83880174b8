"""Which tesseract is installed here, and whether it reads what is asked for."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache

from core.errors import EdbenchError

OLDEST = 4  # the first release with the recogniser whose figures docs/ocr.md has
_SECONDS = 60  # it answers in 0.02 s; a machine may be busy
_VERSION = re.compile(r"tesseract v?((\d+)[\w.\-]*)")


class OcrUnavailable(EdbenchError):
    """OCR cannot be done here. `what` is missing, and `fix` is how to get it: whoever tells a person adds for what."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{what}; {fix}")
        self.what = what
        self.fix = fix


@dataclass(frozen=True, slots=True)
class Engine:
    """An installed tesseract."""

    program: str  # its path
    version: str  # "5.3.0"
    languages: tuple[str, ...]  # those it has data of, sorted

    def needs(self, languages: str) -> None:
        """Raises OcrUnavailable when there is no data of one of them (joined by "+")."""
        absent = [name for name in languages.split("+") if name not in self.languages]
        if absent:
            packages = " ".join(f"tesseract-ocr-{name.replace('_', '-').lower()}" for name in absent)
            raise OcrUnavailable(
                f"tesseract has no data of {', '.join(absent)} here (it has {', '.join(self.languages) or 'none'})",
                f"install it (Debian, Ubuntu: apt-get install {packages})",
            )


def find_engine() -> Engine:
    """The tesseract that the PATH has; raises OcrUnavailable without one that can be used."""
    program = shutil.which("tesseract")
    if program is None:
        raise OcrUnavailable(
            "tesseract is not installed here", "install it (Debian, Ubuntu: apt-get install tesseract-ocr)"
        )
    return _asked(program)


@lru_cache(maxsize=8)
def _asked(program: str) -> Engine:
    """What it says of itself; asked once a process. Failures are not remembered: they may be mended meanwhile."""
    version, major = parse_version(_said(program, "--version"))
    if major < OLDEST:
        raise OcrUnavailable(f"tesseract {version} is too old", f"install version {OLDEST} or newer")
    return Engine(program, version, parse_languages_list(_said(program, "--list-langs")))


def _said(program: str, option: str) -> str:
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
    """`tesseract 5.3.0` and more lines as ("5.3.0", 5); raises OcrUnavailable for anything else."""
    match = _VERSION.search(text)
    if match is None:
        raise OcrUnavailable("tesseract does not print its version", "reinstall tesseract")
    return match[1], int(match[2])


def parse_languages_list(text: str) -> tuple[str, ...]:
    """What `--list-langs` prints: a heading that ends with a colon, then a name a line."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(sorted({line for line in lines if line and not line.endswith(":") and " " not in line}))
