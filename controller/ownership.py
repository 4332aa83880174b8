"""Whom the directory of a new job belongs to, where the workers are not the user who creates the job."""

from __future__ import annotations

import os
from pathlib import Path

from core.errors import StorageFault


def hand_over(directory: bytes, storage_root: Path) -> None:
    """Where we are root, give a job's directory to the owner of the storage root: workers in containers are he.

    The directories between the two go with it where they are root's. Raises StorageFault when the filer refuses (an export that squashes root gives it away itself).
    """
    if os.geteuid() != 0:
        return
    try:
        owner = os.stat(storage_root)
        top = os.path.abspath(os.fsencode(storage_root))
        while owner.st_uid and directory != top and directory.startswith(top):
            if os.stat(directory).st_uid == 0:
                os.chown(directory, owner.st_uid, owner.st_gid)
            directory = os.path.dirname(directory)
    except OSError as error:
        raise StorageFault(
            f"the job's directory cannot be given to the owner of {storage_root}: {error.strerror};"
            " run the command as that owner",
            errno=error.errno or 0,
        ) from error
