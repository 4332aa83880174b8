"""Names in archives that do not say which charset they are in."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest

from core.records import Limits
from formats.archives.names import shown
from formats.base import Child, MemorySource
from formats.registry import handler_for

RUSSIAN = ["Отчёт за третий квартал.doc", "Договор поставки оборудования.pdf", "plain.txt", "Счёт-фактура.xls"]
JAPANESE = ["会議の議事録と資料.txt", "契約書の写し.pdf"]
GREEK = ["Οικονομική κατάσταση της εταιρείας.doc"]


def _tar(names: list[str], charset: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT, encoding=charset) as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    return out.getvalue()


def _cpio(names: list[str], charset: str) -> bytes:
    """In the "new" format."""
    out = b""
    for name in (*(name.encode(charset) for name in names), b"TRAILER!!!"):
        fields = (1, 0o100644, 0, 0, 1, 0, 0, 0, 0, 0, 0, len(name) + 1, 0)
        entry = b"070701" + b"".join(b"%08x" % field for field in fields) + name + b"\0"
        out += entry + bytes(-len(entry) % 4)
    return out


def _shown(media_type: str, data: bytes) -> list[str]:
    children = handler_for(media_type).children(MemorySource(b"x", data), Limits())
    return [child.name.decode() if child.shown is None else child.shown for child in children]


@pytest.mark.parametrize(
    ("names", "charset"),
    [(RUSSIAN, "cp1251"), (RUSSIAN, "cp866"), (RUSSIAN, "koi8-r"), (RUSSIAN, "utf-8"), (JAPANESE, "cp932"), (GREEK, "cp1253")],
)  # fmt: skip
def test_names_are_shown_as_they_were_written(names: list[str], charset: str) -> None:
    """In a tar, a compressed one, and a cpio; the bytes of a name stay what they are."""
    tar = _tar(names, charset)
    assert _shown("application/x-tar", tar) == names
    assert _shown("application/gzip", gzip.compress(tar)) == names
    assert _shown("application/x-cpio", _cpio(names, charset)) == names
    found = handler_for("application/x-tar").children(MemorySource(b"x", tar), Limits())
    assert [child.name for child in found] == [name.encode(charset) for name in names]


def test_what_nothing_is_sure_of_stays() -> None:
    """Two bytes tell nothing; a name that its format has in characters is not asked about."""
    children = [Child(name=b"\xe4\xc3", kind=None, ordinal=0), Child(name=b"\xe4", kind=None, ordinal=1, shown="known")]  # type: ignore[arg-type]
    assert [child.shown for child in shown(children)] == [None, "known"]
