"""Location of the services' files: everything under scratch, unless PostgreSQL's user cannot reach it.

scratch/services/            lock files, address file, keeper.log, broker/
scratch/services/postgres/   the server of database db1: `data`, `password`; or, in a closed place, a pointer file
                             `postgres.place` to a private directory under /var/tmp that has them
scratch/services/postgres-NAME/  the same for the server of every other database
scratch/logs/                what the processes say"""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.errors import StorageFault, UsageError
from core.plain import natural
from core.services.binaries import can_reach
from core.services.process import RunAs

_NOBODY = 65534
_OUTSIDE = Path("/var/tmp")
_PREFIX = "edbench-"
FIRST_DATABASE = "db1"
_POSTGRES = "postgres"
_SOCKET_PLACES = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))


@dataclass(frozen=True, slots=True)
class Home:
    """The services' part of one scratch directory."""

    scratch: Path

    @property
    def directory(self) -> Path:
        return self.scratch / "services"

    @property
    def logs(self) -> Path:
        return self.scratch / "logs"

    @property
    def address_file(self) -> Path:
        return self.directory / "address.json"

    def inside(self, database: str) -> Path:
        """The directory of that database's server in scratch."""
        return self.directory / (_POSTGRES if database == FIRST_DATABASE else f"{_POSTGRES}-{database}")

    def pointer(self, database: str) -> Path:
        """The file that names the directory of a server elsewhere."""
        return self.inside(database).with_suffix(".place")

    def databases(self) -> list[str]:
        """The databases whose servers have data, in order; [] before the first start."""
        names = {FIRST_DATABASE} if self._has_data(FIRST_DATABASE) else set()
        for path in self.directory.glob(f"{_POSTGRES}-*"):
            name = path.stem.removeprefix(f"{_POSTGRES}-")
            if self._has_data(name):
                names.add(name)
        return sorted(names, key=natural)

    def _has_data(self, database: str) -> bool:
        return (self.inside(database) / "data").exists() or self.pointer(database).exists()

    @property
    def broker_request(self) -> Path:
        """The file by which a command requests a broker from a keeper that was started without one."""
        return self.directory / "broker.wanted"

    @property
    def provisioner_request(self) -> Path:
        """The file by which an experiment requests the provisioner, because its runs need databases of their own."""
        return self.directory / "provisioner.wanted"

    @property
    def keeper_log(self) -> Path:
        """The keeper's log."""
        return self.logs / "keeper.log"

    def lock(self, name: str) -> Path:
        """The lock file of that name (core.services.address)."""
        return self.directory / f"{name}.lock"

    def prepare(self) -> None:
        """Make the directories. Raises UsageError if scratch cannot be used, StorageFault if it is full."""
        with scratch_errors(self.scratch):
            for directory in (self.scratch, self.directory, self.logs):
                if not directory.is_dir():
                    directory.mkdir(parents=True, exist_ok=True)
                    directory.chmod(0o711)  # whatever the umask: PostgreSQL's user has to pass through under root
            with tempfile.TemporaryFile(dir=self.directory) as probe:
                probe.write(bytes(65_536))
                probe.flush()


@contextlib.contextmanager
def scratch_errors(scratch: Path) -> Iterator[None]:
    """Report an error of the system in the block as one of scratch: StorageFault if it is full, else UsageError."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFault(
                f"scratch {scratch} is full; free space there or set EDBENCH_SCRATCH to another directory"
            ) from error
        raise UsageError(
            f"scratch {scratch} cannot be used: {error.strerror or error}; "
            "set EDBENCH_SCRATCH to a local directory that you may write to"
        ) from error


def server_user(place: Path | None = None) -> RunAs | None:
    """The user that PostgreSQL runs as; None means the current one. PostgreSQL refuses root, so root starts it as the
    owner of the existing data, else as the unprivileged user. Raises UsageError if the data belong to another user."""
    data = None if place is None else place / "data"
    owner = data.stat() if data is not None and data.exists() else None
    if os.geteuid() != 0:
        if owner is not None and owner.st_uid != os.geteuid():
            raise UsageError(
                f"the database in {data} belongs to user {_user_name(owner.st_uid)}; "
                "run as that user (or root) or set EDBENCH_SCRATCH to another directory"
            )
        return None
    if owner is not None and owner.st_uid != 0:
        return RunAs(owner.st_uid, owner.st_gid)
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        return RunAs(_NOBODY, _NOBODY)
    return RunAs(nobody.pw_uid, nobody.pw_gid)


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def give_to(path: Path, run_as: RunAs | None) -> None:
    """Hand a file or directory over to PostgreSQL's user. Raises OSError."""
    if run_as is not None:
        os.chown(path, run_as.uid, run_as.gid)


