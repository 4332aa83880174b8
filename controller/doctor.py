"""The checks of `edbench doctor`: each looks at one thing and reports what to fix."""

from __future__ import annotations

import dataclasses
import difflib
import enum
import os
import platform
import resource
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from core.clock import Clock
from core.errors import EdbenchError, UsageError
from core.mounts import MountEntry, Reach, mount_of
from core.services import embedded_services
from core.services.binaries import installed_postgres, valkey_server
from core.services.place import Home, remove_data
from core.settings import DatabaseAddress, Settings
from core.storage.sync import syncfs
from core.storage.whole import naming_of, parts_of
from core.variables import VARIABLES
from readers.identification import libmagic
from worker.ocr.tesseract import OcrUnavailable, find_engine
from worker.sandbox.lockdown import try_out


class Level(enum.StrEnum):
    """Severity of a finding. ok: as it should be. warn: works, but results or comfort suffer. bad: a job cannot run, or
    not safely."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding; `fix` is the remedy, empty only if the level is ok."""

    level: Level
    what: str
    fix: str = ""


def ok(what: str) -> Finding:
    """Return a finding without a fault."""
    return Finding(Level.OK, what)


def warn(what: str, fix: str) -> Finding:
    """Return a finding that impairs results or comfort."""
    return Finding(Level.WARN, what, fix)


def bad(what: str, fix: str) -> Finding:
    """Return a finding that keeps jobs from running, or from running safely."""
    return Finding(Level.BAD, what, fix)


def judge_mount(mount: MountEntry | None, *, filer: bool) -> Finding:
    """Check the mount of the storage under test (`filer`) or of scratch."""
    role = "storage" if filer else "scratch"
    if mount is None:
        return warn(f"{role}: /proc has no entry for its mount", "run on Linux with /proc mounted")
    text = f"{role}: {mount.kind} from {mount.source} on {mount.point} ({','.join(mount.options)})"
    if "ro" in mount.options:
        return bad(text + ": read-only", "mount it read-write")
    if filer and mount.reach is Reach.MEMORY:
        return warn(
            text + ": memory, so results are not about storage", "set EDBENCH_STORAGE to the storage under test"
        )
    if filer and mount.kind == "overlay":
        return warn(text + ": a container's own layer", "mount the storage under test and set EDBENCH_STORAGE to it")
    if filer and "soft" in mount.options:
        return warn(text + ": soft NFS mounts lose writes silently", "mount it with hard")
    if not filer and mount.reach is Reach.NETWORK:
        return warn(text + ": scratch is on a filer", "set EDBENCH_SCRATCH to a local directory")
    return ok(text)


_NEEDED, _WANTED = 1_000_000_000, 10_000_000_000  # bytes
_FILES_NEEDED, _FILES_WANTED = 10_000, 1_000_000
_FSYNCS = 20
_SLOW_US = 50_000
_NOTHING_US = 10  # no device answers that fast


def existing(directory: Path) -> Path:
    """Return the directory, or the nearest existing directory above it."""
    return next(d for d in (directory, *directory.parents) if d.is_dir())


def place(directory: Path, *, filer: bool, clock: Clock) -> Iterator[Finding]:
    """Run all checks of the storage root (`filer`) or of scratch."""
    role = "storage" if filer else "scratch"
    variable = "EDBENCH_STORAGE" if filer else "EDBENCH_SCRATCH"
    if directory.exists() and not directory.is_dir():
        yield bad(f"{role}: {directory} is not a directory", f"set {variable} to a directory")
        return
    base = existing(directory)
    yield judge_mount(mount_of(base), filer=filer)
    yield free_space(role, base)
    yield free_files(role, base)
    try:
        probe = Path(tempfile.mkdtemp(prefix=".edbench-doctor-", dir=base))
    except OSError as error:
        yield bad(f"{role}: cannot write in {base}: {error.strerror}", f"make it writable or set {variable}")
        return
    try:
        yield rename_over(role, probe)
        if filer:
            yield names(probe)
            yield whole(base)
            yield fsync_latency(probe, clock)
            yield whole_sync(probe)
    finally:
        shutil.rmtree(probe, ignore_errors=True)


def free_space(role: str, directory: Path) -> Finding:
    """Check the bytes that can still be written."""
    free = shutil.disk_usage(directory).free
    text, fix = f"{role}: {free / 1e9:.1f} GB free in {directory}", "free space, or choose a larger file system"
    if free < _NEEDED:
        return bad(text, fix)
    return warn(text, fix) if free < _WANTED else ok(text)


