"""`make test-filers`: what each mount does when it is asked, call by call: the table in docs/filers.md that the rest stands on."""

import contextlib
import ctypes
import errno
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from installation import until
from real_mounts import Real

from core.storage.beneath import kernel_has_openat2, open_beneath
from core.storage.layer import Storage
from core.storage.sync import syncfs

pytest.importorskip("storage_tests")

from storage_tests.devices import Direct, direct_on

_STEADY = 1_000  # files that are there all the time
_LISTINGS = 10
_COME_AND_GO = 2_000  # at most: where the server is faster than its client, a listing would never end
_NOREPLACE, _EXCHANGE = 1, 2  # flags of renameat2(2)
_HERE = -100  # AT_FDCWD
# Another process: a lock of this one does not keep this one out.
_TRY_LOCK = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'w'), fcntl.LOCK_EX | fcntl.LOCK_NB)"


def _replaced_while_open(there: Path) -> bool:
    """The old bytes can be read on, and one name is there."""
    (there / "a").write_bytes(b"old")
    (there / "b").write_bytes(b"new")
    with (there / "a").open("rb") as old:
        (there / "b").rename(there / "a")
        return (old.read(), (there / "a").read_bytes(), os.listdir(there)) == (b"old", b"new", ["a"])


def _removed_while_open(there: Path) -> bool:
    """The same, and nothing keeps its directory from being removed."""
    (there / "d").mkdir()
    (there / "d/a").write_bytes(b"old")
    with (there / "d/a").open("rb") as old:
        (there / "d/a").unlink()
        return _done((there / "d").rmdir) and old.read() == b"old"


def _unnamed(there: Path) -> bool:
    return _done(lambda: os.close(os.open(there, os.O_TMPFILE | os.O_RDWR)))


def _linked(there: Path) -> bool:
    (there / "a").touch()
    return _done(lambda: os.link(there / "a", there / "b")) and (there / "a").samefile(there / "b")


def _attributed(there: Path) -> bool:
    (there / "a").touch()
    return _done(lambda: os.setxattr(there / "a", b"user.x", b"y")) and os.getxattr(there / "a", b"user.x") == b"y"


def _piped(there: Path) -> bool:
    return _done(lambda: os.mkfifo(there / "a"))


def _locked(there: Path) -> bool:
    """flock(2), between two openings."""
    with (there / "a").open("w") as one, (there / "a").open("w") as other:
        taken = _done(lambda: fcntl.flock(one, fcntl.LOCK_EX))
        return taken and not _done(lambda: fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB))


def _locked_by_range(there: Path) -> bool:
    """As lockf(3) does, against another process."""
    with (there / "a").open("w") as file:
        line = [sys.executable, "-S", "-c", _TRY_LOCK, str(there / "a")]
        taken = _done(lambda: fcntl.lockf(file, fcntl.LOCK_EX))
        return taken and "BlockingIOError" in subprocess.run(line, capture_output=True, text=True, check=False).stderr


def _opened_beneath(there: Path) -> bool:
    """openat2(2), as all of a job's paths are opened."""
    (there / "a").touch()
    directory = os.open(there, os.O_PATH)
    try:
        return kernel_has_openat2() and _done(lambda: os.close(open_beneath(directory, b"a", os.O_RDONLY)))
    finally:
        os.close(directory)


def _renamed(flags: int) -> Callable[[Path], bool]:
    """renameat2(2) with such flags: not over another, and where there is none; both are there afterwards, by the other's name."""

    def renamed(there: Path) -> bool:
        for name in ("a", "b"):
            (there / name).write_text(name)
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        failed = rename(_HERE, os.fsencode(there / "a"), _HERE, os.fsencode(there / "b"), flags)
        if flags == _EXCHANGE:
            return not failed and ((there / "a").read_text(), (there / "b").read_text()) == ("b", "a")
        refused = failed and ctypes.get_errno() == errno.EEXIST and (there / "b").read_text() == "b"
        return refused and not rename(_HERE, os.fsencode(there / "a"), _HERE, os.fsencode(there / "c"), flags)

    return renamed


def _direct(there: Path) -> bool:
    return direct_on(there) is not Direct.REFUSED


def _kept(*names: bytes) -> Callable[[Path], bool]:
    """Each is a file of its own, and is listed as it was made."""

    def kept(there: Path) -> bool:
        for name in names:
            if not _done(
                lambda name=name: os.close(os.open(os.fsencode(there) + b"/" + name, os.O_CREAT | os.O_WRONLY))
            ):
                return False
        return sorted(os.listdir(os.fsencode(there))) == sorted(names)

    return kept


def _timed(there: Path) -> bool:
    """To the nanosecond."""
    (there / "a").touch()
    os.utime(there / "a", ns=(1_234_567_891, 1_234_567_891))
    return (there / "a").stat().st_mtime_ns == 1_234_567_891


def _done(call: Callable[[], object]) -> bool:
    """Whether it is taken."""
    try:
        call()
    except OSError:
        return False
    return True


