"""What the containers of a Compose system see of this host: the storage root and the evidence, at the same paths."""

from __future__ import annotations

import os
from pathlib import Path

from controller.cluster.containers import Project, engine_faults
from core.errors import UsageError
from core.settings import Settings


def refuse_unseen_filer(settings: Settings) -> None:
    """Raises UsageError for an emulated filer of a file that the containers do not see."""
    if settings.filer.startswith("/") and not is_below(Path(settings.filer), settings.storage):
        raise UsageError(f"the containers cannot read {settings.filer}; put it below {settings.storage}")


def is_below(path: Path, root: Path) -> bool:
    """Whether the containers, which have the storage root and nothing else of a host, see a path."""
    real = os.path.realpath(root)
    return os.path.commonpath([real, os.path.realpath(path)]) == real


def refuse_unseen(source: Path, root: Path, evidence: Path | None = None) -> None:
    """Raises UsageError for a source that the containers do not see: it is neither below the storage root nor below
    `evidence`, which they see without being able to change it."""
    if not is_below(source, root) and not (evidence is not None and is_below(source, evidence)):
        raise UsageError(
            f"the containers see only {root}{f' and {evidence}' if evidence else ''}; put the source there, at"
            f" {root}/corpora/NAME for instance, or name its place in EDBENCH_EVIDENCE"
        )


def check_storage(project: Project, root: Path) -> None:
    """Raises UsageError unless this process and the containers see one directory as the storage root."""
    try:
        ours = os.stat(root).st_ino
    except OSError as error:
        raise UsageError(
            f"the containers' storage root {root} is not here ({error.strerror}): mount it at the same path,"
            " or run the command in the system: `docker compose exec controller edbench …`"
        ) from error
    with engine_faults():
        status, output = project.one("controller").exec_run(["stat", "-L", "-c", "%i", str(root)])
    if status != 0 or output.strip() != str(ours).encode():
        raise UsageError(
            f"{root} is another directory here than in the containers; mount the filer at the same path on all"
            " hosts (EDBENCH_MOUNT), or run the command in the system: `docker compose exec controller edbench …`"
        )
