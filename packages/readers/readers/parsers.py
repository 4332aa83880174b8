"""Identity and versions of the parsers that a process reads with, under one id (docs/custody.md)."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

# Packages that readers use in addition to Python; their versions are part of the record of how an item was read.

# As they are named in pyproject.toml; pillow and numpy read pictures for OCR, the last two dates. A test reads the imports.
LIBRARIES = (
    *("archi", "backports.zstd", "chardet", "cryptography", "djvu-rs", "inflate64", "isal", "libpff-python"),
    *("lxml", "msgspec", "numpy", "pillow", "pybcj", "pycdlib", "pypdfium2", "selectolax", "tzdata", "tzlocal"),
    "unhwp",
)


# Keys for types that a set does not name: other kinds of text, other types that end with "+zip", and all else.
OTHER_TEXT, OTHER_ZIP, OTHERS = "text/*", "*+zip", "*"


class ParserSet(Struct, frozen=True):
    """Handlers by media type, the package and version of each, and the versions of their libraries."""

    id: uuid.UUID  # computed from the text: the same in every database and every process
    text: str  # JSON: `edbench`, `python`, `types`, `handlers`, `libraries`

    @classmethod
    def of(cls, contents: Mapping[str, Any]) -> ParserSet:
        """Make a set, equal for any order of its keys, so that what a database returns can be checked against its
        id."""
        text = json.dumps(contents, sort_keys=True, separators=(",", ":"))
        return cls(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16]), text)


def parser_of(contents: Mapping[str, Any], media_type: str) -> tuple[str | None, str | None]:
    """Return the handler that such a set has for a media type, and its package with its version."""
    types = contents["types"]
    name = types.get(media_type)
    if name is None and media_type.startswith("text/"):
        name = types.get(OTHER_TEXT)
    if name is None and media_type.endswith("+zip"):
        name = types.get(OTHER_ZIP)
    name = types.get(OTHERS) if name is None else name
    return name, contents["handlers"].get(name)