def free_files(role: str, directory: Path) -> Finding:
    """Check how many files can still be created; a job creates one for each extracted child."""
    stats = os.statvfs(directory)
    if stats.f_files == 0:
        return ok(f"{role}: no limit on the number of files")
    text, fix = f"{role}: {stats.f_favail:,} more files fit", "remove files, or create the file system with more inodes"
    if stats.f_favail < _FILES_NEEDED:
        return bad(text, fix)
    return warn(text, fix) if stats.f_favail < _FILES_WANTED else ok(text)


def whole(directory: Path) -> Finding:
    """Check that the client of a distributed file system reaches all parts of it."""
    try:
        away = parts_of(directory.stat().st_dev).away
    except OSError as error:
        return bad(f"storage: its client cannot list the available parts: {error.strerror}", "see the log of the mount")
    if away:
        return bad(
            f"storage: incomplete, {', '.join(away)} is not available",
            "restore it: its files would be recorded as missing",
        )
    return ok("storage: all known parts are available")


def rename_over(role: str, probe: Path) -> Finding:
    """Check that renaming a file over another replaces it in one step: everything that jobs publish relies on it."""
    old, new = probe / "old", probe / "new"
    fix = "use a file system that follows POSIX"
    try:
        old.write_bytes(b"old")
        new.write_bytes(b"new")
        new.rename(old)
        if old.read_bytes() != b"new" or new.exists():
            return bad(f"{role}: renaming a file over another leaves the wrong content", fix)
    except OSError as error:
        return bad(f"{role}: a file cannot be renamed over another: {error.strerror}", fix)
    return ok(f"{role}: a file can be renamed over another")


def names(probe: Path) -> Finding:
    """Check that the file system lists names as they were written, and distinguishes case."""
    where = probe / "names"
    try:
        where.mkdir()
        naming = naming_of(where)
    except OSError as error:
        return bad(f"storage: cannot create a file: {error.strerror}", "check the mount")
    if naming.listed != naming.written:
        return bad(
            f"storage: a file created as {naming.written} is listed as {naming.listed}",
            "mount it so that it preserves names; otherwise item names differ from those in the evidence",
        )
    if not naming.case_matters:
        return warn(
            "storage: it ignores case: it keeps one of two names that differ only in case",
            "do not copy evidence with such names to it (edbench refuses to)",
        )
    return ok("storage: names are preserved, and case matters")


def fsync_latency(probe: Path, clock: Clock) -> Finding:
    """Measure the median of some fsyncs of 4 KiB each."""
    took: list[int] = []
    try:
        with (probe / "fsync").open("wb", buffering=0) as file:
            for _ in range(_FSYNCS):
                file.write(bytes(4096))
                start = clock.monotonic_ns()
                os.fsync(file.fileno())
                took.append(clock.monotonic_ns() - start)
    except OSError as error:
        return bad(f"storage: fsync does not work: {error.strerror}", "use a file system that supports it")
    median = statistics.median(took) / 1000
    text = f"storage: fsync of 4 KiB takes {median:,.0f} µs (median of {_FSYNCS})"
    if median > _SLOW_US:
        return warn(text, "expect slow results with --fsync task or file; look at the filer's log device")
    if median < _NOTHING_US:
        return warn(text + ": fsync has no effect", "use only --fsync none for results on this storage")
    return ok(text)


def whole_sync(probe: Path) -> Finding:
    """Check syncfs(2), with which a job ends."""
    descriptor = os.open(probe, os.O_RDONLY | os.O_DIRECTORY)
    try:
        syncfs(descriptor)
    except OSError as error:
        return bad(f"storage: syncfs does not work: {error.strerror}", "check the kernel log for I/O errors")
    finally:
        os.close(descriptor)
    return ok("storage: syncfs works")


def apart(storage: Path, scratch: Path) -> Finding:
    """Check whether the storage under test and scratch share a file system, and so its bandwidth."""
    if existing(storage).stat().st_dev == existing(scratch).stat().st_dev:
        return warn(
            "storage and scratch are on the same file system, so the writes of the database are part of the measurement",
            "for real results set EDBENCH_STORAGE to the storage under test and keep EDBENCH_SCRATCH local",
        )
    return ok("storage and scratch are on different file systems")


