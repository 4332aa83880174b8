"""The control groups of this process, cgroups(7): which directories hold their files, and what memory they leave.

Linux has two versions. In version 1 each controller has a hierarchy of its own below /sys/fs/cgroup; in version 2 all
controllers share one. A limit holds for a group and every group inside it, so the lowest limit from the group up to the
root counts. In a container the root of what is mounted is the container's own group, whatever the path in
/proc/self/cgroup is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_PROC, _ROOT = Path("/proc"), Path("/sys/fs/cgroup")
_LIMIT = ("memory.max", "memory.limit_in_bytes")  # of versions 2 and 1
_USED = ("memory.current", "memory.usage_in_bytes")


@dataclass(frozen=True, slots=True)
class ControlGroups:
    """Control groups of this process. `proc`, `root`: where the kernel shows processes and groups."""

    proc: Path = _PROC
    root: Path = _ROOT

    def of(self, controller: str) -> Iterator[Path]:
        """Yield the directories of the groups that `controller` limits or counts, the innermost first."""
        for hierarchy, inside in self._hierarchies(controller):
            path = PurePosixPath("/", inside).relative_to("/")
            yield from (at for part in (path, *path.parents) if (at := hierarchy / part).is_dir())

    def _hierarchies(self, controller: str) -> Iterator[tuple[Path, str]]:
        try:
            lines = (self.proc / "self/cgroup").read_text().splitlines()
        except OSError:
            lines = []
        groups = {controllers: inside for _, controllers, inside in (line.split(":", 2) for line in lines)}
        own = next((inside for controllers, inside in groups.items() if controller in controllers.split(",")), None)
        if own is not None:
            yield self.root / controller, own
        else:
            hybrid = self.root / "unified"
            yield hybrid if hybrid.is_dir() else self.root, groups.get("", "")

    def memory_limit(self) -> int | None:
        """Bytes of memory that the processes of the group may use, page cache included; None: no limit."""
        return min((limit for _, limit in self._memory_limits()), default=None)

    def memory_left(self) -> int | None:
        """Bytes below the limit that no process uses; page cache is reclaimed first and is not in use. None: no limit."""
        left = [limit - used for at, limit in self._memory_limits() if (used := _memory_used(at)) is not None]
        return max(0, min(left)) if left else None

    def memory_used(self) -> int | None:
        """Bytes of memory that the processes of the innermost group use without the page cache; None: nothing is counted."""
        return next((used for at in self.of("memory") if (used := _memory_used(at)) is not None), None)

    def _memory_limits(self) -> Iterator[tuple[Path, int]]:
        for at in self.of("memory"):
            limit = _number(at, _LIMIT)
            if limit is not None:
                yield at, limit


def _memory_used(at: Path) -> int | None:
    used = _number(at, _USED)
    try:
        fields = dict(line.split() for line in (at / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return used
    # Version 1 counts the groups inside under names with `total_` alone.
    cache = sum(int(fields.get(f"total_{name}", fields.get(name, 0))) for name in ("inactive_file", "active_file"))
    return None if used is None else max(0, used - cache)


def _number(at: Path, names: tuple[str, ...]) -> int | None:
    """Return the number in the first of the files that exists; None for the word "max" and without a file."""
    for name in names:
        with contextlib.suppress(OSError):
            text = (at / name).read_text().strip()
            return int(text) if text.isdigit() else None
    return None
