"""What a filer's own command prints of its counters, as numbers: one module a filer. All counts are cumulative."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from controller.arrays.collectors import glusterfs, moosefs
from controller.arrays.collectors.glusterfs import profile
from controller.arrays.collectors.moosefs import operations

BYTES = "bytes"  # in a counter's name: of bytes, not of ops


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """`parse` raises ValueError, in words, for what is not such output."""

    about: str
    command: str  # that prints it
    parse: Callable[[str], Mapping[str, float]]


COLLECTORS: dict[str, Collector] = {
    "glusterfs": Collector(
        about="GlusterFS: what all bricks of a volume served (run `gluster volume profile VOLUME start` first)",
        command="gluster volume profile VOLUME info cumulative --xml",
        parse=profile,
    ),
    "moosefs": Collector(
        about="MooseFS: what the master served to all mounts in the current hour of its clock",
        command="mfscli -H MASTER -SMO -m 1 -p -s ,",
        parse=operations,
    ),
    "glusterfs-mount": Collector(
        about="GlusterFS: what the kernel requested from one mount (run `gluster volume profile VOLUME start` first)",
        command="sh -c 'rm -f /var/run/gluster/NAME.*; setfattr -n trusted.io-stats-dump -v NAME MOUNT; cat /var/run/gluster/NAME.*'",
        parse=glusterfs.asked,
    ),
    "moosefs-mount": Collector(
        about="MooseFS: what the kernel requested from one mount",
        command="cat MOUNT/.stats",
        parse=moosefs.asked,
    ),
}