_OPEN_FILES_NEEDED, _OPEN_FILES_WANTED = 512, 1024
_SHM_NEEDED = 64_000_000  # bytes: live recorders' shared memory
_SHM = Path("/dev/shm")


def packages(needed: Sequence[str] | None = None) -> Iterator[Finding]:
    """Check that the required packages are installed in versions that edbench works with."""
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
    """Check libmagic, for types that are not in edbench's own table."""
    install = "install the system's (Debian, Ubuntu: apt-get install libmagic1)"
    found = libmagic.found()
    if found is None:
        why = libmagic.preload()
        return warn(f"libmagic is missing ({why}): rare file types are recorded as application/octet-stream", install)
    if "wheel" in found:
        return warn(f"libmagic {found} is old, but it reads untrusted bytes", install)
    return ok(f"libmagic {found}")


def ocr() -> Finding:
    """Check tesseract, for jobs that read pictures."""
    try:
        engine = find_engine()
    except OcrUnavailable as error:
        return warn(f"no OCR (--ocr): {error.what}", f"for jobs with --ocr: {error.fix}")
    return ok(f"OCR: tesseract {engine.version} with {', '.join(engine.languages) or 'no language'}")


def office() -> Finding:
    """Check LibreOffice, for processing jobs, and for documents that nothing else reads."""
    from worker.office.converting import INSTALL, PARTS, OfficeUnavailable, find_office  # brings the readers

    try:
        found = find_office()
    except OfficeUnavailable as error:
        return warn(
            f"processing jobs make slip sheets of office documents, and WordPerfect and similar files have no text: {error}",
            f"install it (Debian, Ubuntu: {INSTALL})",
        )
    text = f"pages of office documents, text of WordPerfect and similar files: LibreOffice {found.version} with {', '.join(found.parts) or 'nothing'}"
    return ok(text) if len(found.parts) == len(PARTS) else warn(text, f"install the rest (Debian, Ubuntu: {INSTALL})")


def sandbox() -> Finding:
    """Check which restrictions of the parsers' sandbox this machine supports (worker.sandbox)."""
    try:
        lacking = try_out().lacking
    except OSError as error:
        return bad(f"parsers cannot be put into a sandbox: {error}", "see docs/security.md")
    if not lacking:
        return ok("parsers run in a sandbox: no files, no sockets, no other processes, a fixed list of system calls")
    fix = "use Linux 5.13 or newer with Landlock, and containers with the engine's own seccomp profile"
    return warn(f"the parsers' sandbox is incomplete: {'; '.join(lacking)}", fix)


def no_sandbox() -> Finding:
    """Report that EDBENCH_BOX is off."""
    return warn("files are parsed without a sandbox, with all rights of a slot", "unset EDBENCH_BOX")


def programs() -> Iterator[Finding]:
    """Check that the embedded servers' programs run on this machine."""
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
        line = (done.stderr.strip() or "no output").splitlines()[-1]
        return bad(f"{name}: {program} does not run: {line}", fix)
    return ok(f"{name}: {done.stdout.strip().splitlines()[0]}")


def open_files(limit: int | None = None) -> Finding:
    """Check how many files a process may have open."""
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
    """Check /dev/shm, which holds the emulated filer, replays and null storage."""
    fix = "mount a tmpfs of 256 MB or more there (docker run --shm-size=256m)"
    if not directory.is_dir() or not os.access(directory, os.W_OK):
        return bad(f"{directory} does not exist or is not writable", fix)
    total = shutil.disk_usage(directory).total
    if total < _SHM_NEEDED:
        return warn(f"{directory} has only {total // 10**6} MB", fix)
    return ok(f"{directory} has {total // 10**6} MB")


_OFFSET_SECONDS = 0.5
_LEAST_POSTGRES = 15  # UNIQUE NULLS NOT DISTINCT


def reachable(settings: Settings, clock: Clock) -> Iterator[Finding]:
    """Findings about the services that a job would use."""
    if settings.embedded:
        yield from programs()
        yield embedded_start(settings, clock)
        return
    for address in settings.databases:
        yield from database(address, clock)
    yield broker(settings.broker)