_ASKED: dict[str, Callable[[Path], bool]] = {
    "rename over an open file": _replaced_while_open,
    "unlink of an open file": _removed_while_open,
    "O_TMPFILE": _unnamed,
    "hard links": _linked,
    "user xattrs": _attributed,
    "FIFOs": _piped,
    "flock": _locked,
    "lockf": _locked_by_range,
    "openat2": _opened_beneath,
    "renameat2, unless there": _renamed(_NOREPLACE),
    "renameat2, exchange": _renamed(_EXCHANGE),
    "O_DIRECT": _direct,
    "names that differ in case": _kept(b"A", b"a"),
    "capitals": _kept(b"Report"),
    "names that differ in normalisation": _kept("\u00e9".encode(), "e\u0301".encode()),
    "bytes that are no UTF-8": _kept(b"\xff"),
    "line breaks": _kept(b"a\nb"),
    "colons": _kept(b"a:b"),
    "255 bytes": _kept(b"x" * 255),
    "255 letters of two bytes": _kept("\u00e9".encode() * 255),
    "nanoseconds": _timed,
}
_RENAMES = {"renameat2, unless there", "renameat2, exchange"}
_WHILE_OPEN = {"rename over an open file", "unlink of an open file"}  # a file stands beside until it is closed
# What is not done. Who of these does more one day is no defect, but docs/filers.md is to say it.
_NOT = {
    "tmpfs": {"255 letters of two bytes"},
    "ext4": {"255 letters of two bytes"},
    "xfs": {"255 letters of two bytes"},
    "btrfs": {"255 letters of two bytes"},
    "moosefs": {"O_TMPFILE", *_RENAMES, "nanoseconds", "255 letters of two bytes"},
    "glusterfs": {"O_TMPFILE", *_RENAMES, "255 letters of two bytes"},
    "nfs": {"O_TMPFILE", "user xattrs", *_RENAMES, "255 letters of two bytes", *_WHILE_OPEN},
    "exfat": {"O_TMPFILE", *_RENAMES, "hard links", "user xattrs", "FIFOs", "names that differ in case", "bytes that are no UTF-8",
              "line breaks", "colons", "nanoseconds", *_WHILE_OPEN},
    "ntfs": {"O_TMPFILE", *_RENAMES, "names that differ in case", "capitals", "bytes that are no UTF-8", "255 letters of two bytes",
             "nanoseconds", *_WHILE_OPEN},
}  # fmt: skip


@pytest.fixture
def there(storage: Real) -> Iterator[Path]:
    """An empty directory on it."""
    directory = Path(tempfile.mkdtemp(prefix="edbench ", dir=storage.directory))
    yield directory
    shutil.rmtree(directory)


def test_what_it_does_is_what_the_page_states(storage: Real, there: Path) -> None:
    does_not = set()
    for number, (what, asked) in enumerate(_ASKED.items()):
        own = there / str(number)
        own.mkdir()
        if not asked(own):
            does_not.add(what)
    assert does_not == _NOT[storage.name]


def test_a_name_that_is_too_long_is_refused(there: Path) -> None:
    with pytest.raises(OSError, match=os.strerror(errno.ENAMETOOLONG)):
        (there / ("x" * 256)).touch()
    assert os.listdir(there) == []


def test_a_listing_has_each_file_once_while_others_come_and_go(storage: Real, there: Path) -> None:
    if storage.name == "nfs":
        pytest.skip("its server exports a tmpfs, where a place in a listing is none when others come and go")
    steady = {b"steady-%04d" % number for number in range(_STEADY)}
    for name in steady:
        os.close(os.open(os.fsencode(there) + b"/" + name, os.O_CREAT | os.O_WRONLY))
    layer = Storage()
    with storage.elsewhere() as other, _at_work(other / there.relative_to(storage.directory)) as done:
        until(lambda: done, "one has come and gone")
        listings = [[entry.name for entry in layer.scan(os.fsencode(there))] for _ in range(_LISTINGS)]
    for (
        listed
    ) in listings:  # one that is on its way may be there twice: on GlusterFS a file that is renamed changes bricks
        assert sorted(name for name in listed if name in steady) == sorted(steady)


@contextlib.contextmanager
def _at_work(place: Path) -> Iterator[list[int]]:
    """Files come, are renamed and go there; how often."""
    over, done = threading.Event(), list[int]()

    def work() -> None:
        while not over.is_set() and len(done) < _COME_AND_GO:
            new, renamed = place / f"new-{len(done)}", place / f"renamed-{len(done)}"
            new.touch()
            new.rename(renamed)
            renamed.unlink()
            done.append(len(done))

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield done
    finally:
        over.set()
        worker.join()


def test_everything_can_be_synced(there: Path) -> None:
    (there / "a").write_bytes(b"x")
    descriptor = os.open(there, os.O_RDONLY)
    try:
        syncfs(descriptor)
    finally:
        os.close(descriptor)
