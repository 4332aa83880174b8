"""Why another program's figure may be another: what it does otherwise, by program, figure of ours, and which of the two is lower."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MADE_MORE = "{tool} made about two seconds' files, ours more, and this storage made the first of them more slowly: series/insert-rate.csv of the package"
_SHORT = (
    "hundredths to tenths of a second, which fio tells in whole milliseconds, for each thread from its own start on"
)
_FROM_THE_START = f"{_SHORT}; ours from the common start to the end of the last client, and it counts each call"
_SLOWER: Mapping[tuple[str, str], str] = {
    ("fio", "files_per_s"): "fio asks for every name before it begins to measure; ours is Python, and counts each call",
    ("bonnie++", "files_per_s"): "bonnie++ has all its files in one directory under longer names; ours is Python, and counts each call",
    ("sysbench", "iops"): "block-8k's fio hands all I/O to the kernel from one thread on one processor (libaio, without O_DIRECT io_uring) and"
    " keeps each one's latency; sysbench has a thread for each that is outstanding, on all processors",
    ("fio", "write_aggregate_mb_s"): _FROM_THE_START,
    ("fio", "read_aggregate_mb_s"): _FROM_THE_START,
    ("dd", "write_mb_per_s"): "some tenths of a second: matrix's fio changes the contents of each record within its time, and begins its thread there; what"
    " else it may be is not known",
    (
        "dd",
        "read_mb_per_s",
    ): "hundredths of a second where a cache answers: matrix's fio reads right after it has written the file twice, whose bytes are still on"
    " their way to a disk or server below, and has the start of its thread in its time; dd reads later. Behind a limited link ours ends after its second,"
    " with the file half read",
}  # fmt: skip
_FASTER: Mapping[tuple[str, str], str] = {
    ("fio", "files_per_s"): _MADE_MORE.format(tool="fio"),
    ("bonnie++", "files_per_s"): _MADE_MORE.format(tool="bonnie++"),
    ("sysbench", "iops"): "sysbench has a thread for each I/O that is outstanding, which take processors from servers and client on the same"
    " machine; block-8k's fio has one for all of them",
    ("fio", "write_aggregate_mb_s"): f"{_SHORT}; it makes the contents of each record within that time, ours has them before",
    ("fio", "read_aggregate_mb_s"): f"{_SHORT}; it gives the pages of its files back within that time, ours before",
    ("dd", "write_mb_per_s"): "dd reads what it writes out of memory within its time, a copy more for each byte",
    ("dd", "read_mb_per_s"): "hundredths of a second where a cache answers: what a server or the image behind a loop device kept in memory may be more at one"
    " moment than at another",
}  # fmt: skip


def differs(entry: Mapping[str, Any], ours: float) -> str:
    """In words, `ours` being the figure of edbench; raises KeyError for a pair that nobody explained."""
    words = _SLOWER if ours < entry["median"] else _FASTER
    return words[entry["tool"], entry["ours"]["figure"]]
