"""Where the services keep their things: everything under scratch, unless PostgreSQL's user cannot get there.

scratch/services/            lock files, address file, keeper.log, broker/
scratch/services/postgres/   `data`, `password`; or, in a closed place, a pointer file `postgres.place` to a
                             private directory under /var/tmp that has them
scratch/logs/                what the processes say
"""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from core.errors import StorageFault, UsageError
from core.services.binaries import can_reach
from core.services.process import RunAs

_NOBODY = 65534
_OUTSIDE = Path("/var/tmp")
_PREFIX = "edbench-"
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

    @property
    def pointer(self) -> Path:
        return self.directory / "postgres.place"

    def lock(self, name: str) -> Path:
        """The lock file of that name (core.services.locks)."""
        return self.directory / f"{name}.lock"

    def prepare(self) -> None:
        """Make the directories. Raises UsageError when scratch cannot be used, StorageFault when it is full."""
        try:
            for directory in (self.scratch, self.directory, self.logs):
                if not directory.is_dir():
                    directory.mkdir(parents=True, exist_ok=True)
                    directory.chmod(0o711)  # whatever the umask: PostgreSQL's user has to pass through under root
            with tempfile.TemporaryFile(dir=self.directory) as probe:
                probe.write(bytes(65_536))
                probe.flush()
        except OSError as error:
            raise scratch_error(self.scratch, error) from error


def scratch_error(scratch: Path, error: OSError) -> UsageError | StorageFault:
    """One line for what is wrong with scratch."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFault(f"scratch {scratch} is full; free space there or set EDBENCH_SCRATCH to another directory")
    return UsageError(
        f"scratch {scratch} cannot be used: {error.strerror or error}; "
        "set EDBENCH_SCRATCH to a local directory that you may write to"
    )


def server_user(place: Path | None = None) -> RunAs | None:
    """Whom PostgreSQL runs as; None means as we are. It refuses root, so root starts it as the owner of the data
    there are, else as nobody. Raises UsageError when the data belong to somebody else."""
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


def postgres_place(home: Home) -> Path:
    """The directory for PostgreSQL's `data` and `password`, made when there is none yet.

    Raises UsageError when the pointer leads nowhere, StorageFault when nothing can be made.
    """
    if home.pointer.exists():
        place = Path(os.fsdecode(home.pointer.read_bytes().rstrip(b"\n")))
        if not place.is_dir() or ((place / "password").exists() and not (place / "data").is_dir()):
            raise UsageError(
                f"the database of {home.scratch} lay in {place}, which is gone; "
                f"remove {home.pointer} to start with an empty one"
            )
        return place
    inside = home.directory / "postgres"
    if (inside / "data").exists():
        return inside
    try:
        inside.mkdir(mode=0o711, exist_ok=True)
        return inside if _takes(inside, server_user()) else _outside(home)
    except OSError as error:
        raise scratch_error(home.scratch, error) from error


def _takes(place: Path, run_as: RunAs | None) -> bool:
    """Whether that user can really have a directory of its own in there."""
    if run_as is None:
        return True
    probe = Path(tempfile.mkdtemp(dir=place))
    try:
        give_to(probe, run_as)
        return can_reach(probe, run_as, how="-w")
    except OSError:
        return False
    finally:
        probe.rmdir()


def _outside(home: Home) -> Path:
    """A private directory elsewhere; the pointer comes first, so that a start cut short leaves nothing lost."""
    place = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_OUTSIDE))
    try:
        place.chmod(0o711)
        home.pointer.write_bytes(os.fsencode(place) + b"\n")
    except OSError:
        place.rmdir()
        raise
    return place


def remove_data(home: Home) -> None:
    """Remove the database of a scratch directory wherever it lies, and the services' other files; logs stay.

    Nothing may be running for it.
    """
    with contextlib.suppress(FileNotFoundError):
        place = Path(os.fsdecode(home.pointer.read_bytes().rstrip(b"\n")))
        if place.parent == _OUTSIDE and place.name.startswith(_PREFIX):
            shutil.rmtree(place, ignore_errors=True)
    shutil.rmtree(home.directory, ignore_errors=True)


def make_socket_dir(run_as: RunAs | None) -> Path:
    """A private directory with a path short enough for a unix socket (108 bytes), away from long scratch paths."""
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
    raise UsageError(f"no directory for PostgreSQL's socket can be made in {listed}; make one of them writable")


def remove_socket_dir(directory: Path) -> None:
    """Clear away a socket directory, also one that a killed keeper left."""
    if directory.parent in _SOCKET_PLACES and directory.name.startswith(_PREFIX):
        shutil.rmtree(directory, ignore_errors=True)