def embedded_start(settings: Settings, clock: Clock) -> Finding:
    """Start the embedded services once, in a directory of their own inside scratch, and stop them."""
    try:
        scratch = Path(tempfile.mkdtemp(prefix=".edbench-doctor-", dir=existing(settings.scratch)))
    except OSError as error:
        return bad(f"services: cannot write to scratch: {error.strerror}", "set EDBENCH_SCRATCH")
    try:
        scratch.chmod(0o711)
        start = clock.monotonic_ns()
        with embedded_services(dataclasses.replace(settings, scratch=scratch), slots=settings.slots):
            seconds = (clock.monotonic_ns() - start) / 1e9
        return ok(f"services: embedded PostgreSQL and broker start in {seconds:.1f} s")
    except EdbenchError as error:
        return bad(f"services: {error}", "fix that, or set EDBENCH_DATABASES and EDBENCH_BROKER to running servers")
    finally:
        remove_data(Home(scratch))
        shutil.rmtree(scratch, ignore_errors=True)


def database(address: DatabaseAddress, clock: Clock) -> Iterator[Finding]:
    """Check that the database is reachable and new enough, its login, and how far its clock is from ours."""
    from sql.session import Database  # slow to import, and findings are shown as they come

    opened = Database(address.name, address.url, application="edbench doctor")
    try:
        with opened.transaction() as connection:
            connection.execute("SELECT 1")
            before = clock.now()
            version, theirs = connection.execute(
                "SELECT current_setting('server_version_num')::int, extract(epoch FROM clock_timestamp())::float8"
            ).one()
            own = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
            powers = connection.execute(own).scalar_one_or_none()
            offset = theirs - (before + clock.now()) / 2
    except EdbenchError as error:
        yield bad(str(error), "start it, or correct EDBENCH_DATABASES")
        return
    finally:
        opened.dispose()
    if version // 10_000 < _LEAST_POSTGRES:
        text = f"database {address.name} is PostgreSQL {version // 10_000}"
        yield bad(text, f"use PostgreSQL {_LEAST_POSTGRES} or newer")
    else:
        yield ok(f"database {address.name}: PostgreSQL {version // 10_000} answers")
    if powers:
        yield warn(
            f"database {address.name}: the login is a superuser, which can run programs on the server",
            "use a login that only owns the database, see docs/logins.md",
        )
    text = f"database {address.name}: its clock differs from this host's by {offset * 1000:+.0f} ms"
    yield ok(text) if abs(offset) <= _OFFSET_SECONDS else warn(text, "run an NTP client on both machines")


def broker(url: str | None) -> Finding:
    """Check that Celery could send a message."""
    if url is None:
        return bad("EDBENCH_DATABASES is set but EDBENCH_BROKER is not", "set EDBENCH_BROKER=redis://host:port/0")
    from kombu.connection import Connection  # as above
    from kombu.exceptions import OperationalError

    try:
        with Connection(url, connect_timeout=5) as connection:  # type: ignore[no-untyped-call]  # kombu has no types
            connection.ensure_connection(max_retries=1, interval_start=0.2, timeout=5)
    except (OperationalError, OSError, ValueError, KeyError) as error:
        return bad(f"the broker cannot be reached: {error}", "start it, or correct EDBENCH_BROKER")
    return ok("the broker answers")


_ALIKE = 0.93  # of difflib: EDBENCH_MOUNT, which only containers use, and EDBENCH_REMOUNT are two variables


def misspelt(names: Iterable[str]) -> Iterator[Finding]:
    """Name the environment variables that nothing reads and that are spelt nearly as one of ours."""
    for name in sorted(set(names) - VARIABLES.keys()):
        for meant in difflib.get_close_matches(name, VARIABLES, n=1, cutoff=_ALIKE):
            yield warn(f"the environment has {name}, which nothing reads", f"if {meant} is meant, set that")


def run_checks(settings: Settings, clock: Clock, names: Iterable[str]) -> Iterator[Finding]:
    """Yield every finding as it is found; some take a second. `names`: of the environment's variables."""
    yield ok(f"Python {platform.python_version()}")
    yield from misspelt(names)
    yield from packages()
    yield magic()
    yield ocr()
    yield office()
    yield sandbox() if settings.sandbox else no_sandbox()
    yield open_files()
    yield shared_memory()
    yield from place(settings.scratch, filer=False, clock=clock)
    yield from place(settings.storage, filer=True, clock=clock)
    yield apart(settings.storage, settings.scratch)
    yield from reachable(settings, clock)
