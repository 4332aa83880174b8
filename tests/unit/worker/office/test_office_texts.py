"""worker.parsers: text of what LibreOffice alone reads."""

import io
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.records import Limits
from readers import registry
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.office import foreign
from readers.records import TextState
from readers.registry import handler_for
from worker.items.findings import Findings
from worker.items.loose import loose_row
from worker.items.texts import take_text
from worker.office import converting
from worker.office.converting import KINDS, Office, OfficeUnavailable, find_office
from worker.parsers import read_by_office

_WPD = b"\xffWPC\x10\0\0\0\1\x0a\2\1" + bytes(20)
_TYPE = "application/vnd.wordperfect"
_JOB = uuid.UUID(int=0)
_FIRST = 'case "$*" in *terminate_after_init*) exit 0;; esac'
_ODT = "application/vnd.oasis.opendocument.text"
_NAMES = (
    'xmlns:o="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:t="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    ' xmlns:m="urn:oasis:names:tc:opendocument:xmlns:meta:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
)
_META = "<dc:title>Motion</dc:title><m:generator>LibreOffice</m:generator><dc:date>2026-11-27T01:02:03</dc:date>"


@pytest.fixture(autouse=True)
def _own_handler(tmp_path: Path) -> Iterator[None]:
    """LibreOffice reads what it does in jobs and in `inspect`, for the test alone."""
    read_by_office(tmp_path)
    yield
    registry.replace((foreign.ForeignHandler(),))


def _stand_in(monkeypatch: pytest.MonkeyPatch, directory: Path, script: str) -> None:
    program = directory / "soffice.bin"
    program.write_text(f"#!/bin/sh\n{_FIRST}\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(converting, "find_office", lambda: Office(str(program), "7.4", ("writer",)))


def _taken(data: bytes = _WPD) -> tuple[str, TextState, dict[str, object], list[tuple[str, str]]]:
    """Text, state, metadata and exceptions of a loose file, as a job has them."""
    source, out = MemorySource(b"motion.wpd", data), Findings()
    item = loose_row(_JOB, 0, b"motion.wpd", media_type=_TYPE, size=len(data), sha256=bytes(32))
    text, row = take_text(item, source, handler_for(_TYPE), Limits(), out)
    return text, row.state, row.metadata, [(e.code.value, e.detail) for e in out.exceptions]


def test_what_it_makes_is_read_as_open_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes too, which a conversion to text would leave out; what LibreOffice says of itself is no metadata."""
    note = "<t:note><t:note-body><t:p>in a note</t:p></t:note-body></t:note>"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", _ODT)
        body = f"<o:body><o:text><t:p>Whereas{note}</t:p></o:text></o:body>"
        archive.writestr("content.xml", f"<o:document-content {_NAMES}>{body}</o:document-content>")
        archive.writestr("meta.xml", f"<o:document-meta {_NAMES}><o:meta>{_META}</o:meta></o:document-meta>")
    octal = "".join(f"\\{byte:03o}" for byte in made.getvalue())  # it may start no other program
    _stand_in(
        monkeypatch,
        tmp_path,
        f"""case "$*" in *"--convert-to odt"*) ;; *) exit 9;; esac
        for made; do case "$made" in *in/000000.wpd) printf '{octal}' >out/000000.odt;; esac; done""",
    )
    text, state, metadata, exceptions = _taken()
    assert (state, exceptions, metadata) == (TextState.OK, [], {"title": "Motion"})
    assert "Whereas" in text
    assert "in a note" in text
    assert not list(tmp_path.glob("office-*"))


def test_without_libreoffice_it_states_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Office:
        raise OfficeUnavailable("LibreOffice is not installed on this host")

    monkeypatch.setattr(converting, "find_office", none)
    text, state, _, exceptions = _taken()
    assert (text, state, [code for code, _ in exceptions]) == ("", TextState.UNSUPPORTED, ["unsupported"])
    assert "apt-get install" in exceptions[0][1]
    assert "libreoffice-writer-nogui" in exceptions[0][1]
    monkeypatch.setattr(converting, "find_office", lambda: Office("/nowhere/soffice.bin", "7.4", ("calc",)))
    assert "no writer" in _taken()[3][0][1]
    monkeypatch.setattr(converting, "find_office", lambda: Office("/nowhere/soffice.bin", "7.4", ("writer",)))
    assert [code for code, _ in _taken()[3]] == ["unsupported"]


def test_what_it_cannot_load_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damaged, or what LibreOffice made of it is."""
    _stand_in(monkeypatch, tmp_path, "exit 0")
    assert [code for code, _ in _taken()[3]] == ["corrupt"]
    _stand_in(monkeypatch, tmp_path, r"printf 'PK\003\004 nothing PK\005\006' >out/000000.odt")
    assert [code for code, _ in _taken()[3]] in (["corrupt"], ["truncated"])
    _stand_in(monkeypatch, tmp_path, "kill -9 $$")
    assert [code for code, _ in _taken()[3]] == ["killed_parser"]


@pytest.mark.parametrize("script", ["while :; do :; done", "kill -STOP $$"])
@pytest.mark.parametrize("first", ["exit 0", ""])
def test_one_that_it_never_ends_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, first: str) -> None:
    monkeypatch.setattr(f"{__name__}._FIRST", f'case "$*" in *terminate_after_init*) {first or script};; esac')
    _stand_in(monkeypatch, tmp_path, script)
    until_end, given = converting._Watch.until_end, []

    def watched(watch: Any, process: Any) -> int:
        given.append(watch.bounds.seconds * watch.bounds.patience)
        return until_end(watch, process)

    monkeypatch.setattr(converting._Watch, "until_end", watched)
    with pytest.raises(DocumentError) as caught:
        handler_for(_TYPE).text(MemorySource(b"x.wpd", _WPD), Limits(item_seconds=1.0))
    assert caught.value.code is ExceptionCode.TIMEOUT
    assert 0 < sum(given) < 1.0  # its slot is killed at the item's seconds
    assert not list(tmp_path.glob("office-*"))


def test_every_type_is_one_that_it_takes() -> None:
    """Else a document would be handed over under no name."""
    assert {KINDS[media_type].part for media_type in handler_for(_TYPE).media_types} == {"writer"}


def test_a_document_of_another_program() -> None:
    """By the LibreOffice that is installed: RTF stands for what nothing here can write."""
    try:
        find_office()
    except OfficeUnavailable as error:
        pytest.skip(str(error))
    text, state, _, _ = _taken(rb"{\rtf1 Zebra{\footnote in a note} ledger}")
    assert (state, "Zebra" in text, "in a note" in text) == (TextState.OK, True, True)
