"""Real file systems for tests: local ones on files of this machine's disk, GlusterFS and MooseFS by ../shared/tools/filers."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from installation import Bench
from small_disk import fill
from testbeds import Mounted, Skipped

RATE = "10gbit"  # no limit that anybody notices
LOCAL = ("tmpfs", "ext4", "xfs", "btrfs")
SHARED = ("moosefs", "glusterfs")
CASELESS = ("exfat", "ntfs")  # do not tell upper and lower case apart
# A mount that is there already, as name:directory:the same directory as another client has it. Nothing else is tried then.
_GIVEN = os.environ.get("FILERS_MOUNT", "")
EVERY = (_GIVEN.partition(":")[0],) if _GIVEN else (*LOCAL, *CASELESS, *SHARED)
_SERVER = "192.0.2.10"  # of the tool's file systems, in the network of each
_SECOND = {"glusterfs": ("mount", "-t", "glusterfs", f"{_SERVER}:/edb"), "moosefs": ("mfsmount", "-H", _SERVER)}
_MIB = 400  # of a file system on a file: sparse; xfs takes no less than 300
_MAKE = {"ext4": ("-q", "-F", "-m", "0"), "xfs": ("-q",), "btrfs": ("-q",), "exfat": (), "ntfs": ("-F", "-Q", "-q")}
# What mounts those that the kernel has not: exFAT lists names as they were made, NTFS by this program in lower case.
_FUSE = {"exfat": ("-t", "exfat-fuse"), "ntfs": ("-t", "lowntfs-3g", "-o", "ignore_case")}


@dataclass(frozen=True, slots=True)
class Real:
    """One of them."""

    name: str
    directory: Path
    disks: tuple[Path, ...]  # what has to be full, so that it is

    @contextlib.contextmanager
    def full(self, disks: int | None = None) -> Iterator[None]:
        """No room on it while the block lasts; of data servers on so many only."""
        ballasts = [disk / "ballast" for disk in self.disks[:disks]]
        try:
            for ballast in ballasts:
                fill(ballast)
            yield
        finally:
            for ballast in ballasts:
                ballast.unlink(missing_ok=True)

    @contextlib.contextmanager
    def elsewhere(self) -> Iterator[Path]:
        """Its directory as another client has it; as this one does, where it has one only."""
        if _GIVEN:
            yield Path(_GIVEN.split(":")[2])
        elif self.name in SHARED:
            other = self.directory.with_name("second")
            other.mkdir(exist_ok=True)
            inside(self.name, *_SECOND[self.name], str(other))
            try:
                yield other
            finally:
                subprocess.run(["umount", "--lazy", str(other)], check=True)
        else:
            yield self.directory


def inside(name: str, *command: str) -> str:
    """In the network of its servers; what it prints."""
    line = ["nsenter", f"--net=/run/netns/edb-{name}", *command]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout


@contextlib.contextmanager
def real(name: str, *, small: bool = False) -> Iterator[Real]:
    """There while the block lasts; skips with the reason where it cannot be had. `small`: the data servers of a shared one
    have a small disk each. All of it lies below FILERS_WORK (/var/tmp): whoever kills the tests finds there what to take down."""
    if os.geteuid():
        pytest.skip("this needs root")
    work = Path(tempfile.mkdtemp(prefix="edbench-filers-", dir=os.environ.get("FILERS_WORK", "/var/tmp")))
    work.chmod(0o711)
    try:
        with contextlib.ExitStack() as stack:
            try:
                there = stack.enter_context(_made(name, work, small))
            except Skipped as why:
                pytest.skip(f"{name}: {why}")
            yield there
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextlib.contextmanager
def _made(name: str, work: Path, small: bool) -> Iterator[Real]:
    with contextlib.ExitStack() as stack:
        if _GIVEN:
            yield Real(name, Path(_GIVEN.split(":")[1]), ())
            return
        if name not in SHARED:
            mount = stack.enter_context(mounted(name, work / "disk"))
            yield Real(name, mount, (mount,))
            return
        home = work / "filers" / name
        home.mkdir(parents=True)
        bricks = [home / f"brick{number}" for number in (1, 2)] if small else []
        disks = tuple(stack.enter_context(mounted("ext4", brick)) for brick in bricks)
        place = stack.enter_context(Mounted(name, RATE).up(work))
        yield Real(name, place.directory, disks)


@contextlib.contextmanager
def mounted(kind: str, mount: Path) -> Iterator[Path]:
    """A local file system of a few hundred MiB there. Raises Skipped."""
    mount.mkdir()
    for line in _lines(kind, mount):
        if shutil.which(line[0]) is None:
            raise Skipped(f"there is no {line[0]}")
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Skipped(f"{line[0]}: {done.stderr.strip()[-200:]}")
    try:
        yield mount
    finally:
        if subprocess.run(["umount", str(mount)], check=False).returncode:
            subprocess.run(["umount", "-l", str(mount)], check=True)


def _lines(kind: str, mount: Path) -> list[list[str]]:
    if kind == "tmpfs":
        return [["mount", "-t", "tmpfs", "-o", f"size={_MIB}m,mode=755", "edbench-test", str(mount)]]
    image = mount.with_suffix(".img")
    with image.open("wb") as file:
        file.truncate(_MIB << 20)
    return [[f"mkfs.{kind}", *_MAKE[kind], str(image)], [*mount_line(mount), *_FUSE.get(kind, ())]]


def mount_line(mount: Path) -> list[str]:
    """How a local file system on a file is mounted; again, where a test has unmounted it."""
    return ["mount", "-o", "loop", str(mount.with_suffix(".img")), str(mount)]


@contextlib.contextmanager
def installed(bench: Bench, storage: Real, corpus: Path) -> Iterator[Bench]:
    """An installation whose source and storage root lie there; nothing is left of them. Where names of a corpus would not be those of
    its manifest, the source stays where it is."""
    root = Path(tempfile.mkdtemp(prefix="edbench ", dir=storage.directory))
    bench.corpus = corpus if storage.name in CASELESS else root / "corpus"
    if bench.corpus != corpus:
        shutil.copytree(corpus, bench.corpus, copy_function=shutil.copyfile)
    bench.env["EDBENCH_STORAGE"] = str(root / "storage root")
    yield bench
    shutil.rmtree(root)


def suspended(out: str, *words: str) -> None:
    """A command ended with one line: the job waits, and why."""
    (line,) = [line for line in out.splitlines() if line.startswith("edbench: ")]
    assert "is suspended: " in line
    assert any(word in line for word in words), line


def delete_verified(there: Bench, number: int) -> None:
    """Verify and delete the jobs that are no discoveries, so many."""
    jobs = json.loads(there.ask("job", "list", "-o", "json").stdout)
    made = [one["job_id"] for one in jobs if one["type"] != "discovery"]
    assert len(made) == number
    for job in made:
        assert "0 missing, 0 extra, 0 wrong" in there.ask("verify", job).stdout
        there.ask("job", "delete", job)
