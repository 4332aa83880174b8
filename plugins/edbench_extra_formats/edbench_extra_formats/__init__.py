"""Tables of dBase and FoxPro, OneNote sections, DjVu and Hancom documents: a plugin, and the example of one (`worker.plugins` says what it may have).

Nothing of a reader is imported before a file of its type is met.
"""

from __future__ import annotations

from edbench_extra_formats.dbase.table import is_table

# By module: what its HANDLERS declare.
MEDIA_TYPES: dict[str, tuple[str, ...]] = {
    "edbench_extra_formats.onenote.handler": ("application/onenote",),
    "edbench_extra_formats.djvu.handler": ("image/vnd.djvu",),
    "edbench_extra_formats.hwp.handler": ("application/x-hwp",),
    "edbench_extra_formats.dbase.handler": ("application/x-dbf", "application/x-dbt", "application/x-fpt"),
}


def _told(head: bytes) -> str | None:
    """Tables have no first bytes of their own: their header has to add up. OneNote's are among those that edbench knows."""
    return "application/x-dbf" if is_table(head) else None


IDENTIFY = _told
MAGIC = {b"HWP Document File": "application/x-hwp"}  # of versions before 5; later ones are compound files
