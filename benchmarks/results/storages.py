"""The storages that are measured: each is brought up, says what it is, and is taken away again."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

FILERS = Path(os.environ.get("FILERS_TOOL") or Path(__file__).resolve().parents[3] / "shared/tools/filers")
_MIB = 6_000  # of a loop device: sparse
_SPACE = "/run/netns/edb-{}"
_COMING_S = 300.0  # for servers to come up or go, their packages and an S3 server to be compiled among it


class CannotBeHad(Exception):
    """This storage cannot be made here; why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """Who tells what the filer served and what its client sent: kinds and commands of `edbench counters collect`."""

    server: tuple[str, tuple[str, ...]]
    client: tuple[str, tuple[str, ...]]
    begin: tuple[str, ...] = ()  # a command that must be given before


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A storage that is there."""

    directory: Path
    s3: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    counting: Counting | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """One row of the laboratory."""

    name: str
    title: str
    about: str  # what it is made of
    kind: str  # tmpfs, loop, filer, s3; given: somebody mounted it
    direct: bool = True  # takes O_DIRECT
    rate: str | None = None  # limit of its link
    mounted: Path | None = None  # where, of one that is given
    cache: str = ""  # that a given one declares
    share: float = 1.0  # of the time given, beside the others'

    @contextlib.contextmanager
    def up(self, work: Path) -> Iterator[Place]:
        """There while the block lasts; `work`: an own directory on local storage. Raises CannotBeHad."""
        if os.geteuid() and self.mounted is None:
            raise CannotBeHad("mounting needs root")
        make = {"given": _given, "tmpfs": _tmpfs, "loop": _loop, "filer": _filer, "s3": _s3}[self.kind]
        with make(self, work) as place:
            yield place


STORAGES = (
    Storage(name="ext4", title="ext4", about="a loop device over a file on this machine's disk", kind="loop"),
    Storage(name="tmpfs", title="tmpfs", about="this machine's memory", kind="tmpfs", direct=False,
            share=0.9),
    Storage(name="moosefs", title="MooseFS", about="master, two chunk servers, one copy, FUSE client", kind="filer",
            share=2.2),
    Storage(name="glusterfs", title="GlusterFS",
            about="distributed over two bricks, FUSE client", kind="filer", share=3.2),
    Storage(name="xfs", title="xfs", about="a loop device over a file on this machine's disk", kind="loop"),
    Storage(name="btrfs", title="btrfs", about="a loop device over a file on this machine's disk", kind="loop",
            share=1.2),
    Storage(name="moosefs-200mbit", title="MooseFS, 200 Mbit/s", about="the same with its link limited to 25 MB/s", kind="filer",
            rate="200mbit", share=2.2),
    Storage(name="s3", title="S3 (versitygw)", about="versitygw over a directory of this machine's disk", kind="s3",
            share=0.4),
)  # fmt: skip
# The one that takes longest comes last: what two hours are too short for is then the end of it, and no other storage.
DEFAULT = ("ext4", "tmpfs", "moosefs", "xfs", "btrfs", "moosefs-200mbit", "s3", "glusterfs")
QUICK = (
    "ext4",
    "moosefs",
    "glusterfs",
    "xfs",
    "btrfs",
    "s3",
    "tmpfs",
)  # in half an hour, the last with what is left of it


@contextlib.contextmanager
def _given(storage: Storage, _work: Path) -> Iterator[Place]:
    """In a directory of its own there, which goes: somebody else's may come beside it meanwhile."""
    mount = storage.mounted
    if mount is None or not mount.is_dir() or any(path.name != "lost+found" for path in mount.iterdir()):
        raise CannotBeHad(f"{mount} is no empty directory")
    try:
        own = Path(tempfile.mkdtemp(prefix="edbench-results-", dir=mount.resolve()))
    except OSError as why:
        raise CannotBeHad(f"{mount}: {why.strerror}") from why
    try:
        yield Place(directory=own)
    finally:
        shutil.rmtree(own, ignore_errors=True)


@contextlib.contextmanager
def _tmpfs(_storage: Storage, work: Path) -> Iterator[Place]:
    mount = work / "mnt"
    mount.mkdir()
    _run("mount", "-t", "tmpfs", "-o", "size=6g,mode=0755", "edbench-results", str(mount))
    try:
        yield Place(directory=mount)
    finally:
        _unmount(mount)


