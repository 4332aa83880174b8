"""The name of an item, as people see it."""

from __future__ import annotations

from core.names import display_name, is_lossy
from readers.records import Kind


def own_name(name: bytes, shown: str, kind: Kind) -> str:
    """What an item is called where it stands, as people see it: without directories, folders of a mail store or an archive, and
    the number of siblings of one name. `shown` is its part of the container path: of names that are no UTF-8 it may be more
    than `name` says. An attachment's name is as its message has it: a slash in it is a letter."""
    own = display_name(name)
    if kind is Kind.LOOSE_FILE or shown.startswith(own):
        shown = own
    if kind is Kind.ATTACHMENT:
        return shown
    windows = kind is Kind.ARCHIVE_MEMBER and "/" not in shown and not is_lossy(name)  # else it may begin an escape
    separator = "\\" if windows else "/"
    return shown.rstrip(separator).rpartition(separator)[2]
