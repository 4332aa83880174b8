"""`make test-filers`: mounts that become read-only, go away or are changed by another client, and servers of MooseFS that die."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from installation import Bench, until
from real_mounts import SHARED, Real, inside, installed, mount_line, real, suspended


@pytest.fixture(scope="module")
def disk() -> Iterator[Real]:
    """A local one that a test may mount otherwise."""
    with real("ext4") as there:
        yield there


@pytest.fixture(scope="module", params=SHARED)
def shared(request: pytest.FixtureRequest) -> Iterator[Real]:
    """One that others may mount as well."""
    with real(request.param) as there:
        yield there


@pytest.fixture
def on_disk(disk: Real, bench: Bench, small: Path) -> Iterator[Bench]:
    """On it."""
    with installed(bench, disk, small) as made:
        yield made


@pytest.fixture
def there(shared: Real, bench: Bench, small: Path) -> Iterator[Bench]:
    """On it."""
    with installed(bench, shared, small) as made:
        yield made


def _resumed(bench: Bench) -> None:
    with bench.attached():
        bench.edbench("job", "resume", "last", "--workers", "1")
        bench.verify()


def test_read_only_in_the_middle(disk: Real, on_disk: Bench) -> None:
    process, held = on_disk.discover_held("expand", 2, "--workers", "1", "--slots", "1")
    subprocess.run(["mount", "-o", "remount,ro", str(disk.directory)], check=True)
    try:
        held.let_go()
        suspended(on_disk.end(process, 1), "Read-only file system; mount it writable")
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(disk.directory)], check=True)
    _resumed(on_disk)


def test_unmounted_in_the_middle(disk: Real, on_disk: Bench) -> None:
    process, held = on_disk.discover_held("expand", 2, "--workers", "1", "--slots", "1")
    subprocess.run(["umount", "--lazy", str(disk.directory)], check=True)
    try:
        held.let_go()
        suspended(on_disk.end(process, 1), "check that it is mounted")
        assert list(disk.directory.iterdir()) == []
    finally:
        subprocess.run(mount_line(disk.directory), check=True)
    _resumed(on_disk)


@pytest.mark.parametrize("phase", ["expand", "index"])
def test_another_client_puts_another_directory_in_its_place(shared: Real, there: Bench, phase: str) -> None:
    process, held = there.discover_held(phase, 2, "--workers", "1", "--slots", "1")
    with shared.elsewhere() as other:
        source = other / (there.corpus / "data").relative_to(shared.directory)
        source.rename(source.with_name("away"))
        source.mkdir()
        held.let_go()
        printed = there.end(process, None)
        source.rmdir()
        source.with_name("away").rename(source)
    if process.returncode == 0 and shared.name == "glusterfs":
        with there.attached():  # its client had looked the directory up, and read all of it
            there.verify()
    else:
        suspended(printed, "mount ")
        _resumed(there)


@pytest.fixture
def moosefs(shared: Real) -> Real:
    """Whose servers have two kinds."""
    if shared.name != "moosefs":
        pytest.skip("of MooseFS")
    return shared


@contextlib.contextmanager
def _killed(shared: Real, *servers: str) -> Iterator[None]:
    """These servers of MooseFS, and all up again at the end."""
    etc = shared.directory.parent / "etc"
    for server in servers:
        inside("moosefs", _program(server), "-c", str(etc / f"{server}.cfg"), "kill")
    try:
        yield
    finally:
        for server in servers:
            again = ("-a",) if server == "master" else ()  # it recovers its metadata by itself
            inside("moosefs", _program(server), "-c", str(etc / f"{server}.cfg"), *again, "start")


def _program(server: str) -> str:
    return "mfsmaster" if server == "master" else "mfschunkserver"


def test_one_of_two_chunk_servers_with_two_copies(moosefs: Real, there: Bench) -> None:
    inside("moosefs", "mfssetgoal", "-r", "2", str(moosefs.directory))
    source = [str(path) for path in there.corpus.rglob("*") if path.is_file()]
    until(lambda: "with 1 copy" not in inside("moosefs", "mfscheckfile", *source), "the source has two copies", 300)
    process, held = there.discover_held("index", 1, "--workers", "1", "--slots", "1")
    with _killed(moosefs, "server2"):
        held.let_go()
        there.end(process)
        there.verify()


@pytest.mark.parametrize("servers", [("server1", "server2")], ids=["chunk servers"])
def test_servers_that_are_away_for_long(moosefs: Real, there: Bench, servers: tuple[str, ...]) -> None:
    process, held = there.discover_held("index", 1, "--workers", "1", "--slots", "1")
    with _killed(moosefs, *servers):
        held.let_go()
        suspended(there.end(process, 1), "cannot be killed (uninterruptible sleep", "mount ")
    _resumed(there)


def test_a_master_that_is_away_for_long(moosefs: Real, there: Bench) -> None:
    process, held = there.discover_held("index", 1, "--workers", "1", "--slots", "1")
    with _killed(moosefs, "master"):
        held.let_go()
        until(lambda: there.query("SELECT 1 FROM job WHERE state = 'suspended'"), "it is suspended", 300)
    suspended(there.end(process, 1), "cannot be killed (uninterruptible sleep")
    _resumed(there)
