"""Web archives (Safari's `.webarchive`): a property list with the page and its resources, as children."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from readers.base import Child
from readers.errors import corrupt
from readers.records import Kind

RESOURCE_DATA, RESOURCE_URL, RESOURCE_TYPE = "WebResourceData", "WebResourceURL", "WebResourceMIMEType"


class Resource(NamedTuple):
    """A page, a picture, a style sheet."""

    url: str
    media_type: str
    data: bytes | None  # None where it cannot be decoded


def children(resources: Iterable[Resource]) -> Iterator[Child]:
    """Yield the resources in their order, each under the last part of its address."""
    for position, resource in enumerate(resources):
        error = None
        if resource.data is None:
            error = corrupt("a resource of the web archive cannot be decoded")
        yield Child(
            name=name_of(resource.url).encode("utf-8", "backslashreplace") or b"resource-%d" % position,
            kind=Kind.EMBEDDED_OBJECT,
            ordinal=position,
            data=resource.data,
            media_type=resource.media_type or None,
            error=error,
        )


def name_of(url: str) -> str:
    """Return the last part of an address."""
    try:
        return unquote(urlsplit(url).path).rpartition("/")[2]
    except ValueError:  # brackets that are no IPv6 address
        return ""
