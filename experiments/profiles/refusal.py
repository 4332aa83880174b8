"""Whether what a profile needs goes on its paths, before anything is written."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from core.errors import UsageError
from core.filer import load_filer
from core.storage.whole import lies_in
from experiments.profiles.owner import forget_dead, told
from experiments.profiles.profile import Profile, Targets
from experiments.report import words

MOST_OF_FREE = 0.8  # of the free space, unless the operator says yes


def refuse_targets(profile: type[Profile], targets: Targets) -> None:  # type: ignore[type-arg]  # of any settings
    """Raises UsageError for targets that the profile does not take, and for paths that overlap."""
    if targets.s3 and not profile.takes_s3:
        raise UsageError(f"{profile.name} requires paths: --path")
    if targets.paths and not profile.takes_paths:
        raise UsageError(f"{profile.name} takes no path")
    if not targets.s3 and not targets.paths and (profile.takes_paths or profile.takes_s3):
        other = " or --s3 URL" if profile.takes_s3 else ""
        raise UsageError(f"{profile.name} needs --path DIR{other}: where to run")
    for one, other_path in itertools.permutations(targets.paths, 2):
        if lies_in(one, other_path):
            raise UsageError(f"--path {one}: two of the paths are the same directory, or one is inside the other")


def refuse_filer(profile: Profile, source: str) -> None:  # type: ignore[type-arg]
    """Raises UsageError where an emulated filer is asked for that would delay nothing."""
    filer = load_filer(source)
    if filer is None:
        return
    if profile.targets.paths and not profile.emulates:
        raise UsageError(
            f"{profile.name}: the emulated filer {filer.name} delays the calls of edbench's own clients only, and this test runs another program; use --filer none"
        )
    if profile.targets.s3:
        raise UsageError(
            f"{profile.name}: the emulated filer {filer.name} delays calls on paths and not to S3; use --filer none"
        )


def refuse_room(profile: Profile, *, yes: bool) -> None:  # type: ignore[type-arg]
    """Raises UsageError where a path is no directory, a file system has not the room for all paths on it, or, without `yes`,
    would be over 80 % of its free space. What a dead command left there is removed first: it is no room that is missing.

    Raises StorageFault where a path cannot be looked at.
    """
    room = profile.room()
    on_device: dict[int, list[Path]] = {}
    for path in profile.targets.paths:
        if not path.is_dir():
            raise UsageError(f"{path} is not a directory; create it, or mount the storage under test there")
        with told(path):
            forget_dead(path)
            on_device.setdefault(os.stat(path).st_dev, []).append(path)
    for paths in on_device.values():
        refuse_bytes(profile.name, paths[0], room.bytes * len(paths), room.files * len(paths), yes=yes)


def refuse_bytes(name: str, path: Path, needed: int, files: int, *, yes: bool) -> None:
    """Raises UsageError where so much does not go there, or, without `yes`, would be over 80 % of the free space."""
    there = os.statvfs(path)
    free = there.f_bavail * there.f_frsize
    if needed > free or (there.f_files and files > there.f_favail):
        raise UsageError(
            f"{path}: {name} needs {words.size(needed)} and {words.many(files, 'file')},"
            f" {words.size(free)} and {there.f_favail:,} are free; make it smaller with --set"
        )
    if needed > MOST_OF_FREE * free and not yes:
        raise UsageError(
            f"{path}: {name} would take {words.size(needed)} of {words.size(free)} that are free, over"
            f" {words.percent(MOST_OF_FREE)}; confirm with --yes, or make it smaller with --set"
        )
