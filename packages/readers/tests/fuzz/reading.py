"""What the targets share: everything that the pipeline asks of a handler, and files to begin with."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache

from mutants.originals import Original, originals

from core.records import Limits
from readers.base import MemorySource
from readers.errors import DocumentError
from readers.registry import handler_for

LIMITS = Limits(parse_bytes=1_000_000, text_characters=1_000_000, expansion_floor=1_000_000)
_CHILD_BYTES = 4_000_000
_PART = 1_000


def handler(media_type: str, name: bytes = b"fuzzed") -> Callable[[bytes], None]:
    """A target's `read`: the handler of this media type, all its methods."""
    reader = handler_for(media_type)

    def read(data: bytes) -> None:
        source = MemorySource(name, data)
        parts: list[object] = [None]
        with contextlib.suppress(DocumentError):
            reader.announced(source)
        with contextlib.suppress(DocumentError):
            parts += reader.parts(source, _PART)[:3]
        for part in parts:
            with contextlib.suppress(DocumentError):
                left = _CHILD_BYTES
                for child in reader.children(source, LIMITS, part):  # type: ignore[arg-type]
                    with contextlib.suppress(DocumentError):
                        while child.stream is not None and left > 0 and (piece := child.stream.read(1 << 16)):
                            left -= len(piece)
                    left -= len(child.data or b"") + 1_000
                    if left <= 0:
                        break
        with contextlib.suppress(DocumentError):
            reader.text(source, LIMITS).text.encode("utf-8")
        reader.message_hashes(source, LIMITS)

    return read


@cache
def _all() -> list[Original]:
    return originals()


def files(*suffixes: str) -> list[bytes]:
    """The real files that end so, and the generator's where there are none; the smallest first."""
    return sorted((o.data for o in _all() if o.group in suffixes), key=len)[:40]
