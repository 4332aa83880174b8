"""What is known of an item, as names and values for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from web.api.models.items import ItemDetails
from web.pages.filters import count, moment, size, spaced


def pairs_of(item: ItemDetails) -> list[tuple[str, str]]:
    """Names and values without unknown ones."""
    return [(name, value) for name, value in _known(item) if value]


def _known(item: ItemDetails) -> Iterator[tuple[str, str]]:
    yield "id", str(item.id)
    yield "kind", spaced(item.kind.value) + (", container" if item.container else "")
    yield "media type", item.media_type
    yield "size", f"{size(item.bytes)} ({count(item.bytes)} bytes)" if item.bytes >= 1000 else f"{item.bytes} bytes"
    yield "modified", moment(item.mtime_ns / 1e9) if item.mtime_ns is not None else ""
    yield "sha256", item.sha256 or ""
    yield "content hash", item.content_hash or ""
    yield "Message-ID hash", item.message_id_hash or ""
    yield "text", spaced(item.text_state.value) if item.text_state else ""
    yield "pages", count(item.pages) if item.pages else ""
    yield "path in the source", item.path or ""
    yield "written to", item.location or ""
    yield "name (base64)", item.name_b64 or ""
    yield "children", _children(item)


def _children(item: ItemDetails) -> str:
    of = item.children
    if of is None:
        return ""
    announced = "not announced" if of.announced is None else f"{count(of.announced)} announced"
    cut = "; cut short, so that some are not known" if of.remainder_unknown else ""
    return f"{announced}, {count(of.emitted)} emitted, {count(of.failed)} failed{cut}"


def shown(value: Any) -> str:
    """A metadata value on one line."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "; ".join(value)
    return json.dumps(value, ensure_ascii=False)
