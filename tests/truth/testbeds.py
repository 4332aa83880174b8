"""Storage whose answer is known: each testbed makes it, says how a command gets there, and takes it away again."""

import contextlib
import functools
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

REPOSITORY = Path(__file__).resolve().parents[2]
EDBENCH = REPOSITORY / ".venv/bin/edbench"
FILERS = Path(os.environ.get("FILERS_TOOL") or REPOSITORY.parent / "shared/tools/filers")
GROUPS = Path("/sys/fs/cgroup")
_SERVER = "192.0.2.10"  # of the tool's file systems, in the network of each
_PATIENCE_S = 200.0  # for servers to come up, the installation of their packages among it
_LOOP_TOOLS = ("losetup", "mkfs.ext4", "mount")


class Skipped(Exception):
    """This storage cannot be made here; why."""


@dataclass(frozen=True, slots=True)
class Place:
    """A directory on the storage, and what a command needs beside."""

    directory: Path
    arguments: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()
    slow: "Callable[[], Place] | None" = None  # makes it half as fast; the place from then on
    cold: Callable[[], None] = lambda: None  # empties what its client's own process caches
    s3: str | None = None  # an endpoint, bucket and prefix, in place of the directory
    environment: Mapping[str, str] = field(default_factory=dict)  # that leads there
    refused: Callable[[], int] | None = None  # connections that the endpoint refused, by its own count


class Testbed(Protocol):
    """A storage to be."""

    def up(self, work: Path) -> contextlib.AbstractContextManager[Place]:
        """There while the block lasts. `work`: an own directory on local storage. Raises Skipped."""


@dataclass(frozen=True, slots=True)
class Emulated:
    """The emulated filer of these tables, over local storage; `slower`: of one that is half as fast."""

    tables: str
    slower: str | None = None

    @contextlib.contextmanager
    def up(self, work: Path) -> Iterator[Place]:
        """A profile and a directory."""
        (work / "there").mkdir()

        def place(name: str, tables: str) -> Place:
            file = work / f"{name}.toml"
            file.write_text(f'name = "{name}"\n{tables}')
            return Place(work / "there", ("--filer", str(file)), slow=slow)

        slow = None if self.slower is None else functools.partial(place, "slower", self.slower)
        yield place("known", self.tables)


@dataclass(frozen=True, slots=True)
class Memory:
    """A directory in memory."""

    @contextlib.contextmanager
    def up(self, work: Path) -> Iterator[Place]:
        """Below /dev/shm."""
        if not os.path.ismount("/dev/shm"):
            raise Skipped("there is no /dev/shm")
        with tempfile.TemporaryDirectory(prefix="edbench-truth-", dir="/dev/shm") as directory:
            yield Place(Path(directory))


@dataclass(frozen=True, slots=True)
class Loop:
    """ext4 on a file of so many MiB; `mb_per_s`: reads and writes of its block device are limited to that."""

    mib: int
    mb_per_s: float | None = None
    features: str = ""  # of ext4, beside or (^) without the usual ones

    @contextlib.contextmanager
    def up(self, work: Path) -> Iterator[Place]:
        """Mounted."""
        _need_root(*_LOOP_TOOLS)
        image, mount = work / "disk.img", work / "disk"
        with image.open("wb") as file:
            file.truncate(self.mib << 20)
        mount.mkdir()
        features = ("-O", self.features) if self.features else ()
        lazy = "lazy_itable_init=0,lazy_journal_init=0"
        _run("mkfs.ext4", "-q", "-F", "-m", "0", *features, "-E", lazy, str(image))
        device = _run("losetup", "--find", "--show", str(image))
        try:
            _run("mount", device, str(mount))
            try:
                (mount / "lost+found").rmdir()
                with self._limited(device):
                    yield Place(mount)
            finally:
                _run("umount", str(mount))
        finally:
            _run("losetup", "--detach", device)

    @contextlib.contextmanager
    def _limited(self, device: str) -> Iterator[None]:
        files = [GROUPS / f"blkio/blkio.throttle.{way}_bps_device" for way in ("read", "write")]
        if self.mb_per_s is None:
            yield
            return
        if not all(file.exists() for file in files):
            raise Skipped("block devices cannot be limited for the whole machine (control groups of version 2)")
        number = os.stat(device).st_rdev
        name = f"{os.major(number)}:{os.minor(number)}"
        try:
            for file in files:
                file.write_text(f"{name} {int(self.mb_per_s * 1e6)}")
            yield
        finally:
            for file in files:
                file.write_text(f"{name} 0")


