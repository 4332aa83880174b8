"""The LibreOffice that is installed, if one is."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

_VERSION = re.compile(r"^ProductKey=(?:LibreOffice|LibreOfficeDev) ([0-9.]+)", re.MULTILINE)
PARTS = {"writer": "libswlo.so", "calc": "libsclo.so", "impress": "libsdlo.so"}
INSTALL = (
    "apt-get install --no-install-recommends libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui"
)


class OfficeUnavailable(Exception):
    """There is none here that can be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Office:
    """An installed LibreOffice."""

    program: str  # the path of soffice.bin: no script or splash screen around it
    version: str  # "7.4"
    parts: tuple[str, ...]  # of writer, calc, impress those it has


def find_office() -> Office:
    """The one whose `soffice` the PATH has; nothing of it is run. Raises OfficeUnavailable."""
    found = shutil.which("soffice") or shutil.which("libreoffice")
    if found is None:
        raise OfficeUnavailable("LibreOffice is not installed here")
    directory = Path(found).resolve().parent
    try:
        version = _VERSION.search((directory / "bootstraprc").read_text(errors="replace"))
    except OSError as error:
        raise OfficeUnavailable(f"{found} is not a LibreOffice of a known layout ({error.strerror})") from error
    program = directory / "soffice.bin"
    if version is None or not program.is_file():
        raise OfficeUnavailable(f"{found} is not a LibreOffice of a known layout")
    return Office(str(program), version[1], tuple(part for part, file in PARTS.items() if (directory / file).is_file()))
