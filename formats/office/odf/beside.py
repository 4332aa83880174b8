"""What an OpenDocument file says beside its paragraphs: where links lead, what stands in forms, who commented; each once."""

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
# What a control says (part 3, 19.263): its label, and what was entered, or stood there before. Of a control of another kind `value` is
# what it sends to a server.
_SAYS = (FORM + "label", FORM + "current-value")
_ENTERED = frozenset(
    FORM + kind for kind in ("text", "textarea", "formatted-text", "combobox", "number", "date", "time")
)


class Beside:
    """Told by elements as they begin."""

    def __init__(self) -> None:
        self.lines: dict[str, None] = {}
        self.more = False  # there was more than is kept
        self._left = _MOST_CHARACTERS

    def link(self, attributes: Attributes) -> None:
        """Where a link leads, if not to a place in the document."""
        if not (address := attributes.get(_HREF, "")).startswith("#"):
            self.add(address)

    def control(self, tag: str, attributes: Attributes) -> None:
        """What an element of a form says."""
        for name in _SAYS:
            self.add(attributes.get(name, ""))
        if tag in _ENTERED and _SAYS[1] not in attributes:
            self.add(attributes.get(FORM + "value", ""))

    def add(self, text: str) -> None:
        """A line, if it says anything."""
        line = " ".join(text.split())
        if not line or line in self.lines:
            return
        self._left -= len(line)
        if self._left < 0 or len(self.lines) >= MOST:
            self.more = True
        else:
            self.lines[line] = None
