"""Elements, comments and tags that are never closed: by HTML's rules they take the rest of the document, which is then
not shown."""

from __future__ import annotations

import re
from collections.abc import Callable

# Control characters behind a page: they come out with its text unless something in front of them took the rest. In ASCII, so that
# a page in it takes one byte a character, and half the time, as without them.
END = "\x01\x7f\x01"
_TAG = re.compile(r"<(?:(!--)|([!?])|/?([a-zA-Z][^\s/<>]*))")
_QUOTE_OR_END = re.compile(r"=\s*([\"'])|>")
_CLOSERS = {
    name: re.compile(f"</{name}", re.IGNORECASE)
    for name in ("script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes")
}
_TEMPLATE = re.compile(r"<(/?)template(?=[\s/>])[^<>]*>", re.IGNORECASE)


def opened(markup: str) -> str:
    """The page without the beginnings of what is never closed, so that what follows them is read. Time grows with the length only."""
    out: list[str] = []
    kept = at = 0
    without: set[str] = set()  # ends that do not come again

    def end_of(mark: str, begin: int) -> int:
        place = -1 if mark in without else markup.find(mark, begin)
        if place < 0:
            without.add(mark)
        return place

    while (tag := _TAG.search(markup, at)) is not None:
        if tag[1] or tag[2]:
            mark = "-->" if tag[1] else ">"
            end = end_of(mark, tag.start() + 2)
            at = tag.end() if end < 0 else end + len(mark)
            closed = end >= 0
        else:
            at, closed = _behind(markup, tag, end_of)
            closer = _CLOSERS.get(tag[3].lower()) if closed and not tag[0].startswith("</") else None
            if closer is not None:
                found = None if closer.pattern in without else closer.search(markup, at)
                if found is None:
                    without.add(closer.pattern)
                    closed = False
                else:
                    at = found.start()
        if not closed:
            out += (markup[kept : tag.start()], " ")
            kept = at
    page = "".join((*out, markup[kept:]))
    tags = [bool(match[1]) for match in _TEMPLATE.finditer(page)]
    return _TEMPLATE.sub("", page) if tags.count(False) > tags.count(True) else page


def _behind(markup: str, tag: re.Match[str], end_of: Callable[[str, int], int]) -> tuple[int, bool]:
    """The place behind a tag, and whether it ends; one that does not is passed over up to the first bracket that could end it."""
    at, first = tag.end(), end_of(">", tag.end())
    if first < 0:
        return at, False
    while (found := _QUOTE_OR_END.search(markup, at)) is not None:
        if not found[1]:
            return found.end(), True
        end = end_of(found[1], found.end())
        if end < 0:
            break
        at = end + 1
    return first + 1, False
