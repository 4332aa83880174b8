"""`make test-filers`: what the FUSE clients of GlusterFS and MooseFS count, held against what was done on their mounts."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_mounts import SHARED
from testbeds import Mounted, Skipped

from controller.arrays.collectors import COLLECTORS

_RATE = "10gbit"  # no limit that anybody notices
_FILES = 50


@pytest.fixture(scope="module", params=SHARED)
def mount(request: pytest.FixtureRequest) -> Iterator[tuple[str, Path]]:
    """Its name, and where it is."""
    if os.geteuid():
        pytest.skip("this needs root")
    work = Path(tempfile.mkdtemp(prefix="edbench-counters-", dir="/var/tmp"))
    try:
        with Mounted(request.param, _RATE).up(work) as place:
            yield request.param, place.directory
    except Skipped as why:
        pytest.skip(f"{request.param}: {why}")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _counted(name: str, mount: Path) -> dict[str, float]:
    """As the commands of docs/filer-counters.md ask."""
    if name == "moosefs":
        text = (mount / ".stats").read_text()
    else:
        dump = f'rm -f /var/run/gluster/e.*; setfattr -n trusted.io-stats-dump -v e "{mount}"; cat /var/run/gluster/e.*'
        text = subprocess.run(["sh", "-c", dump], capture_output=True, text=True, check=True).stdout
    return dict(COLLECTORS[f"{name}-mount"].parse(text))


def test_a_mount_counts_what_was_done_on_it(mount: tuple[str, Path]) -> None:
    name, there = mount
    if name == "glusterfs":
        inside = ["nsenter", "--net=/run/netns/edb-glusterfs", "gluster", "--mode=script"]
        subprocess.run([*inside, "volume", "profile", "edb", "start"], check=True, capture_output=True)
    before = _counted(name, there)
    for number in range(_FILES):
        (there / f"f{number}").write_bytes(b"x" * 10_000)
    for number in range(_FILES):
        (there / f"f{number}").unlink()
    after = _counted(name, there)
    grown = {op: count - before.get(op, 0.0) for op, count in after.items()}
    assert {op: grown[op] for op in ("create", "unlink")} == {"create": _FILES, "unlink": _FILES}
    assert grown["write"] >= _FILES
    assert grown["flush"] >= _FILES
    if name == "glusterfs":
        assert grown["written bytes"] == _FILES * 10_000
