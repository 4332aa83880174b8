"""Whether a source root is still the one a job was created over, seen from other hosts too."""

import os

from worker.phases.task import same_root

DISK, OTHER_DISK = os.makedev(8, 1), os.makedev(8, 17)
NFS_HERE, NFS_THERE = os.makedev(0, 45), os.makedev(0, 52)


def test_a_network_file_system_has_another_device_number_on_each_host() -> None:
    """Its number says nothing, its inode does: workers on other hosts than the controller's are not refused."""
    assert same_root((NFS_HERE, 77), (NFS_THERE, 77))
    assert not same_root((NFS_HERE, 77), (NFS_THERE, 78))


def test_an_unmounted_source_is_reported() -> None:
    assert same_root((DISK, 2), (DISK, 2))
    assert not same_root((DISK, 2), (OTHER_DISK, 2))
    assert not same_root((DISK, 77), (NFS_HERE, 77))
    assert not same_root((DISK, 2), (DISK, 3))
