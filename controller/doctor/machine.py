"""Python, packages, programs and limits of this machine."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from controller.doctor.finding import Finding, bad, ok, warn
from core.errors import UsageError
from core.services.binaries import installed_postgres, valkey_server
from readers.identification import libmagic
from worker.box.probe import try_out
from worker.ocr.engine import OcrUnavailable, find_engine
from worker.office.engine import INSTALL, PARTS, OfficeUnavailable, find_office

LEAST_PYTHON = (3, 11)
_OPEN_FILES_NEEDED, _OPEN_FILES_WANTED = 512, 1024
_SHM_NEEDED = 64_000_000  # bytes: live recorders' shared memory
_SHM = Path("/dev/shm")


def python_version(running: tuple[int, ...] = sys.version_info[:3]) -> Finding:
    """The interpreter that runs us."""
    text = ".".join(str(part) for part in running)
    if running[:2] < LEAST_PYTHON:
        return bad(f"Python {text} is too old", "install Python 3.11 or newer and run: make setup")
    return ok(f"Python {text}")


def packages(needed: Sequence[str] | None = None) -> Iterator[Finding]:
    """Whether what edbench needs is installed in versions that it works with."""
    try:
        listed = needed if needed is not None else requires("edbench") or []
        edition = version("edbench")
    except PackageNotFoundError:
        yield warn("edbench itself is not installed as a package", "run: make setup")
        return
    wanted = [Requirement(text) for text in listed]
    good = 0
    for requirement in wanted:
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            installed = version(requirement.name)
        except PackageNotFoundError:
            yield bad(f"the package {requirement.name} is not installed", "run: make setup")
            continue
        if requirement.specifier.contains(installed, prereleases=True):
            good += 1
        else:
            yield warn(
                f"{requirement.name} is {installed}; edbench requires {requirement.specifier}", "run: make setup"
            )
    yield ok(f"edbench {edition} with {good} packages in the required versions")


def magic() -> Finding:
    """libmagic, for types that our own table does not know."""
    install = "install the system's (Debian, Ubuntu: apt-get install libmagic1)"
    found = libmagic.found()
    if found is None:
        why = libmagic.preload()
        return warn(f"no libmagic ({why}): rare file types are recorded as application/octet-stream", install)
    if "wheel" in found:
        return warn(f"libmagic {found} is old, and it reads hostile bytes", install)
    return ok(f"libmagic {found}")


def ocr() -> Finding:
    """tesseract, for jobs that read pictures."""
    try:
        engine = find_engine()
    except OcrUnavailable as error:
        return warn(f"no OCR (--ocr): {error.what}", f"for jobs with --ocr: {error.fix}")
    return ok(f"OCR: tesseract {engine.version} with {', '.join(engine.languages) or 'no language'}")


def office() -> Finding:
    """LibreOffice, for jobs that process, and for documents that nothing else reads."""
    try:
        found = find_office()
    except OfficeUnavailable as error:
        return warn(
            f"processing jobs make slip sheets of office documents, and WordPerfect and similar files have no text: {error}",
            f"install it (Debian, Ubuntu: {INSTALL})",
        )
    told = f"pages of office documents, text of WordPerfect and similar files: LibreOffice {found.version} with {', '.join(found.parts) or 'nothing'}"
    return ok(told) if len(found.parts) == len(PARTS) else warn(told, f"install the rest (Debian, Ubuntu: {INSTALL})")


def box() -> Finding:
    """What parsers are kept from (worker.box)."""
    try:
        lacking = try_out().lacking
    except OSError as error:
        return bad(f"parsers cannot be put into a sandbox: {error}", "see docs/security.md")
    if not lacking:
        return ok("parsers run in a sandbox: no files, no sockets, no other processes, a fixed list of system calls")
    fix = "use Linux 5.13 or newer with Landlock, and containers with the engine's own seccomp profile"
    return warn(f"the parsers' sandbox is incomplete: {'; '.join(lacking)}", fix)


def no_box() -> Finding:
    """EDBENCH_BOX is off."""
    return warn("files are parsed without a sandbox, with all rights of a slot", "unset EDBENCH_BOX")


def programs() -> Iterator[Finding]:
    """Whether the embedded servers' programs run on this machine at all."""
    find: dict[str, Callable[[], Path]] = {
        "PostgreSQL": lambda: installed_postgres() / "bin" / "postgres",
        "broker": valkey_server,
    }
    for name, program in find.items():
        try:
            yield _runs(name, program())
        except UsageError as error:
            yield bad(f"{name}: {error}", "run: make setup; or set EDBENCH_DATABASES and EDBENCH_BROKER")


def _runs(name: str, program: Path) -> Finding:
    fix = "set EDBENCH_DATABASES and EDBENCH_BROKER to running servers"
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return bad(f"{name}: {program} does not run: {error}", fix)
    if done.returncode != 0:
        said = (done.stderr.strip() or "no output").splitlines()[-1]
        return bad(f"{name}: {program} does not run: {said}", fix)
    return ok(f"{name}: {done.stdout.strip().splitlines()[0]}")


def open_files(limit: int | None = None) -> Finding:
    """How many files a process may have open."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if limit is None else limit
    if soft == resource.RLIM_INFINITY:
        return ok("open files: unlimited")
    fix = f"raise it: ulimit -n {4 * _OPEN_FILES_WANTED}"
    if soft < _OPEN_FILES_NEEDED:
        return bad(f"a process may open only {soft} files", fix)
    if soft < _OPEN_FILES_WANTED:
        return warn(f"a process may open only {soft} files", fix)
    return ok(f"open files: {soft}")


def shared_memory(directory: Path = _SHM) -> Finding:
    """/dev/shm: the emulated filer, replays and null storage lie in it."""
    fix = "mount a tmpfs of 256 MB or more there (docker run --shm-size=256m)"
    if not directory.is_dir() or not os.access(directory, os.W_OK):
        return bad(f"{directory} does not exist or is not writable", fix)
    total = shutil.disk_usage(directory).total
    if total < _SHM_NEEDED:
        return warn(f"{directory} has only {total // 10**6} MB", fix)
    return ok(f"{directory} has {total // 10**6} MB")
