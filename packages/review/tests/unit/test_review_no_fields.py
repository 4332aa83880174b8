"""What de-duplication takes from the readers of messages."""

from __future__ import annotations

from core.records import Limits
from readers.base import MemorySource
from readers.mail.eml import EmlHandler
from readers.records import NO_FIELDS


def test_the_hash_of_no_fields_is_what_readers_give_for_none() -> None:
    """A damaged Outlook message has the content hash of a message without any field, and so has a message of trace fields:
    they would all be equal."""
    for data in (b"", b"Received: by mail.example; 1 Jan 2001 00:00:00 +0000\n\n \n"):
        hashes = EmlHandler().message_hashes(MemorySource(b"", data), Limits())
        assert hashes is not None
        assert hashes.content_hash == NO_FIELDS