@dataclass(frozen=True, slots=True)
class Mounted:
    """A shared file system of that name with its link limited to a rate, by ../shared/tools/filers."""

    name: str
    rate: str  # as tc has it: 200mbit
    slower: str | None = None  # half of it

    @contextlib.contextmanager
    def up(self, work: Path) -> Iterator[Place]:
        """Up, and down again; one that is up already is somebody's and not taken."""
        _need_root()
        if not FILERS.is_file() or not Path("/dev/fuse").exists():
            raise Skipped("there is no ../shared/tools/filers, or no /dev/fuse")
        environment = os.environ | {"FILERS_DIR": str(work / "filers")}
        if Path(f"/run/netns/edb-{self.name}").exists():
            raise Skipped(f"somebody's {self.name} is up")
        try:
            mount = _run(str(FILERS), "up", self.name, environment=environment).splitlines()[-1]
            if self.name == "moosefs":  # else two copies of what is written cross the link: half its rate
                _run("nsenter", f"--net=/run/netns/edb-{self.name}", "mfssetgoal", "-r", "1", mount)
            yield self._at(self.rate, Path(mount), environment)
        finally:
            subprocess.run([str(FILERS), "down", self.name], env=environment, capture_output=True, check=False)

    def _at(self, rate: str, mount: Path, environment: dict[str, str]) -> Place:
        _run(str(FILERS), "slow", self.name, rate, environment=environment)
        slow = None if self.slower is None else functools.partial(self._at, self.slower, mount, environment)
        return Place(mount, slow=slow, cold=functools.partial(self._remount, mount))

    def _remount(self, mount: Path) -> None:
        """As the tool mounted it: a new client process knows nothing."""
        _run("umount", str(mount))
        known = {"glusterfs": ("mount", "-t", "glusterfs", f"{_SERVER}:/edb", str(mount)),
                 "moosefs": ("mfsmount", str(mount), "-H", _SERVER)}  # fmt: skip
        _run("nsenter", f"--net=/run/netns/edb-{self.name}", *known[self.name])


@dataclass(frozen=True, slots=True)
class Local:
    """A directory on local storage."""

    @contextlib.contextmanager
    def up(self, work: Path) -> Iterator[Place]:
        """Empty."""
        (work / "local").mkdir()
        yield Place(work / "local")


@dataclass(frozen=True, slots=True)
class Moved:
    """One storage, and another one that is meant where a slower one is."""

    first: Testbed
    second: Testbed

    @contextlib.contextmanager
    def up(self, work: Path) -> Iterator[Place]:
        """Both at the same time."""
        with contextlib.ExitStack() as both:
            places = []
            for name, testbed in (("first", self.first), ("second", self.second)):
                (work / name).mkdir(mode=0o711)
                places.append(both.enter_context(testbed.up(work / name)))
            yield replace(places[0], slow=lambda: places[1])


@dataclass(frozen=True, slots=True)
class SmallMemory:
    """Local storage, seen from a control group that may have so many MiB of memory, the page cache among them."""

    mib: int

    @contextlib.contextmanager
    def up(self, work: Path) -> Iterator[Place]:
        """The group is the only one that the command sees, as in a container."""
        _need_root("unshare")
        home, limit = GROUPS / "memory", "memory.limit_in_bytes"
        if not (home / limit).exists():
            raise Skipped("there is no control group of version 1 for memory")
        (work / "there").mkdir()
        group = home / f"edbench-truth-{os.getpid()}"
        group.mkdir()
        inside = f'echo $$ > {group}/cgroup.procs && mount --bind {group} {home} && exec "$@"'
        try:
            (group / limit).write_text(str(self.mib << 20))
            yield Place(work / "there", prefix=("unshare", "--mount", "sh", "-c", inside, "sh"))
        finally:
            until = time.monotonic() + 30  # the last services are going
            while (group / "cgroup.procs").read_text() and time.monotonic() < until:
                time.sleep(0.2)
            group.rmdir()


def _need_root(*tools: str) -> None:
    if os.geteuid():
        raise Skipped("this needs root")
    lacking = [tool for tool in tools if shutil.which(tool) is None]
    if lacking:
        raise Skipped(f"there is no {lacking[0]}")


def _run(*command: str, environment: dict[str, str] | None = None) -> str:
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=_PATIENCE_S
        )
    except subprocess.TimeoutExpired as late:
        raise Skipped(f"{' '.join(command[:2])}: not within {_PATIENCE_S:.0f} s") from late
    if done.returncode:
        raise Skipped(f"{' '.join(command[:2])}: {' '.join(done.stderr.split())[-200:]}")
    return done.stdout.strip()
