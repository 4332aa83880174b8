"""Documents to PDF or OpenDocument, many in one process; one that kills or holds up a process costs itself alone.

A process is started for many documents, because starting one takes ten times as long as most documents do. What it has
made when it ends badly stays; the first document that it has not made is then tried by itself, and what becomes of that
is final."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from core.errors import StorageFault, SystemFault
from core.services.launch import CANNOT_START
from core.services.process import signal_group, tied
from readers.base import Source
from readers.errors import DocumentError, ExceptionCode, corrupt, expansion_limit, too_large, unsupported
from readers.identification.identify import identify
from readers.records import Limits
from worker.costs import clock_of
from worker.sandbox import confine
from worker.sandbox.lockdown import OFFICE_SOCKETS, OWN_UIDS

_NAME = "OSL_PIPE_SingleOfficeIPC_"


def remove_socket(pid: int, place: Path, directory: str = OFFICE_SOCKETS) -> None:
    """Remove the socket of the process that had this number and worked in `place`."""
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
    """Return the name of the socket as LibreOffice writes it: each byte of the hash as short as it can be."""
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
    parts: tuple[str, ...]  # the available ones of writer, calc, impress


def find_office() -> Office:
    """Return the installation whose `soffice` is in the PATH; nothing of it is run. Raises OfficeUnavailable."""
    found = shutil.which("soffice") or shutil.which("libreoffice")
    if found is None:
        raise OfficeUnavailable("LibreOffice is not installed on this host")
    directory = Path(found).resolve().parent
    try:
        version = _VERSION.search((directory / "bootstraprc").read_text(errors="replace"))
    except OSError as error:
        raise OfficeUnavailable(f"{found} is not a known version of LibreOffice ({error.strerror})") from error
    program = directory / "soffice.bin"
    if version is None or not program.is_file():
        raise OfficeUnavailable(f"{found} is not a known version of LibreOffice")
    return Office(str(program), version[1], tuple(part for part, file in PARTS.items() if (directory / file).is_file()))


HERE = "/proc/self/cwd"  # the process's own directory, as it names it
_LOOK_SECONDS = 0.1
_LEAST_CPU = 10  # CPU seconds, should no check come for so long
# Paths that it reads in addition to programs and libraries: its own configuration, a distribution's extensions, fonts.
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
    """Limits of one process."""

    seconds: float = 120.0  # of CPU time, for one document …
    patience: float = 10.0  # … and times as long by the clock: on a busy machine no document is to be convicted
    memory_mb: int = 1_500  # private
    scratch_bytes: int = 1_000_000_000  # of all that it writes


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a process: an exit status, negative for a signal (SIGALRM: a document's time was over; SIGXFSZ: it
    wrote too much), and what it printed."""

    status: int
    output: str


