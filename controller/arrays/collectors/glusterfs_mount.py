"""GlusterFS: what the kernel asked one mount for, as its client writes it down for `setfattr -n trusted.io-stats-dump -v NAME MOUNT`.

The client writes /var/run/gluster/NAME.VOLUME. Counts since the mount came up, from `gluster volume profile VOLUME start` on: before
that the client does not count.
"""

from __future__ import annotations

from controller.arrays.collectors.glusterfs import READ, WRITTEN

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
