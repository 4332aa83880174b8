"""Names in archives that do not say which charset they are in."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile

import pytest

from core.records import Limits
from readers.archives.names import shown
from readers.base import Child, MemorySource
from readers.registry import handler_for

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
    tar = _tar(names, charset)
    assert _shown("application/x-tar", tar) == names
    assert _shown("application/gzip", gzip.compress(tar)) == names
    assert _shown("application/x-cpio", _cpio(names, charset)) == names
    found = handler_for("application/x-tar").children(MemorySource(b"x", tar), Limits())
    assert [child.name for child in found] == [name.encode(charset) for name in names]


def test_what_nothing_is_sure_of_stays() -> None:
    children = [Child(name=b"\xe4\xc3", kind=None, ordinal=0), Child(name=b"\xe4", kind=None, ordinal=1, shown="known")]  # type: ignore[arg-type]
    assert [child.shown for child in shown(children)] == [None, "known"]


def _zip(names: list[str], charset: str) -> bytes:
    """Names that say no charset: put in place of others of their length."""
    out = io.BytesIO()
    written = {"QRST"[at] * len(raw): raw for at, raw in enumerate(name.encode(charset) for name in names)}
    with zipfile.ZipFile(out, "w") as archive:
        for name in written:
            archive.writestr(name, b"data")
    data = out.getvalue()
    for name, raw in written.items():
        data = data.replace(name.encode(), raw)
    return data


@pytest.mark.parametrize(
    ("name", "charset", "guessed"),
    [
        ("Договор.txt", "cp866", "cp866"),
        ("Договор.txt", "cp1251", "cp1251"),
        ("契約書.txt", "cp932", "cp932"),
        ("Übersicht Größe.txt", "cp1252", "cp1252"),
        ("Übersicht.txt", "cp850", "cp437"),
        ("Übersicht.txt", "utf-8", None),
        ("plain.txt", "ascii", None),
    ],
)
def test_the_one_name_of_a_zip_is_guessed_and_says_so(name: str, charset: str, guessed: str | None) -> None:
    """Its bytes stay; where code page 437 gives letters these are shown."""
    (child,) = handler_for("application/zip").children(MemorySource(b"x", _zip([name], charset)), Limits())
    assert child.name == name.encode(charset)
    assert (child.shown or child.name.decode()) == name
    assert child.notes == ({"name_charset": guessed} if guessed else {})


def test_names_of_a_zip_that_are_sure_together_are_no_guess() -> None:
    found = list(handler_for("application/zip").children(MemorySource(b"x", _zip(RUSSIAN, "cp866")), Limits()))
    assert [child.shown or child.name.decode() for child in found] == RUSSIAN
    assert [child.notes for child in found] == [{}] * len(RUSSIAN)


def test_a_name_that_the_charset_of_the_others_cannot_be_is_read_alone() -> None:
    data = _zip(
        ["Договор поставки.doc".encode("cp866").decode("cp437"), "Приложение.doc".encode("cp1251").decode("cp437")],
        "cp437",
    )
    found = list(handler_for("application/zip").children(MemorySource(b"x", data), Limits()))
    assert [child.shown for child in found] == ["Договор поставки.doc", "Приложение.doc"]
    assert all("name_charset" in child.notes for child in found)
