"""Text of an OpenDocument file other than its paragraphs: link targets, values of forms, commenters; each once."""

from __future__ import annotations

from lxml import etree

Attributes = dict[str, str] | etree._Attrib
MOST = 100_000  # different lines
_MOST_CHARACTERS = 20_000_000  # of all
_HREF = "{http://www.w3.org/1999/xlink}href"
FORM = "{urn:oasis:names:tc:opendocument:xmlns:form:1.0}"
LINKS = frozenset(
    (
        "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}a",
        "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}a",
        "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}event-listener",
    )
)
# Texts of a control (part 3, 19.263): its label, and what was entered or preset. Of a control of another kind
# `value` is sent to a server.
_SAYS = (FORM + "label", FORM + "current-value")
_ENTERED = frozenset(
    FORM + kind for kind in ("text", "textarea", "formatted-text", "combobox", "number", "date", "time")
)


_TABLE, _TEXT = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}", "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_DRAW, _OFFICE = (
    "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}",
    "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}",
)
# Files that are elsewhere (part 3, 19.910): where cells, passages, pictures and objects come from.
SOURCES = frozenset(
    (
        *(_TABLE + name for name in ("table-source", "cell-range-source")),
        _TEXT + "section-source",
        *(_DRAW + name for name in ("image", "object", "object-ole", "plugin", "floating-frame")),
    )
)
_ELSEWHERE = ("/", "../", "\\\\")
# What attributes say (part 3, 9.2.7, 9.4.15, 14.6.1, 19.870): scenarios, databases and servers that cells come from, values of variables.
_OFFICE_VALUE = _OFFICE + "string-value"
SAYS = {
    _TABLE + "scenario": (_TABLE + "comment",),
    _TABLE + "database-source-sql": (_TABLE + "database-name", _TABLE + "sql-statement"),
    _TABLE + "database-source-table": (_TABLE + "database-name", _TABLE + "database-table-name"),
    _TABLE + "database-source-query": (_TABLE + "database-name", _TABLE + "query-name"),
    **dict.fromkeys((_TABLE + "help-message", _TABLE + "error-message"), (_TABLE + "title",)),
    _OFFICE + "dde-source": (_OFFICE + "dde-application", _OFFICE + "dde-topic", _OFFICE + "dde-item"),
    _TEXT + "user-field-decl": (_TEXT + "name", _OFFICE_VALUE),
    _TEXT + "hidden-text": (_TEXT + "string-value",),
    _TEXT + "conditional-text": (_TEXT + "string-value-if-true", _TEXT + "string-value-if-false"),
    _TEXT + "database-display": (_TEXT + "database-name", _TEXT + "table-name"),
}


class Beside:
    """Collects such text from elements as they begin."""

    def __init__(self) -> None:
        self.lines: dict[str, None] = {}
        self.more = False  # there was more than is kept
        self._left = _MOST_CHARACTERS

    def link(self, attributes: Attributes) -> None:
        """Where a link leads, if not to a place in the document."""
        if not (address := attributes.get(_HREF, "")).startswith("#"):
            self.add(address)

    def source(self, attributes: Attributes) -> None:
        """Where something comes from, if not from the package."""
        address = attributes.get(_HREF, "")
        if ":" in address or address.startswith(_ELSEWHERE):
            self.add(address)

    def says(self, tag: str, attributes: Attributes) -> None:
        """Add the text of an element of `SAYS`."""
        self.add(" ".join(attributes.get(name, "") for name in SAYS[tag]))

    def control(self, tag: str, attributes: Attributes) -> None:
        """Add the texts of a form element."""
        for name in _SAYS:
            self.add(attributes.get(name, ""))
        if tag in _ENTERED and _SAYS[1] not in attributes:
            self.add(attributes.get(FORM + "value", ""))

    def add(self, text: str) -> None:
        """Add a line, if it has text and is new."""
        line = " ".join(text.split())
        if not line or line in self.lines:
            return
        self._left -= len(line)
        if self._left < 0 or len(self.lines) >= MOST:
            self.more = True
        else:
            self.lines[line] = None
