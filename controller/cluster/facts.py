"""What a command has to know of a system's containers before it makes others like them."""

from __future__ import annotations

import os
from pathlib import Path

from docker.models.containers import Container

from controller.cluster.containers import Project, engine_faults
from controller.cluster.run_containers import DATABASE_FILES
from core.errors import UsageError
from monitoring.filer.boot import BOOT_ID


def worker_user(container: Container) -> tuple[int, int]:
    """User and group that our containers work as; raises UsageError when we cannot make files for them."""
    user, _, group = str(container.attrs["Config"]["User"]).partition(":")
    if os.geteuid() not in (0, int(user)):
        raise UsageError(
            f"the containers run as user {user}, so only root or user {user} can create files for them;"
            " run the experiment as one of them"
        )
    return int(user), int(group or user)


def boot_id_of(container: Container) -> str:
    """Which kernel a container runs on; equal to ours where it is this host's. Raises SystemFault."""
    with engine_faults():
        _, output = container.exec_run(["cat", str(BOOT_ID)])
    return bytes(output).decode().strip()


def database_directories(project: Project, databases: int) -> dict[str, Path]:
    """For each database whose template keeps its files in a directory: that directory. Others get a volume.

    Raises UsageError for a volume that is a place of its own, such as an export: a fresh one would lie elsewhere.
    """
    out = {}
    for name in (f"db{number}" for number in range(1, databases + 1)):
        template = (project.containers(name) or project.containers("db1"))[0]
        for mount in template.attrs["Mounts"]:
            if mount["Destination"] != DATABASE_FILES:
                continue
            if mount["Type"] == "bind":
                out[name] = Path(mount["Source"])
            elif project.volume_options(mount["Name"]):
                raise UsageError(
                    f"the volume {mount['Name']} of {name} has options of its own, and a new volume would be on other storage;"
                    " mount it on the host and name the directory in EDBENCH_DB1_DATA"
                )
    return out
