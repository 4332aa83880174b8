"""Zip archives for tests that only want something with members."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping


def zip_of(members: Mapping[str, bytes]) -> bytes:
    """Of names and contents, stored."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def texts_zipped(**members: bytes) -> bytes:
    """Each as NAME.txt."""
    return zip_of({f"{name}.txt": data for name, data in members.items()})
