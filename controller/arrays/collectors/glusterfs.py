"""GlusterFS: what the bricks of a volume served, as `gluster volume profile VOLUME info cumulative --xml` prints it.

Counts are of bricks' file operations since profiling began, or since a brick's process did. A client asks several
bricks for one call (directories are on all of them), and bricks do work of their own, so that these are more than a
client's ops.
"""

from __future__ import annotations

from collections import Counter

READ, WRITTEN = "read bytes", "written bytes"


def profile(text: str) -> dict[str, float]:
    """Ops by name and bytes, over all bricks. Raises ValueError for another document, or one that reports a failure."""
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
        told = brick.find("cumulativeStats")
        if told is None:
            raise ValueError("a brick without cumulativeStats; use `info cumulative`")
        for op in told.iterfind("fopStats/fop"):
            out[str(op.findtext("name")).lower()] += int(op.findtext("hits") or 0)
        out[READ] += int(told.findtext("totalRead") or 0)
        out[WRITTEN] += int(told.findtext("totalWrite") or 0)
    return {name: float(number) for name, number in out.items()}


_BEGIN, _END = "=== Cumulative stats ===", "------ -----"
_COLUMNS = "Fop "
_BYTES = {"BytesRead": READ, "BytesWritten": WRITTEN}


def asked(text: str) -> dict[str, float]:
    """Ops by name and bytes. Raises ValueError for what is not that file, or a part of it."""
    _, begun, rest = text.rpartition(_BEGIN)
    whole, ended, _ = rest.partition(f"\n{_END}")
    if not begun or not ended:
        raise ValueError(f"no part {_BEGIN!r} to its end in it (profiling must be on): {text.strip()[:200]!r}")
    head, titled, table = whole.partition(f"\n{_COLUMNS}")
    if not titled:
        raise ValueError(f"no column {_COLUMNS.strip()!r}: {whole.strip()[:200]!r}")
    out = dict.fromkeys(_BYTES.values(), 0.0)
    for line in head.splitlines():
        name, _, number = line.partition(":")
        if name.strip() in _BYTES:
            out[_BYTES[name.strip()]] = float(int(number))
    for line in table.splitlines()[2:]:  # the rest of the titles, and what they are underlined with
        name, count, *_ = line.split()
        out[name.lower()] = float(int(count))
    return out
