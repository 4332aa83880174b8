"""Whether all of a distributed file system is there, as far as its client on this host knows (decision 58).

A GlusterFS volume that distributes files over bricks keeps running without a brick that is away: a directory lists what
the other bricks hold, without an error, and the brick's files do not exist (ENOENT). Its client reports the state of
each part in `.meta`, a folder at the mount point that no listing shows; the client answers by itself and asks no
server.

Limits: no state is reported through an NFS gateway, or where only a folder of the volume is mounted (a container). Of a
replicated part one brick may be away. The client detects a brick that hangs after its ping-timeout (42 s)."""

from __future__ import annotations

import os
import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from core.mounts import read_mountinfo
from core.storage.errors import storage_fault


def is_within(path: str | os.PathLike[str], directory: str | os.PathLike[str]) -> bool:
    """Whether `path`, which need not exist yet, is the directory or would be in it; links are followed."""
    real, within = os.path.realpath(path), os.path.realpath(directory)
    if real == within or real.startswith(within.rstrip("/") + "/"):
        return True
    try:
        wanted = os.stat(within)
    except OSError:  # not there yet: it contains nothing under another name
        return False
    return any(_is(above, wanted) for above in _and_above(real))


def _and_above(path: str) -> list[str]:
    out = [path]
    while (above := os.path.dirname(out[-1])) != out[-1]:
        out.append(above)
    return out


def _is(path: str, wanted: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), wanted)
    except OSError:
        return False


_WRITTEN, _OTHER_CASE = "Name", "nAME"


@dataclass(frozen=True, slots=True)
class Naming:
    """The name that storage listed for a file with capitals in its name."""

    written: str
    listed: str
    case_matters: bool

    @property
    def kept(self) -> bool:
        """Whether storage keeps each name, and names that differ in case are different files."""
        return self.listed == self.written and self.case_matters


def naming_of(empty: Path) -> Naming:
    """Test how the storage of an empty directory treats names; leaves it empty. Raises OSError."""
    path = empty / _WRITTEN
    path.touch()
    try:
        (listed,) = os.listdir(empty)
        return Naming(written=_WRITTEN, listed=listed, case_matters=not (empty / _OTHER_CASE).exists())
    finally:
        path.unlink()


def strays(listed: AbstractSet[str], known: AbstractSet[str]) -> set[str]:
    """The listed files that are not known. Case-insensitive storage may list a file in another case than it was created
    in: such a name counts as the known one that is not listed itself."""
    missing = {path.lower() for path in known - listed}
    return {path for path in listed - known if path.lower() not in missing}


_KIND = "fuse.glusterfs"
_GRAPH = ".meta/graphs/active"
_DISTRIBUTES = "-dht"  # suffix of the translator that distributes files: VOLUME-dht
_STATUS = re.compile(r"^subvolume_status\[(\d+)\] = (\d+)$", re.MULTILINE)
_NAME = re.compile(r"^subvolumes\[(\d+)\] = (?:[^\s/]+/)?(\S+)$", re.MULTILINE)
_GENERATION = re.compile(r"^gen = (\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Parts:
    """The state of a volume's parts, as the client reports it."""

    away: tuple[str, ...] = ()  # names of the absent parts
    changes: tuple[int, ...] = ()  # generation numbers: they differ if a part came or went in between


WHOLE = Parts()


def parts_of(device: int) -> Parts:
    """The parts of the file system with that number (st_dev) on this host. `WHOLE` if no client reports parts: another
    kind of file system, or one of which only a folder is mounted here. Raises OSError if the client does not answer."""
    number = f"{os.major(device)}:{os.minor(device)}"
    point = next((mount.point for mount in read_mountinfo() if mount.kind == _KIND and mount.device == number), None)
    if point is None:
        return WHOLE
    graph = os.path.join(point, _GRAPH)
    reports = []
    try:
        for name in sorted(os.listdir(graph)):
            if name.endswith(_DISTRIBUTES):
                with open(os.path.join(graph, name, "private"), encoding="utf-8", errors="replace") as file:
                    reports.append(read_parts(file.read()))
    except FileNotFoundError:
        return WHOLE
    return Parts(
        away=tuple(away for parts in reports for away in parts.away),
        changes=tuple(number for parts in reports for number in parts.changes),
    )


def parts_below(root: bytes, device: int) -> Parts:
    """The parts of the file system of a source's or storage's root. It is no call: no server is asked. Raises
    StorageFault."""
    try:
        return parts_of(device)
    except OSError as error:
        raise storage_fault("list the available parts of", root, error) from error


def read_parts(text: str) -> Parts:
    """Parse the state that one translator reports."""
    names = {number: name.rpartition(".")[2] for number, name in reversed(_NAME.findall(text))}
    away = [names.get(number, f"part {number}") for number, up in _STATUS.findall(text) if up == "0"]
    return Parts(away=tuple(away), changes=tuple(int(number) for number in _GENERATION.findall(text)))
