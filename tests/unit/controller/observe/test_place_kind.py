"""What kind of storage a result is labelled with."""

from __future__ import annotations

import pytest

from controller.observe.place_kind import caches_itself
from core.mounts import storage_label

MOUNTS = rb"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:40 / /mnt/filer rw,relatime shared:5 - nfs4 10.0.0.1:/export rw,vers=4.2
41 22 0:41 / /mnt/my\040filer rw shared:6 - cifs //host/share rw
42 22 0:42 / /mnt rw - tmpfs tmpfs rw
43 42 0:43 / /mnt/over rw - xfs /dev/sdb1 rw
44 42 0:44 / /mnt/over rw - tmpfs tmpfs rw
45 22 0:45 / /mnt/mfs rw - fuse mfs#10.0.0.7:9421 rw
46 22 0:46 / /mnt/sea rw - fuse.seaweedfs filer:8888:/ rw
47 22 0:47 / /mnt/odd rw - fuse something rw
48 22 0:48 / /mnt/pool rw - fuse.mergerfs nfs1:nfs2 rw
49 22 0:49 / /mnt/view rw - fuse.bindfs /mnt/filer rw
not a mount line
"""


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("/home", "local storage (ext4)"),
        ("/mnt/filer", "network storage (nfs4)"),
        ("/mnt/filer/deep/down", "network storage (nfs4)"),
        ("/mnt/filer2", "memory (tmpfs)"),
        ("/mnt/my filer/x", "network storage (cifs)"),
        ("/mnt/over/x", "memory (tmpfs)"),
    ],
)
def test_the_innermost_and_latest_mount_counts(path: str, label: str) -> None:
    assert storage_label(path, MOUNTS) == label


def test_labels_name_network_memory_and_local() -> None:
    """A figure of local storage must never look like one of a filer."""
    assert storage_label("/mnt/filer/x", MOUNTS) == "network storage (nfs4)"
    assert storage_label("/mnt/x", MOUNTS) == "memory (tmpfs)"
    assert storage_label("/home", MOUNTS) == "local storage (ext4)"
    assert storage_label("/mnt/sea", MOUNTS) == "network storage (fuse.seaweedfs)"


def test_a_moosefs_mount_is_network_storage() -> None:
    """Its type is plain `fuse`; only the source says whose it is."""
    assert storage_label("/mnt/mfs/x", MOUNTS) == "network storage (fuse, moosefs)"


def test_what_is_not_known_is_said_to_be_so() -> None:
    """A FUSE program may be anything, and show directories of a filer; without a mount table nothing is known: never
    `local` by default."""
    assert storage_label("/mnt/pool", MOUNTS).startswith("unknown whether local or network storage (fuse.mergerfs")
    assert storage_label("/mnt/view", MOUNTS).startswith("unknown whether local or network storage (fuse.bindfs")
    assert caches_itself("/mnt/pool", MOUNTS)
    assert storage_label("/mnt/odd", MOUNTS) == "unknown whether local or network storage (fuse from something)"
    assert storage_label("/home", b"") == "unknown whether local or network storage (not in the mount table)"
