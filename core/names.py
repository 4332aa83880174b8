"""File names are bytes on disk and text for people; these convert between the two."""

from __future__ import annotations

import base64
import re


def display_name(name: bytes) -> str:
    """Text for people: UTF-8 where it is, `\\xNN` for every byte that is not and for NUL and other
    control characters (PostgreSQL text holds no NUL). Deterministic; not reversible."""
    text = name.decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\u00a0" else c.encode("unicode_escape").decode() for c in text)


def is_lossy(name: bytes) -> bool:
    """Whether `display_name(name)` is not simply the name."""
    try:
        return display_name(name).encode("utf-8") != name
    except UnicodeEncodeError:
        return True


def json_name(name: bytes) -> dict[str, str]:
    """`name`, and `name_b64` when the display text is lossy (design §2)."""
    shown = display_name(name)
    if shown.encode("utf-8", "surrogatepass") == name:
        return {"name": shown}
    return {"name": shown, "name_b64": base64.b64encode(name).decode("ascii")}


def sibling_name(shown: str, occurrence: int) -> str:
    """The name in a container path: siblings of the same name are numbered from the second on."""
    return shown if occurrence == 1 else f"{shown} ({occurrence})"


LOAD_PREFIX = "load_"  # of metadata keys that are fields of a load file
LOAD_KEY = re.compile(rf"{LOAD_PREFIX}\w{{1,80}}\Z")
MAX_NAME_BYTES = 255


def unsafe_name(name: bytes) -> str | None:
    """The reason why a member's name may not be used as a path, or None. Such a name is kept in the row only."""
    if 0 in name:
        return "holds NUL"
    unified = name.replace(b"\\", b"/")
    if unified.startswith(b"/") or unified[1:2] == b":":
        return "is absolute"
    parts = unified.split(b"/")
    if b".." in parts:
        return "climbs with .."
    if any(len(part) > MAX_NAME_BYTES for part in parts):
        return f"has a part over {MAX_NAME_BYTES} bytes"
    return None
