"""A small HTML builder: what is not markup is escaped, and the page stays well-formed as XML too."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

MANY_COLUMNS = 10  # a table with more is set closer, so that it fits the page


class Html(str):
    """Text that is markup already and may go into a page as it is."""

    __slots__ = ()


def escaped(value: object) -> Html:
    """Markup as it is; anything else as text, with what HTML and XML cannot hold replaced by U+FFFD."""
    if isinstance(value, Html):
        return value
    return Html(html.escape(clean(str(value))))


def clean(text: str) -> str:
    """The text with what HTML and XML cannot hold replaced by U+FFFD; for labels inside figures too."""
    return "".join(c if _allowed(ord(c)) else "\ufffd" for c in text)


def _allowed(point: int) -> bool:
    """XML 1.0 §2.2, character range; C1 controls are left out as well, since browsers reinterpret them."""
    if point < 0x20:
        return point in (0x09, 0x0A, 0x0D)
    return not (0x7F <= point <= 0x9F or 0xD800 <= point <= 0xDFFF or point & 0xFFFE == 0xFFFE)


def tag(name: str, *content: object, **attributes: object) -> Html:
    """`<name …>content</name>`; attributes that are None are left out, `class_` and `aria_label` lose the underscore."""
    listed = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{listed}>{join(content)}</{name}>")


def join(parts: Iterable[object]) -> Html:
    """Parts one after another, each escaped unless it is markup."""
    return Html("".join(escaped(part) for part in parts))


def table(
    header: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    caption: str | None = None,
    text_columns: frozenset[int] = frozenset({0}),
    marked: frozenset[int] = frozenset(),
) -> Html:
    """A table; columns not in `text_columns` are set flush right, rows in `marked` (by number) are highlighted."""

    def row(cells: Sequence[object], element: str, number: int | None = None) -> Html:
        kind = "marked" if number in marked else None
        filled = (
            tag(element, cell, class_=None if place in text_columns else "number") for place, cell in enumerate(cells)
        )
        return tag("tr", *filled, class_=kind)

    body = join(row(cells, "td", number) for number, cells in enumerate(rows))
    head = tag("thead", row(header, "th"))
    title = tag("caption", caption) if caption else ""
    width = "wide" if len(header) > MANY_COLUMNS else None
    return tag("div", tag("table", title, head, tag("tbody", body), class_=width), class_="table")
