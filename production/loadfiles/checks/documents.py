"""What EDRM XML says of a record: its files, with their hashes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from production.loadfiles.checks.filed import Filed
from production.loadfiles.reading import Told


def files_wrong(begin: str, told: Told, files: Sequence[Filed], xml: str, listed: str) -> Iterator[str]:
    """What it says otherwise of the record's files than `hashes.csv`, in both directions."""
    named = {file.path.replace("\\", "/"): file for file in told.files}
    if len(named) < len(told.files):
        yield f"{begin}: {xml} names a file twice"
    for file in files:
        one = named.pop(file.path, None)
        if one is None:
            yield f"{begin}: {xml} does not name {file.path}"
        elif one.md5 != file.md5:
            yield f"{begin}: {xml} has another MD5 for {file.path}"
        elif (one.kind.lower(), one.bytes) != (file.kind, file.bytes):
            yield f"{begin}: {xml} has {one.kind or 'no type'} of {one.bytes or 'no'} bytes for {file.path}"
    for path in named:
        yield f"{begin}: {xml} names {path}, which {listed} does not list for it"
