"""Writing results: JSON files that are there whole or not at all, and sizes for people."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from core.errors import RunFailed
from core.histogram import LIMIT_NS

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def write_json(path: Path, data: Any) -> None:
    """Replace `path` by this data in one step; raises RunFailed."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise RunFailed(f"{path} cannot be written: {error.strerror}; the result is in the database still") from error


def print_json(data: Any, *, indent: int | None = 2) -> None:
    """One JSON document on standard output."""
    print(json.dumps(data, indent=indent, ensure_ascii=False))


def harmless(text: str) -> str:
    """Text of evidence for a terminal: what would drive that is U+FFFD; line ends and tabs stay."""
    return _CONTROLS.sub("\ufffd", text)


def bytes_text(nbytes: int) -> str:
    """`12.3 MB`; decimal units."""
    value = float(nbytes)
    for unit in _UNITS:
        if value < 999.95 or unit == _UNITS[-1]:
            return f"{nbytes} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError("the last unit takes everything")


def micros_text(value: float) -> str:
    """Whole microseconds of a percentile; `> 8,796,093,022` where only is known that it is no less."""
    return f"> {LIMIT_NS // 1000:,}" if value >= LIMIT_NS / 1000 else f"{value:,.0f}"


def flush() -> None:
    """Have standard output written now, so that a reader that went away is noticed here."""
    sys.stdout.flush()
