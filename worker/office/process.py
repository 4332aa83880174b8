"""One LibreOffice over a few documents: a process with a profile of its own, confined, watched, and gone at the end.

Its directory is on scratch, where no other user may go: it is entered before the process changes its user, and named
by way of /proc from then on.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.services.process import signal_group, tied
from worker.box import confine
from worker.box.lockdown import OFFICE_SOCKETS, OWN_UIDS
from worker.costs.budget import clock_of

_NAME = "OSL_PIPE_SingleOfficeIPC_"


def remove_socket(pid: int, place: Path, directory: str = OFFICE_SOCKETS) -> None:
    """That of the process that had this number and worked in `place`."""
    for at in (Path(f"/proc/{pid}/cwd"), place.resolve()):
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(directory, socket_name(at)))


def remove_stale_sockets(directory: str = OFFICE_SOCKETS) -> None:
    """Remove the sockets of processes that ended with the slot that ran them. A socket whose owner does not identify
    its process, as without root, stays."""
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith(_NAME):
                pid = entry.stat(follow_symlinks=False).st_uid - OWN_UIDS
                if pid > 0 and not os.path.exists(f"/proc/{pid}"):
                    os.unlink(entry.path)


def socket_name(place: Path) -> str:
    """As LibreOffice writes it: each byte of the hash as short as it can be."""
    digest = hashlib.md5((place / "profile").as_uri().encode("utf-16-le"), usedforsecurity=False).digest()
    return _NAME + "".join(f"{byte:x}" for byte in digest)


_VERSION = re.compile(r"^ProductKey=(?:LibreOffice|LibreOfficeDev) ([0-9.]+)", re.MULTILINE)
PARTS = {"writer": "libswlo.so", "calc": "libsclo.so", "impress": "libsdlo.so"}
INSTALL = (
    "apt-get install --no-install-recommends libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui"
)


class OfficeUnavailable(Exception):
    """No usable LibreOffice is installed here; the text is the reason."""


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


HERE = "/proc/self/cwd"  # the process's own directory, as it names it
_LOOK_SECONDS = 0.1
_LEAST_CPU = 10  # CPU seconds, should no check come for so long
# What it reads in addition to programs and libraries: its own configuration, a distribution's extensions, fonts.
_READABLE = (
    "/etc/libreoffice",
    "/var/lib/libreoffice",
    "/var/spool/libreoffice",
    "/etc/fonts",
    "/var/cache/fontconfig",
)
_OPTIONS = ("--headless", "--norestore", "--nologo", "--nodefault", "--nolockcheck", "--nofirststartwizard")
_SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="MacroSecurityLevel" oor:op="fuse"><value>3</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="DisableMacrosExecution" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="BlockUntrustedRefererLinks" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Writer/Content/Update"><prop oor:name="Link" oor:op="fuse"><value>0</value></prop></item>
<item oor:path="/org.openoffice.Office.Calc/Content/Update"><prop oor:name="Link" oor:op="fuse"><value>1</value></prop></item>
</oor:items>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What one process may take."""

    seconds: float = 120.0  # of CPU time, for one document …
    patience: float = 10.0  # … and times as long by the clock: on a busy machine no document is to be convicted
    memory_mb: int = 1_500  # private
    scratch_bytes: int = 1_000_000_000  # of all that it writes


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended: an exit status, negative for a signal (SIGALRM: a document's time was over; SIGXFSZ: it wrote too
    much), and what it printed."""

    status: int
    said: str


def convert(
    office: Office, names: Sequence[str], place: Path, bounds: Bounds, alive: Callable[[], None], ending: str = "pdf"
) -> Ended:
    """Have it make `out/NAME.ENDING` of every `in/NAME.SUFFIX` below `place`, in that order, as far as it gets. `alive`
    is called regularly while it runs."""
    profile = place / "profile"
    (profile / "user").mkdir(parents=True)
    (profile / "user" / "registrymodifications.xcu").write_text(_SETTINGS)
    (place / "out").mkdir()
    watch = _Watch(place, bounds, alive)
    _run(office, ("--terminate_after_init",), watch)  # the first start makes the profile, and would be over then anyway
    files = (f"{HERE}/in/{name}" for name in names)
    return _run(office, ("--convert-to", ending, "--outdir", f"{HERE}/out", *files), watch, len(names))


def _open_to_all(place: Path) -> None:
    """Give every user access to all of it, because the process gets another user each time; other users cannot reach
    it."""
    for path in (place, *place.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)


def _run(office: Office, what: Sequence[str], watch: _Watch, documents: int = 0) -> Ended:
    bounds, place = watch.bounds, watch.place
    _open_to_all(place)
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: max(_LEAST_CPU, round(bounds.seconds * (documents + 1))),
        resource.RLIMIT_FSIZE: bounds.scratch_bytes,
        resource.RLIMIT_DATA: bounds.memory_mb * 1_000_000,
    }
    with (place / "said").open("w+b") as said:
        process = subprocess.Popen(
            tied(_confined(office, what), limits=limits),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            cwd=place,
            env={"HOME": HERE, "TMPDIR": HERE, "LC_ALL": "C.UTF-8", "PATH": os.defpath, "SAL_USE_VCLPLUGIN": "svp"},
            start_new_session=True,
        )
        try:
            status = watch.until_end(process)
        finally:
            signal_group(process, signal.SIGKILL)
            process.wait()
            remove_socket(process.pid, place)
        said.seek(0)
        return Ended(status, said.read(1 << 16).decode(errors="replace"))


def _confined(office: Office, what: Sequence[str]) -> list[str]:
    readable = "\n".join((os.path.dirname(office.program), *_READABLE))
    return [
        *(sys.executable, "-I", "-S", confine.__file__, str(os.getpid()), readable, ".", office.program),
        *(f"-env:UserInstallation=file://{HERE}/profile", *_OPTIONS, *what),
    ]


@dataclass(slots=True)
class _Watch:
    """Looks after a process: each document has its time, and all of them have so much room."""

    place: Path
    bounds: Bounds
    alive: Callable[[], None]

    def until_end(self, process: subprocess.Popen[bytes]) -> int:
        """Its exit status; minus SIGALRM or SIGXFSZ where it was ended."""
        done, since, used = -1, 0.0, 0.0
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(_LOOK_SECONDS)
            self.alive()
            made = len(os.listdir(self.place / "out"))
            now, busy = time.monotonic(), time.clock_gettime(clock_of(process.pid))
            if made != done:
                done, since, used = made, now, busy
            seconds = self.bounds.seconds
            if busy - used > seconds or now - since > self.bounds.patience * seconds:
                return -signal.SIGALRM
            if _bytes(self.place) > self.bounds.scratch_bytes:
                return -signal.SIGXFSZ


def _bytes(place: Path) -> int:
    total = 0
    for directory, _, files in os.walk(place):
        for name in files:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(directory, name)).st_size
    return total
