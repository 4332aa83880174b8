"""What a distributed file system's client says of its parts: the text is one that GlusterFS 10.3 gave with a brick killed."""

import os
from pathlib import Path

import pytest

from core.errors import StorageFault
from core.mounts import read_mountinfo
from core.storage import whole
from core.storage.layer import Storage
from core.storage.whole import WHOLE, Parts, parts_below, parts_of, read_parts

REPORTED = """[xlator.cluster.dht.edb-dht.priv]
subvol_cnt = 2
subvolumes[0] = protocol/client.edb-client-0
file_layouts[0].gen = 0
subvolume_status[0] = 1
subvolumes[1] = protocol/client.edb-client-1
file_layouts[1].gen = 0
subvolume_status[1] = {up}
gen = {generation}
min_free_disk = 10.000000
subvolumes[0] = edb-client-0
du_stats[0].avail_percent = 15.000000
"""


@pytest.fixture
def mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that the mount table takes for a volume, and the file in which its client tells of itself."""
    number = os.stat(tmp_path).st_dev
    line = f"36 25 {os.major(number)}:{os.minor(number)} / {tmp_path} rw - fuse.glusterfs server:/edb rw\n"
    table = tmp_path / "mountinfo"
    table.write_text(line)
    monkeypatch.setattr(whole, "read_mountinfo", lambda: read_mountinfo(table))
    reported = tmp_path / ".meta/graphs/active/edb-dht/private"
    reported.parent.mkdir(parents=True)
    reported.write_text(REPORTED.format(up=1, generation=2))
    return reported


def test_a_part_that_is_away_is_named() -> None:
    assert read_parts(REPORTED.format(up=0, generation=3)) == Parts(away=("edb-client-1",), changes=(3,))
    assert read_parts(REPORTED.format(up=1, generation=4)) == Parts(changes=(4,))
    assert read_parts("") == WHOLE


def test_what_is_reported_below_a_root(mount: Path) -> None:
    root = os.fsencode(mount.parents[4])
    device, _ = Storage().root_identity(root)
    before = parts_below(root, device)
    assert before.away == ()
    mount.write_text(REPORTED.format(up=0, generation=2))
    assert parts_below(root, device).away == ("edb-client-1",)
    mount.write_text(REPORTED.format(up=1, generation=3))
    assert parts_below(root, device).away == ()
    assert parts_below(root, device) != before
    mount.unlink()
    mount.mkdir()
    with pytest.raises(StorageFault, match="cannot list the available parts of"):
        parts_below(root, device)


def test_without_a_report_it_is_whole(mount: Path, tmp_path: Path) -> None:
    assert parts_of(os.makedev(0, 4_000)) == WHOLE
    mount.unlink()
    assert parts_of(os.stat(tmp_path).st_dev) == WHOLE
