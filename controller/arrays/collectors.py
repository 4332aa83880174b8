"""Parsers of the counters that a filer's command line prints (docs/filer-counters.md). All counts are cumulative."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

# GlusterFS: what the bricks of a volume served, as `gluster volume profile VOLUME info cumulative --xml` prints it.
#
# Counts are of bricks' file operations since profiling began, or since a brick's process did. A client asks several
# bricks for one call (directories are on all of them), and bricks do work of their own, so that these are more than a
# client's ops.
READ, WRITTEN = "read bytes", "written bytes"


def profile(text: str) -> dict[str, float]:
    """Return ops by name and bytes, over all bricks. Raises ValueError for another document, or one that reports a
    failure."""
    from lxml import etree  # the other collectors do without

    try:
        root = etree.fromstring(text.encode(), etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        raise ValueError(f"not XML ({error}): {text.strip()[:200]!r}") from error
    if root.findtext("opRet") != "0":
        raise ValueError(f"gluster failed: {root.findtext('opErrstr') or text.strip()[:200]!r}")
    bricks = root.findall("volProfile/brick")
    if not bricks:
        raise ValueError("no brick in the output; start the volume and its profiling")
    out: Counter[str] = Counter({READ: 0, WRITTEN: 0})
    for brick in bricks:
        stats = brick.find("cumulativeStats")
        if stats is None:
            raise ValueError("a brick without cumulativeStats; use `info cumulative`")
        for op in stats.iterfind("fopStats/fop"):
            out[str(op.findtext("name")).lower()] += int(op.findtext("hits") or 0)
        out[READ] += int(stats.findtext("totalRead") or 0)
        out[WRITTEN] += int(stats.findtext("totalWrite") or 0)
    return {name: float(number) for name, number in out.items()}


_BEGIN, _END = "=== Cumulative stats ===", "------ -----"
_COLUMNS = "Fop "
_BYTES = {"BytesRead": READ, "BytesWritten": WRITTEN}


def glusterfs_mount(text: str) -> dict[str, float]:
    """Return ops by name and bytes. Raises ValueError if the text is not that file, or not all of it."""
    _, begun, rest = text.rpartition(_BEGIN)
    whole, ended, _ = rest.partition(f"\n{_END}")
    if not begun or not ended:
        raise ValueError(f"no complete part {_BEGIN!r} in the output (start profiling): {text.strip()[:200]!r}")
    head, titled, table = whole.partition(f"\n{_COLUMNS}")
    if not titled:
        raise ValueError(f"the output has no column {_COLUMNS.strip()!r}: {whole.strip()[:200]!r}")
    out = dict.fromkeys(_BYTES.values(), 0.0)
    for line in head.splitlines():
        name, _, number = line.partition(":")
        if name.strip() in _BYTES:
            out[_BYTES[name.strip()]] = float(int(number))
    for line in table.splitlines()[2:]:  # after the rest of the titles and their underline
        name, count, *_ = line.split()
        out[name.lower()] = float(int(count))
    return out


# MooseFS: operations of all sessions, as `mfscli -SMO -m 1` prints them (moosefs-cli 3.0, mfscli(1)).
#
# The master counts for each session by hour and starts from 0 with the next one: `-m 1` is the current hour. What a
# client's own process answers from its caches never comes to the master; reads and writes are lookups of chunks, the
# bytes go to chunk servers.
_ALL, _NO_COUNTER = "fuse_ops", "getattr-cached"


def moosefs_mount(text: str) -> dict[str, float]:
    """Return ops by name, reads of `.stats` included. Raises ValueError if the text is not that file, or not all of
    it."""
    lines = text.splitlines()
    if not lines or lines[-1].startswith(_ALL):
        raise ValueError(f"nothing follows the lines of {_ALL}: it was cut off: {text.strip()[:200]!r}")
    counts = dict(line.split(": ", 1) for line in lines if line.startswith(_ALL) and ": " in line)
    if _ALL not in counts:
        raise ValueError(f"no line begins with {_ALL + ':'!r}: {text.strip()[:200]!r}")
    # lookup.master.positive and the like are parts of lookup
    ops = {name.removeprefix(f"{_ALL}."): int(count) for name, count in counts.items() if name.count(".") == 1}
    if sum(ops.values()) != int(counts[_ALL]):
        raise ValueError(f"the total, {counts[_ALL]}, is not the sum of the ops")
    return {name: float(count) for name, count in ops.items() if name != _NO_COUNTER}


OPS = (
    *("statfs", "getattr", "setattr", "lookup", "mkdir", "rmdir", "symlink", "readlink", "mknod", "unlink", "rename"),
    *("link", "readdir", "open", "read", "write"),
)  # in the order of mfscli's columns
_TITLE = "active mounts, operations:"
SEPARATOR = ","


def operations(text: str) -> dict[str, float]:
    """Return ops by name, over all sessions. Raises ValueError if the text is not that table."""
    rows = [row for line in text.splitlines() if line.startswith(_TITLE) and (row := _row(line))]
    if not rows:
        raise ValueError(f"no line begins with {_TITLE!r}: {text.strip()[:200]!r}")
    return {name: float(sum(row[place] for row in rows)) for place, name in enumerate(OPS)}


def _row(line: str) -> list[int]:
    """Return the numbers of one session. Its mount point, the first field, may contain anything."""
    fields = [field.strip() for field in line.rsplit(SEPARATOR, len(OPS) + 1)]
    if len(fields) != len(OPS) + 2:
        raise ValueError(f"{len(OPS) + 1} numbers are expected: {line[:200]!r}")
    numbers = [int(field) for field in fields[1:]]
    if sum(numbers[:-1]) != numbers[-1]:
        raise ValueError(f"the total is not the sum of the ops: {line[:200]!r}")
    return numbers[:-1]


BYTES = "bytes"  # end of the name of a counter of bytes, not of ops


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """A command that prints counters, and its parser. `parse` raises ValueError with a message for any other text."""

    about: str
    command: str  # prints the counters
    parse: Callable[[str], Mapping[str, float]]


COLLECTORS: dict[str, Collector] = {
    "glusterfs": Collector(
        about="GlusterFS: ops that all bricks of a volume served (run `gluster volume profile VOLUME start` first)",
        command="gluster volume profile VOLUME info cumulative --xml",
        parse=profile,
    ),
    "moosefs": Collector(
        about="MooseFS: ops that the master served to all mounts in the current hour of its clock",
        command="mfscli -H MASTER -SMO -m 1 -p -s ,",
        parse=operations,
    ),
    "glusterfs-mount": Collector(
        about="GlusterFS: ops that the kernel requested from one mount (run `gluster volume profile VOLUME start` "
        "first)",
        command="sh -c 'rm -f /var/run/gluster/NAME.*; setfattr -n trusted.io-stats-dump -v NAME MOUNT; cat /var/run/gluster/NAME.*'",
        parse=glusterfs_mount,
    ),
    "moosefs-mount": Collector(
        about="MooseFS: ops that the kernel requested from one mount",
        command="cat MOUNT/.stats",
        parse=moosefs_mount,
    ),
}
