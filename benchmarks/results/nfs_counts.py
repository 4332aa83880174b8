"""Real NFS, of which only counts mean anything here: as docs/dev/nfs-counts.md has them from `make test-nfs`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_FROM = Path(__file__).resolve().parents[2] / "docs/dev/nfs-counts.md"
_MOUNT = re.compile(r"^\*\*(v[^*]+)\*\*", re.MULTILINE)
_WANTED = ("NFS requests, by op", "bytes read, moved", "bytes written", "READ", "WRITE", "RENAME")


def nfs_counts() -> list[str]:
    """A row for each way of mounting; each cell calls / of the client's kernel / of the server."""
    lines = [f"| real NFS | {' | '.join(_WANTED)} |", "|---|" + "---:|" * len(_WANTED)]
    text = _FROM.read_text(encoding="utf-8")
    parts = _MOUNT.split(text)[1:]
    for mount, part in zip(parts[::2], parts[1::2], strict=True):
        rows = dict(_rows(part))
        lines.append(f"| {mount} | {' | '.join(rows[name] for name in _WANTED)} |")
    return lines


def _rows(part: str) -> Iterator[tuple[str, str]]:
    for line in part.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 6:
            yield cells[0], " / ".join(cell or "–" for cell in cells[1:4])