def convert(
    office: Office, names: Sequence[str], place: Path, bounds: Bounds, alive: Callable[[], None], ending: str = "pdf"
) -> Ended:
    """Convert every `in/NAME.SUFFIX` below `place` to `out/NAME.ENDING` with LibreOffice, in that order, as far as it
    gets. `alive` is called regularly while it runs."""
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
    with (place / "output").open("w+b") as output:
        process = subprocess.Popen(
            tied(_confined(office, what), limits=limits),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
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
        output.seek(0)
        return Ended(status, output.read(1 << 16).decode(errors="replace"))


def _confined(office: Office, what: Sequence[str]) -> list[str]:
    readable = "\n".join((os.path.dirname(office.program), *_READABLE))
    return [
        *(sys.executable, "-I", "-S", confine.__file__, str(os.getpid()), readable, ".", office.program),
        *(f"-env:UserInstallation=file://{HERE}/profile", *_OPTIONS, *what),
    ]


@dataclass(slots=True)
class _Watch:
    """Limits of a running process: the time for each document, and the space for all of them."""

    place: Path
    bounds: Bounds
    alive: Callable[[], None]

    def until_end(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for the process; return its exit status, or minus SIGALRM or SIGXFSZ when it reaches a limit."""
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


@dataclass(frozen=True, slots=True)
class Rendered:
    """File name suffix and part of LibreOffice for the documents of a type."""

    suffix: str  # LibreOffice looks at the content first and at this where that does not say
    part: str


@dataclass(frozen=True, slots=True)
class Form:
    """Format that documents are converted to."""

    media_type: str
    ending: str  # of the files, and LibreOffice's argument
    part: str  # of LibreOffice that writes it; "" where that is the one that reads
    begins: bytes  # a whole file …
    ends: bytes  # … has this in its last bytes


PDF = Form("application/pdf", "pdf", "", b"%PDF-", b"%%EOF")
ODT = Form("application/vnd.oasis.opendocument.text", "odt", "writer", b"PK\x03\x04", b"PK\x05\x06")

_OPEN_XML = "application/vnd.openxmlformats-officedocument."
_MICROSOFT = "application/vnd.ms-"
_OPEN = "application/vnd.oasis.opendocument."
_WRITER = {
    "application/msword": ".doc",
    "application/rtf": ".rtf",
    "text/rtf": ".rtf",
    _OPEN_XML + "wordprocessingml.document": ".docx",
    _OPEN_XML + "wordprocessingml.template": ".dotx",
    _MICROSOFT + "word.document.macroenabled.12": ".docm",
    _MICROSOFT + "word.template.macroenabled.12": ".dotm",
    _OPEN + "text": ".odt",
    _OPEN + "text-template": ".ott",
    "application/vnd.wordperfect": ".wpd",
    _MICROSOFT + "works": ".wps",
    "application/x-mswrite": ".wri",
    "application/msword2": ".doc",
    "application/vnd.lotus-wordpro": ".lwp",
}
_CALC = {
    _MICROSOFT + "excel": ".xls",
    **{f"{_MICROSOFT}excel.sheet.{number}": ".xls" for number in (2, 3, 4, 5)},
    _MICROSOFT + "excel.sheet.binary.macroenabled.12": ".xlsb",
    _OPEN_XML + "spreadsheetml.sheet": ".xlsx",
    _OPEN_XML + "spreadsheetml.template": ".xltx",
    _MICROSOFT + "excel.sheet.macroenabled.12": ".xlsm",
    _MICROSOFT + "excel.template.macroenabled.12": ".xltm",
    _OPEN + "spreadsheet": ".ods",
    _OPEN + "spreadsheet-template": ".ots",
}
_IMPRESS = {
    _MICROSOFT + "powerpoint": ".ppt",
    _OPEN_XML + "presentationml.presentation": ".pptx",
    _OPEN_XML + "presentationml.template": ".potx",
    _OPEN_XML + "presentationml.slideshow": ".ppsx",
    _MICROSOFT + "powerpoint.presentation.macroenabled.12": ".pptm",
    _MICROSOFT + "powerpoint.template.macroenabled.12": ".potm",
    _MICROSOFT + "powerpoint.slideshow.macroenabled.12": ".ppsm",
    _OPEN + "presentation": ".odp",
    _OPEN + "presentation-template": ".otp",
    _OPEN + "graphics": ".odg",
    _OPEN + "graphics-template": ".otg",
}
KINDS: dict[str, Rendered] = {
    media_type: Rendered(suffix, part)
    for part, types in (("writer", _WRITER), ("calc", _CALC), ("impress", _IMPRESS))
    for media_type, suffix in types.items()
}


_AT_ONCE = 32  # documents of one process …
_BYTES_AT_ONCE = 64_000_000  # … and how much they may be together, on scratch
_LEAST_FREE = 16_000_000  # bytes of scratch: with less what was not made may have had no room
_ZIP = b"PK\x03\x04"
_MEMORY_WORDS = ("bad_alloc", "out of memory", "cannot allocate")


@dataclass(frozen=True, slots=True)
class Document:
    """A document to convert."""

    media_type: str
    source: Source
    limits: Limits | None = None  # for it and what is made of it; None: the converter's


Verdict = bytes | DocumentError


@dataclass(slots=True)
class Converter:
    """Converts documents in a directory below `scratch`; `alive` is called regularly while it runs."""

    office: Office
    scratch: Path
    limits: Limits  # for documents without limits of their own
    alive: Callable[[], None]
    bounds: Bounds = field(default_factory=Bounds)
    form: Form = PDF

    def converted(self, documents: Sequence[Document]) -> Iterator[tuple[int, Verdict]]:
        """Yield the place of each in `documents` and what was made of it, or the reason why nothing was; in any order.
        Raises StorageFault, SystemFault."""
        left, alone = dict(enumerate(documents)), False
        while left:
            chosen = _first(left, 1 if alone else _AT_ONCE)
            ended, verdicts = self._together(chosen)
            final = len(chosen) == 1 or ended.status == 0
            for place in chosen:
                if place in verdicts or final:
                    left.pop(place)
                    yield place, verdicts.get(place) or _fault(ended, self.bounds)
            alone = not final

    def _together(self, chosen: dict[int, Document]) -> tuple[Ended, dict[int, Verdict]]:
        """Convert these documents in one process; return its end and the verdicts on those that have one."""
        verdicts: dict[int, Verdict] = {}
        try:
            with tempfile.TemporaryDirectory(prefix="office-", dir=self.scratch, ignore_cleanup_errors=True) as name:
                place = Path(name)
                names = self._laid_out(place / "in", chosen, verdicts)
                ended = Ended(0, "")
                if names:
                    ended = convert(self.office, list(names), place, self.bounds, self.alive, self.form.ending)
                    verdicts.update(self._made(place / "out", names, chosen))
                    if len(verdicts) < len(chosen) and shutil.disk_usage(place).free < _LEAST_FREE:
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # no document's fault
        except OSError as error:
            raise StorageFault(
                f"cannot write {self.scratch} on scratch: {error.strerror}; check that scratch has space, then resume",
                errno=error.errno or 0,
            ) from error
        if ended.status == CANNOT_START:
            raise SystemFault(
                f"LibreOffice cannot be started: {ended.output.strip()[-200:]}; reinstall it, then resume"
            )
        return ended, verdicts

    def _laid_out(self, directory: Path, chosen: dict[int, Document], verdicts: dict[int, Verdict]) -> dict[str, int]:
        """Write the documents to files with names of our own; `verdicts` gets the errors of those without bytes."""
        directory.mkdir()
        names: dict[str, int] = {}
        for place, document in chosen.items():
            name = f"{place:06d}{KINDS[document.media_type].suffix}"
            limits = document.limits or self.limits
            try:
                if document.source.size > limits.parse_bytes:
                    raise too_large(f"{document.source.size} bytes; the limit is {limits.parse_bytes}")
                with document.source.open() as source, (directory / name).open("wb") as target:
                    if document.source.head.startswith(_ZIP):
                        _refuse_bomb(source, document.source.size, limits)
                    source.seek(0)
                    shutil.copyfileobj(source, target, 1 << 20)
            except DocumentError as error:
                verdicts[place] = error
            else:
                names[name] = place
        return names

    def _made(
        self, directory: Path, names: dict[str, int], chosen: dict[int, Document]
    ) -> Iterator[tuple[int, Verdict]]:
        for name, place in names.items():
            most = (chosen[place].limits or self.limits).parse_bytes
            if (made := self._whole(directory / f"{Path(name).stem}.{self.form.ending}", most)) is not None:
                yield place, made

    def _whole(self, path: Path, most: int) -> Verdict | None:
        """Return a file that was left there if it is whole, else None, or an error if it is too large. A document may
        have taken over the process that wrote it."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        with open(descriptor, "rb") as file:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                return None
            if about.st_size > most:
                return too_large(f"its {self.form.ending.upper()} has {about.st_size} bytes; the limit is {most}")
            data = file.read()
        return data if data.startswith(self.form.begins) and self.form.ends in data[-32:] else None


def _refuse_bomb(file: BinaryIO, size: int, limits: Limits) -> None:
    """Raise DocumentError `expansion_limit` for a document whose parts are too large: LibreOffice draws a nearly empty
    page of it without any error. `truncated` or `corrupt` where the archive's directory is."""
    # Here: a slot with a sandbox imports this module, and no parser.
    from readers.archives.compressed import skippable
    from readers.archives.zip.directory import find_directory, iter_entries

    most, parts = skippable(size, limits), 0
    for entry in iter_entries(file, find_directory(file, size)):
        parts += entry.size
        if parts > most:
            raise expansion_limit(f"its parts have more than {most:,} bytes, the limit for a document of {size:,}")


def _first(left: dict[int, Document], most: int) -> dict[int, Document]:
    """Return as many documents as one process takes, at least one."""
    chosen: dict[int, Document] = {}
    size = 0
    for place, document in left.items():
        size += document.source.size
        if chosen and (len(chosen) >= most or size > _BYTES_AT_ONCE):
            break
        chosen[place] = document
    return chosen


def _fault(ended: Ended, bounds: Bounds) -> DocumentError:
    """Return why nothing was made of a process's only document."""
    if ended.status in (-signal.SIGALRM, -signal.SIGXCPU):
        return DocumentError(ExceptionCode.TIMEOUT, f"LibreOffice did not finish within {bounds.seconds:g} CPU seconds")
    if ended.status == -signal.SIGXFSZ:
        return expansion_limit(f"LibreOffice wrote more than {bounds.scratch_bytes:,} bytes")
    if any(word in ended.output.lower() for word in _MEMORY_WORDS):
        return DocumentError(
            ExceptionCode.MEMORY, f"LibreOffice needs more than {bounds.memory_mb:,} MB of memory to convert it"
        )
    if ended.status:
        return DocumentError(
            ExceptionCode.KILLED_PARSER, f"LibreOffice died while converting it (status {ended.status})"
        )
    return corrupt("LibreOffice cannot open it")


_SHARE = 0.4  # of an item's seconds, for each of two starts: its slot must be done when its deadline comes


def to_open_document(source: Source, media_types: Sequence[str], scratch: Path, limits: Limits) -> bytes:
    """Convert a document of one of these types by itself, in a directory below `scratch`. Raises DocumentError
    `unsupported` without LibreOffice, else as for pages (docs/production.md), and StorageFault."""
    try:
        office = find_office()
    except OfficeUnavailable as error:
        raise unsupported(f"{error}; install it to read this file: {INSTALL}") from error
    if ODT.part not in office.parts:
        raise unsupported(f"LibreOffice on this host has no {ODT.part}; install it to read this file: {INSTALL}")
    media_type = identify(source)
    document = Document(media_type if media_type in media_types else media_types[0], source)
    bounds = Bounds(
        seconds=_SHARE * (limits.item_seconds + limits.item_seconds_per_mb * source.size / 1e6), patience=1.0
    )
    converter = Converter(office, scratch.absolute(), limits, lambda: None, bounds, ODT)
    try:
        ((_, verdict),) = converter.converted([document])
    except StorageFault:
        raise
    except SystemFault as error:  # it cannot be started: as if it were not there
        raise unsupported(str(error)) from error
    if isinstance(verdict, DocumentError):
        raise verdict
    return verdict
