"""Other programs that read documents, where they are installed: their terms held against ours, by format.

A program reads a loose file and nothing inside it, so what it finds is what of the file itself must be found; times are
not taken.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.formats.score import Extract, terms_of

_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Program:
    """A command that writes a file's text as UTF-8; the file's name comes where `{}` stands."""

    command: tuple[str, ...]
    media_types: tuple[str, ...]
    own: str = ""  # lines that begin so are the program's, not the file's


_DOC = ("application/msword",)
PROGRAMS: dict[str, Program] = {
    "antiword": Program(("antiword", "-m", "UTF-8.txt", "{}"), _DOC),
    "catdoc": Program(("catdoc", "-d", "utf-8", "-w", "{}"), _DOC),
    "catppt": Program(("catppt", "-d", "utf-8", "{}"), ("application/vnd.ms-powerpoint",)),
    "pdftotext": Program(("pdftotext", "-q", "-enc", "UTF-8", "{}", "-"), ("application/pdf",)),
    "unrtf": Program(("unrtf", "--text", "--quiet", "{}"), ("application/rtf", "text/rtf"), own="###"),
    "xls2csv": Program(("xls2csv", "-d", "utf-8", "-q", "0", "{}"), ("application/vnd.ms-excel",)),
}


class ReaderAbsent(Exception):
    """The program is not installed."""


def read_by(program: Program, source: Path, names: Iterable[str]) -> tuple[dict[str, Extract], list[str]]:
    """What the program finds in these files, and those that it gives nothing for and fails; raises ReaderAbsent."""
    if shutil.which(program.command[0]) is None:
        raise ReaderAbsent(f"{program.command[0]} is not on the path")
    extracts: dict[str, Extract] = {}
    failed: list[str] = []
    for name in names:
        text = _text(program, source / name)
        if text is None:
            failed.append(name)
        else:
            extracts[name] = Extract(terms=terms_of(text), characters=len(text))
    return extracts, failed


def _text(program: Program, path: Path) -> str | None:
    """None where it writes nothing and says that it failed, or does not end."""
    command = [str(path) if part == "{}" else part for part in program.command]
    try:
        said = subprocess.run(command, capture_output=True, check=False, timeout=_SECONDS, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None
    if said.returncode and not said.stdout.strip():
        return None
    lines = said.stdout.decode("utf-8", "replace").splitlines()
    return "\n".join(line for line in lines if not (program.own and line.startswith(program.own)))