def postgres_place(home: Home, database: str) -> Path:
    """The directory with `data` and `password` of the server of `database`; it is made if it does not exist.

    Raises UsageError when the pointer leads nowhere, StorageFault when nothing can be made."""
    pointer = home.pointer(database)
    if pointer.exists():
        place = Path(os.fsdecode(pointer.read_bytes().rstrip(b"\n")))
        if not place.is_dir() or ((place / "password").exists() and not (place / "data").is_dir()):
            raise UsageError(
                f"database {database} of {home.scratch} was stored in {place}, which is missing; restore it, or "
                f"remove {pointer} to start with an empty database (all jobs in the old one are lost)"
            )
        return place
    inside = home.inside(database)
    if (inside / "data").exists():
        return inside
    with scratch_errors(home.scratch):
        inside.mkdir(mode=0o711, exist_ok=True)
        return inside if _takes(inside, server_user()) else _outside(pointer)


def _takes(place: Path, run_as: RunAs | None) -> bool:
    """Return whether that user can have a directory of its own in there, now and later: a FUSE client that leaves
    permissions to its servers (MooseFS) lets every user through a directory while the kernel caches its entries."""
    if run_as is None:
        return True
    if not all(_lets_through(above.stat(), run_as) for above in (place, *place.absolute().parents)):
        return False
    probe = Path(tempfile.mkdtemp(dir=place))
    try:
        give_to(probe, run_as)
        return can_reach(run_as, ("-w", probe))
    except OSError:
        return False
    finally:
        probe.rmdir()


def _lets_through(directory: os.stat_result, run_as: RunAs) -> bool:
    if directory.st_uid == run_as.uid:
        return bool(directory.st_mode & stat.S_IXUSR)
    return bool(directory.st_mode & (stat.S_IXGRP if directory.st_gid == run_as.gid else stat.S_IXOTH))


def refuse_weak_root(place: Path, run_as: RunAs | None) -> None:
    """Raise UsageError for a root user that cannot access files of PostgreSQL's user, above all its socket."""
    if run_as is None:
        return
    probe = Path(tempfile.mkdtemp(dir=place))
    try:
        with contextlib.suppress(OSError):
            give_to(probe, run_as)
            if os.access(probe, os.W_OK | os.X_OK):
                return
    finally:
        probe.rmdir()
    raise UsageError(
        "running as root without CAP_CHOWN and CAP_DAC_OVERRIDE, which are required to run PostgreSQL as another"
        " user; run edbench as an ordinary user, grant these capabilities, or set EDBENCH_DATABASES and"
        " EDBENCH_BROKER to running servers"
    )


def _outside(pointer: Path) -> Path:
    """Make a private directory elsewhere. The pointer is written first, so that an interrupted start leaves no unknown
    directory."""
    place = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_OUTSIDE))
    try:
        place.chmod(0o711)
        pointer.write_bytes(os.fsencode(place) + b"\n")
    except OSError:
        place.rmdir()
        raise
    return place


def remove_data(home: Home) -> None:
    """Remove the databases of a scratch directory, wherever they are stored, and the services' other files; logs stay.

    Nothing may be running for it."""
    for database in home.databases():
        with contextlib.suppress(FileNotFoundError):
            place = Path(os.fsdecode(home.pointer(database).read_bytes().rstrip(b"\n")))
            if place.parent == _OUTSIDE and place.name.startswith(_PREFIX):
                shutil.rmtree(place, ignore_errors=True)
    shutil.rmtree(home.directory, ignore_errors=True)


def make_socket_dir(run_as: RunAs | None) -> Path:
    """Make a private directory outside of scratch, whose path is short enough for a unix socket (108 bytes)."""
    for base in _SOCKET_PLACES:
        try:
            directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        except OSError:
            continue
        with contextlib.suppress(OSError):
            give_to(directory, run_as)
            return directory
        directory.rmdir()
    listed = ", ".join(str(base) for base in _SOCKET_PLACES)
    raise UsageError(f"cannot create a directory for PostgreSQL's socket in {listed}; make one of them writable")


def remove_socket_dir(directory: Path) -> None:
    """Remove a socket directory, also one that a killed keeper left."""
    if directory.parent in _SOCKET_PLACES and directory.name.startswith(_PREFIX):
        shutil.rmtree(directory, ignore_errors=True)
