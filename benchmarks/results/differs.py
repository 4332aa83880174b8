"""Why another program's figure may be another: what it does otherwise, by program and figure of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CREATE = "ours is Python, counts each call and opens for writing alone"
_OBJECTS = (
    "hundredths to tenths of a second, which fio tells in whole milliseconds from the start of its threads on; it makes the contents of each"
    " record within that time, ours has them before, but counts each call"
)
_DIFFERS = {
    (
        "fio",
        "files_per_s",
    ): f"fio asks for every name before it begins to measure, and opens for reading and writing; {_CREATE}",
    (
        "bonnie++",
        "files_per_s",
    ): f"bonnie++ has all its files in one directory under longer names, and opens for reading and writing; {_CREATE}",
    (
        "sysbench",
        "iops",
    ): "block-8k's fio hands all I/O to the kernel from one thread on one processor (libaio, without O_DIRECT io_uring) and keeps"
    " each one's latency; sysbench has a thread for each that is outstanding, on all processors",
    ("fio", "write_aggregate_mb_s"): _OBJECTS,
    ("fio", "read_aggregate_mb_s"): _OBJECTS,
    ("dd", "write_mb_per_s"): "dd ends with the file, once; ours writes for the seconds that it is given",
    (
        "dd",
        "read_mb_per_s",
    ): "dd ends with the file, once; ours reads for the seconds that it is given. `nocache` gives back this host's pages of the"
    " file, and neither those of a server nor of the image behind a loop device: who reads again may find more there (least – most)",
}


def differs(entry: Mapping[str, Any]) -> str:
    """In words; raises KeyError for a pair that nobody explained."""
    return _DIFFERS[entry["tool"], entry["ours"]["figure"]]
