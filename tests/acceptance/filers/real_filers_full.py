"""`make test-filers`: storage that becomes full in the middle of a job, on file systems and servers of their own."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from installation import Bench
from real_mounts import EVERY, Real, installed, real, suspended

from core.errors import StorageFault
from core.storage.layer import Storage

_FULL = "No space left on device; free space"
_REPORTED = {
    "glusterfs": (
        _FULL,
        "Stale file handle; check that the filer is mounted and reachable, and that no part of it is full",
    ),
    # Its client tries for two minutes to find room, and nothing ends it meanwhile.
    "moosefs": (_FULL, "cannot be killed (uninterruptible sleep"),
}
_MOST = 10_000  # files of 64 KiB: more than any of these disks takes


@pytest.fixture(scope="module", params=EVERY)
def storage(request: pytest.FixtureRequest) -> Iterator[Real]:
    """With disks that a test can fill."""
    with real(request.param, small=True) as there:
        yield there


@pytest.fixture
def there(storage: Real, bench: Bench, small: Path) -> Iterator[Bench]:
    """On it."""
    with installed(bench, storage, small) as made:
        yield made


@pytest.mark.parametrize("phase", ["expand", "index"])
def test_full_in_the_middle(storage: Real, there: Bench, phase: str) -> None:
    """Suspended with the reason, and again when it is resumed with no room; with room it ends with zero differences."""
    process, held = there.discover_held(phase, 2, "--workers", "1", "--slots", "1")
    with storage.full():
        held.let_go()
        suspended(there.end(process, 1), *_REPORTED.get(storage.name, (_FULL,)))
        again = there.edbench("job", "resume", "last", "--workers", "1", check=1)
        suspended(again.stderr + again.stdout, *_REPORTED.get(storage.name, (_FULL,)))
    with there.attached():
        there.edbench("job", "resume", "last", "--workers", "1")
        there.verify()


@pytest.mark.parametrize("phase", ["expand", "index"])
def test_one_of_two_disks_is_full_in_the_middle(storage: Real, there: Bench, phase: str) -> None:
    """MooseFS writes to the other; GlusterFS refuses, by where a name would lie, and the job is suspended with the reason. Either
    way it ends with zero differences."""
    if len(storage.disks) < 2:
        pytest.skip("of one disk")
    process, held = there.discover_held(phase, 2, "--workers", "1", "--slots", "1")
    with storage.full(disks=1):
        held.let_go()
        out = there.end(process, check=None)
        if process.returncode:
            assert storage.name == "glusterfs"
            suspended(out, *_REPORTED[storage.name])
    with there.attached():
        if process.returncode:
            there.edbench("job", "resume", "last", "--workers", "1")
        there.verify()


def test_what_was_closed_is_there(storage: Real) -> None:
    directory = Path(tempfile.mkdtemp(prefix="edbench ", dir=storage.directory))
    with storage.full():
        written, refused = _written_until_refused(os.fsencode(directory))
    assert refused in (errno.ENOSPC, errno.ESTALE)
    with storage.elsewhere() as other:
        theirs = other / directory.relative_to(storage.directory)
        found = {name: (theirs / os.fsdecode(name)).read_bytes() for name in written}
    assert found == {name: name.ljust(1 << 16, b".") for name in written}
    shutil.rmtree(directory)


def _written_until_refused(directory: bytes) -> tuple[list[bytes], int]:
    """Names of those that were said to be written, and the error of the next."""
    layer, written = Storage(), list[bytes]()
    for number in range(_MOST):
        name = b"f%d" % number
        try:
            layer.write_file(directory + b"/" + name, [name.ljust(1 << 16, b".")])
        except StorageFault as full:
            return written, full.errno
        written.append(name)
    raise AssertionError(f"{_MOST} files of 64 KiB fit into a full file system")
