"""Messages as Apple Mail stores them (`.emlx`): a line with a byte count, the message, a property list about it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from readers.base import Child, Declared, LeafHandler, MemorySource, MessageHashes, Part, Source, Text
from readers.errors import DocumentError, corrupt, truncated
from readers.mail.eml import MAIL_KEYS, EmlHandler
from readers.mail.headers import RARER_KEYS
from readers.records import Limits

_EML = EmlHandler()
_PROPERTIES = re.compile(
    rb"(?:<\?xml\b[^<>]{0,200}\?>\s{0,9})?(?:<!DOCTYPE\s+plist\b[^<>]{0,200}>\s{0,9})?<plist\b|bplist00"
    rb"|<\?xml\b[^<>]{0,200}\?>\s{0,9}<!DOCTYPE\s+plist\b"
)


class EmlxHandler(LeafHandler):
    """A message of Apple Mail, read as the Internet message in it."""

    name = "emlx"
    declared = Declared(
        title="Mail messages of Apple Mail",
        extensions=("emlx",),
        text="as for a mail message",
        metadata=(*MAIL_KEYS, *RARER_KEYS),
        children="attachments in order, as for a mail message",
        leaves_out=(
            "the property list after the message (flags, colours)",
            "attachments that Apple Mail stores in separate files: these are loose files",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield the attachments. Raises DocumentError `truncated` at the end if the message is cut."""
        message, error = _message(source, limits)
        yield from _EML.children(message, limits)
        if error is not None:
            raise error

    def text(self, source: Source, limits: Limits) -> Text:
        """Return the message's text and header fields."""
        message, error = _message(source, limits)
        out = _EML.text(message, limits)
        out.error = out.error or error
        return out

    def message_hashes(self, source: Source, limits: Limits) -> MessageHashes | None:
        """Return the hashes of the message in it."""
        try:
            message, _ = _message(source, limits)
        except DocumentError:
            message = MemorySource(b"", b"")
        return _EML.message_hashes(message, limits)


def _message(source: Source, limits: Limits) -> tuple[MemorySource, DocumentError | None]:
    """Return the message's bytes, and the error in them. The property list after the message shows its end if the count
    is wrong: converted line ends change it."""
    data = source.whole(limits.parse_bytes)
    first, newline, _ = data.partition(b"\n")
    count = first.strip()
    if not newline or not count.isdigit() or len(count) > 12:
        raise corrupt("no byte count in the first line")
    start, error = len(first) + 1, None
    end = start + int(count)
    behind = data[end:].lstrip()
    *_, last = (None, *_PROPERTIES.finditer(data, min(end, len(data))))
    again = last is not None and last.start() > len(data) - len(behind)  # a list within the message looks like it
    if end > len(data) or again or (behind and not _PROPERTIES.match(behind)):
        *_, last = (None, *_PROPERTIES.finditer(data, start))
        if end > len(data):
            found = f"the message ends after {len(data) - start} of {int(count)} bytes"
            error = truncated(found)
        elif last is None:
            error = corrupt(f"no property list follows the {int(count)} bytes of the message")
        end = last.start() if last else len(data)
    elif rest := behind.rpartition(b"</plist>")[2].strip() if behind.startswith(b"<") else b"":
        error = corrupt(f"{len(rest):,} bytes after the property list were not read")
    return MemorySource(source.name, data[start:end]), error