@contextlib.contextmanager
def _loop(storage: Storage, work: Path) -> Iterator[Place]:
    kind = storage.name
    if shutil.which(f"mkfs.{kind}") is None:
        raise CannotBeHad(f"there is no mkfs.{kind}")
    image, mount = work / "disk.img", work / "mnt"
    with image.open("wb") as file:
        file.truncate(_MIB << 20)
    mount.mkdir()
    more = ("-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-N", "400000") if kind == "ext4" else ()
    _run(f"mkfs.{kind}", "-q", *more, str(image))
    _run("mount", "-o", "loop", str(image), str(mount))
    try:
        if (mount / "lost+found").is_dir():
            (mount / "lost+found").rmdir()
        yield Place(directory=mount)
    finally:
        _unmount(mount)
        image.unlink(missing_ok=True)


@contextlib.contextmanager
def _filer(storage: Storage, work: Path) -> Iterator[Place]:
    """Up by the tool; one that is up already is somebody's and not taken."""
    name = storage.name.partition("-")[0]
    if not FILERS.is_file() or not Path("/dev/fuse").exists():
        raise CannotBeHad("there is no ../shared/tools/filers, or no /dev/fuse")
    if Path(_SPACE.format(name)).exists():
        raise CannotBeHad(f"somebody's {name} is up")
    environment = os.environ | {"FILERS_DIR": str(work / "filers")}
    inside = ("nsenter", f"--net={_SPACE.format(name)}")
    try:
        mount = Path(_run(str(FILERS), "up", name, environment=environment).splitlines()[-1])
        if storage.rate:
            _run(str(FILERS), "slow", name, storage.rate, environment=environment)
        if name == "moosefs":
            _run(*inside, "mfssetgoal", "-r", "1", str(mount))
            _run(*inside, "mfssettrashtime", "-r", "0", str(mount))
        yield Place(directory=mount, counting=_counting(name, inside, mount))
    finally:
        _down(name, environment)


def _counting(name: str, inside: tuple[str, ...], mount: Path) -> Counting | None:
    if name == "moosefs":
        if shutil.which("mfscli") is None:
            return None
        return Counting(
            server=("moosefs", (*inside, "mfscli", "-H", "192.0.2.10", "-SMO", "-m", "1", "-p", "-s", ",")),
            client=("moosefs-mount", ("cat", str(mount / ".stats"))),
        )
    volume = (*inside, "gluster", "--mode=script", "volume", "profile", "edb")
    dump = f'rm -f /var/run/gluster/edbench-results.*; setfattr -n trusted.io-stats-dump -v edbench-results "{mount}" && cat /var/run/gluster/edbench-results.*'
    return Counting(
        server=("glusterfs", (*volume, "info", "cumulative", "--xml")),
        client=("glusterfs-mount", ("sh", "-c", dump)),
        begin=(*volume, "start"),
    )


@contextlib.contextmanager
def _s3(_storage: Storage, _work: Path) -> Iterator[Place]:
    if not FILERS.is_file():
        raise CannotBeHad("there is no ../shared/tools/filers")
    environment = dict(os.environ)  # where the tool keeps what it compiled
    if "s3 " in _run(str(FILERS), "list", environment=environment):
        raise CannotBeHad("somebody's S3 server is up")
    try:
        said = _run(str(FILERS), "up", "s3", environment=environment).splitlines()[-1]
        variables = dict(word.split("=", 1) for word in said.removeprefix("export ").split())
        root = Path(environment.get("FILERS_DIR", "/var/tmp/edbench-filers")) / "s3/data"
        (root / "results").mkdir(parents=True, exist_ok=True)
        yield Place(directory=root, s3="s3://results/test", environment=variables)
    finally:
        _down("s3", environment)


@contextlib.contextmanager
def own_directory() -> Iterator[Path]:
    """On local storage, for images, servers' data and scratch; goes at the end."""
    work = Path(tempfile.mkdtemp(prefix="edbench-results-", dir="/var/tmp"))
    work.chmod(0o711)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _unmount(mount: Path) -> None:
    done = subprocess.run(["umount", str(mount)], capture_output=True, check=False)
    if done.returncode:
        subprocess.run(["umount", "-l", str(mount)], capture_output=True, check=False)


def _down(name: str, environment: Mapping[str, str]) -> None:
    """Whatever state it is in: servers that hang are not waited for."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [str(FILERS), "down", name], env=environment, capture_output=True, check=False, timeout=_COMING_S
        )


def _run(*command: str, environment: Mapping[str, str] | None = None) -> str:
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=_COMING_S)
    except subprocess.TimeoutExpired as late:
        raise CannotBeHad(f"{' '.join(command[:3])}: not within {_COMING_S:.0f} s") from late
    if done.returncode:
        raise CannotBeHad(f"{' '.join(command[:3])}: {' '.join((done.stderr or done.stdout).split())[-200:]}")
    return done.stdout.strip()
