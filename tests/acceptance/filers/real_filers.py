"""`make test-filers`: a job on each storage, and what its servers and limits do to a job.

GlusterFS and MooseFS by ../shared/tools/filers, local ones on files, tmpfs. What cannot be had here is skipped with the
reason. Not named `test_…`, so that the ordinary run leaves it out: servers are started, and other users of the tool are
waited for."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from installation import Bench, until
from real_mounts import Real, installed

from core.storage.whole import parts_of


@pytest.fixture
def there(storage: Real, bench: Bench, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """An installation on it; of NFS, which is in a slow guest, with fewer bytes."""
    with installed(bench, storage, request.getfixturevalue("tiny" if storage.name == "nfs" else "small")) as made:
        yield made


def test_every_turn_of_a_job_ends_with_zero_differences(there: Bench) -> None:
    """Paused in the middle of unpacking and resumed, a slot killed in the middle of indexing, requeued, verified after each,
    deleted: no difference, and nothing left on the storage."""
    process, held = there.discover_held("expand", 2, "--workers", "1", "--slots", "2", "--trace")
    with there.attached():
        pausing = there.start("job", "pause", "last")
        there.until_pausing()
        held.let_go()
        there.end(pausing)
        there.end(process, check=None)
        held = there.hold("index", after=1)
        resumed = there.start("job", "resume", "last", "--workers", "1")
        slot = held.until_reached(resumed)
        slot.kill()
        held.let_go()
        there.end(resumed)
        there.verify()
        there.edbench("job", "requeue", "last", "--workers", "1")
        there.verify()
        assert "message" in there.ask("job", "show", "last").stdout
        there.ask("review", "search", "last", "type:message/rfc822")
        there.edbench("job", "delete", "last")
    assert [path for path in (there.storage / "jobs").rglob("*") if path.is_file()] == []


@contextlib.contextmanager
def _without_a_brick(mount: Path) -> Iterator[None]:
    """Its server is killed, and started again at the end; the mount knows of either before it goes on."""
    bricks = [one for one in psutil.process_iter(["name", "cmdline"]) if one.info["name"] == "glusterfsd"]
    (killed,) = [one for one in bricks if f"{mount.parent}/brick2" in " ".join(one.info["cmdline"])]
    killed.kill()
    until(lambda: parts_of(mount.stat().st_dev).away, "the client misses the brick")
    try:
        yield
    finally:
        until(lambda: _bricks_started() and not parts_of(mount.stat().st_dev).away, "the brick is back")


def _bricks_started() -> bool:
    """The bricks that do not run are started. Asked again until one is back: glusterd does nothing, and reports success, while it
    has not yet seen that a brick was killed."""
    inside = ["nsenter", "--net=/run/netns/edb-glusterfs", "gluster", "--mode=script"]
    subprocess.run([*inside, "volume", "start", "edb", "force"], check=True, capture_output=True)
    return True


@pytest.mark.parametrize("phase", ["walk", "walk-end", "expand", "index"])
def test_a_job_without_a_brick_is_suspended_and_loses_nothing(storage: Real, there: Bench, phase: str) -> None:
    """GlusterFS lists half of the files then, without an error, and says of the others that they do not exist: whenever that
    is, the job stops with the reason, no other begins, and once the brick is back nothing is missing."""
    if storage.name != "glusterfs":
        pytest.skip("of a volume with bricks")
    process, held = there.discover_held(phase, 2, "--workers", "1", "--slots", "1")
    with _without_a_brick(storage.directory):
        held.let_go()
        out = there.end(process, 1)
        (line,) = [line for line in out.splitlines() if line.startswith("edbench: ")]
        assert "is suspended: " in line
        assert "edb-client-1" in line or "not connected" in line
        refused = there.edbench("discover", str(there.corpus), "--workers", "1", check=2)
        assert "is incomplete: edb-client-1" in refused.stderr
    with there.attached():
        there.edbench("job", "resume", "last", "--workers", "1")
        there.verify()
