"""Other programs that read documents, where they are installed: their terms held against ours, by format.

A program reads a loose file and nothing inside it, so what it finds is what of the file itself must be found; times are
not taken. They run as whoever runs the benchmark, on files that are trusted: none is confined.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.formats.score import Extract, terms_of
from core.services.process import signal_group
from worker.office.kinds import KINDS

_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Program:
    """A command that writes a file's text as UTF-8; the file's name comes where `{}` stands, that of an empty directory, in
    which it runs, where `{out}` does."""

    command: tuple[str, ...]
    media_types: tuple[str, ...]
    own: str = ""  # lines that begin so are the program's, not the file's
    needs: tuple[str, ...] = ()  # on the path; () for the command's first word


def _shell(script: str) -> tuple[str, ...]:
    """A command of several; $1 is the file, $2 the directory."""
    return ("sh", "-c", script, "sh", "{}", "{out}")


def _office(part: str, to: str, then: str, *more: str) -> Program:
    """LibreOffice, which writes a file of its own."""
    script = f'soffice --headless -env:UserInstallation="file://$2/profile" --convert-to {to} --outdir "$2" "$1" >&2 && {then}'
    types = tuple(media_type for media_type, rendered in KINDS.items() if rendered.part == part)
    return Program(_shell(script), types, needs=("soffice", *more))


# What Python's own package makes of a message: header fields, and parts that are text.
_MAIL = """
import email, email.policy, sys
sys.stdout.reconfigure(encoding="utf-8", errors="replace")
message = email.message_from_binary_file(open(sys.argv[1], "rb"), policy=email.policy.default)
for part in message.walk():
    for key in ("from", "to", "cc", "subject"):
        print(part.get(key, ""))
    if part.get_content_maintype() == "text":
        print(part.get_content())
"""
_SHEETS = "'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1'"
_DOC, _ODT = ("application/msword",), ("application/vnd.oasis.opendocument.text",)
PROGRAMS: dict[str, Program] = {
    "antiword": Program(("antiword", "-m", "UTF-8.txt", "{}"), _DOC),
    "catdoc": Program(("catdoc", "-d", "utf-8", "-w", "{}"), _DOC),
    "catppt": Program(("catppt", "-d", "utf-8", "{}"), ("application/vnd.ms-powerpoint",)),
    "djvutxt": Program(("djvutxt", "{}"), ("image/vnd.djvu",)),
    "libreoffice-calc": _office("calc", _SHEETS, 'cat "$2"/*.csv'),
    "libreoffice-impress": _office("impress", "pdf", 'pdftotext -q -enc UTF-8 "$2"/*.pdf -', "pdftotext"),
    "libreoffice-writer": _office("writer", "'txt:Text (encoded):UTF8'", 'cat "$2"/*.txt'),
    "msgconvert": Program(("msgconvert", "--outfile", "-", "{}"), ("application/vnd.ms-outlook",)),
    "odt2txt": Program(("odt2txt", "--encoding=UTF-8", "{}"), _ODT),
    "pdftotext": Program(("pdftotext", "-q", "-enc", "UTF-8", "{}", "-"), ("application/pdf",)),
    "python-email": Program((sys.executable, "-c", _MAIL, "{}"), ("message/rfc822",)),
    "readpst": Program(
        _shell('readpst -q -a none -o "$2" "$1" >&2; find "$2" -type f -exec cat {} +'),
        ("application/vnd.ms-outlook-pst",),
        needs=("readpst",),
    ),
    "unrtf": Program(("unrtf", "--text", "--quiet", "{}"), ("application/rtf", "text/rtf"), own="###"),
    "w3m": Program(("w3m", "-dump", "-O", "UTF-8", "-T", "text/html", "{}"), ("text/html",)),
    "xls2csv": Program(("xls2csv", "-d", "utf-8", "-q", "0", "{}"), ("application/vnd.ms-excel",)),
}


class ReaderAbsent(Exception):
    """The program is not installed."""


def read_by(program: Program, source: Path, names: Iterable[str]) -> tuple[dict[str, Extract], list[str]]:
    """What the program finds in these files, and those that it gives nothing for and fails; raises ReaderAbsent."""
    for needed in program.needs or program.command[:1]:
        if shutil.which(needed) is None:
            raise ReaderAbsent(f"{needed} is not on the path")
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
    with tempfile.TemporaryDirectory(prefix="edbench-reader-", ignore_cleanup_errors=True) as out:
        places = {"{}": str(path.absolute()), "{out}": out}
        command = [places.get(part, part) for part in program.command]
        told, status = _run(command, out)
    if status and not told.strip():
        return None
    lines = told.decode("utf-8", "replace").splitlines()
    return "\n".join(line for line in lines if not (program.own and line.startswith(program.own)))


def _run(command: list[str], where: str) -> tuple[bytes, int]:
    """What it writes, and how it ends; at the end of its time it and what it started are ended. Some leave pictures where they run,
    whatever they are told: unrtf does."""
    nothing = subprocess.DEVNULL
    with subprocess.Popen(
        command, stdin=nothing, stdout=subprocess.PIPE, stderr=nothing, cwd=where, start_new_session=True
    ) as process:
        try:
            return process.communicate(timeout=_SECONDS)[0], process.returncode
        except subprocess.TimeoutExpired:
            signal_group(process, signal.SIGKILL)
            return b"", -signal.SIGKILL
