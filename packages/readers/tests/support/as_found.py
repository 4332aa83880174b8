"""What comes out of bytes by the handler of the media type that they are found to be."""

from __future__ import annotations

from core.records import Limits
from readers.base import Child, Handler, MemorySource, Text
from readers.identification.identify import identify
from readers.registry import handler_for

_LIMITS = Limits()


def _handled(data: bytes, name: bytes, kind: str) -> tuple[Handler, MemorySource]:
    """The handler and the item; `kind` is how the media type must begin."""
    source = MemorySource(name, data)
    media_type = identify(source)
    assert media_type.startswith(kind)
    return handler_for(media_type), source


def text_of(data: bytes, limits: Limits = _LIMITS, name: bytes = b"x", kind: str = "") -> Text:
    handler, source = _handled(data, name, kind)
    return handler.text(source, limits)


def children_of(data: bytes, limits: Limits = _LIMITS, name: bytes = b"x", kind: str = "") -> list[Child]:
    handler, source = _handled(data, name, kind)
    return list(handler.children(source, limits))
