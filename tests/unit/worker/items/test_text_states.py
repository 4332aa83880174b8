"""Each text state is reached by the formats that can have it; whoever has no text has a reason."""

from __future__ import annotations

from functools import cache

import pytest
from unpacking import PNG, make_docx, make_mail, make_zip, unpack

from core.records import Limits
from dataset_gen import faults
from dataset_gen.profile import load_profile
from dataset_gen.workshop import Workshop, extension
from readers.base import MemorySource
from readers.records import TextState
from readers.registry import handler_for
from worker.items.findings import Findings
from worker.items.texts import take_text

PGP = (
    b"From: a@b.example\r\nTo: c@d.example\r\nMIME-Version: 1.0\r\n"
    b'Content-Type: multipart/encrypted; protocol="application/pgp-encrypted"; boundary="x"\r\n\r\n'
    b"--x\r\nContent-Type: application/pgp-encrypted\r\n\r\nVersion: 1\r\n"
    b"--x\r\nContent-Type: application/octet-stream\r\n\r\n-----BEGIN PGP MESSAGE-----\r\n--x--\r\n"
)
CASES = {
    TextState.OK: ["txt", "docx", "xlsx", "pptx", "doc", "xls", "ppt", "pdf", "html", "csv", "xml", "json", "rtf", "odt", "ods", "vcf", "ics", "eml", "msg", "tnef"],
    TextState.NO_TEXT_LAYER: ["jpg", "png", "gif", "tif", "bmp", "webp"],
    TextState.UNSUPPORTED: ["wav", "mp3", "mp4", "m4a"],
    TextState.ENCRYPTED: ["encrypted_pdf", "encrypted_docx", "encrypted_xlsx", "encrypted_doc"],
    TextState.FAILED: ["docx_without_text"],
    TextState.EMPTY: ["zero_bytes", "zip", "mbox", "pst", "tar", "7z", "encrypted_7z"],
}  # fmt: skip
LIMITED = ["txt", "docx", "xlsx", "pptx", "doc", "xls", "ppt", "pdf", "html", "csv", "xml", "rtf", "odt", "ods", "vcf", "ics", "eml", "msg", "tnef"]  # fmt: skip


@cache
def _shop() -> Workshop:
    return Workshop(load_profile("reference"), 3, 0.001)


def _data(fmt: str) -> tuple[bytes, bytes]:
    """(name, bytes) of a made document."""
    size = faults.FILES[fmt][1] if fmt in faults.FILES else 4_000
    ending = faults.FILES[fmt][0] if fmt in faults.FILES else extension(fmt)
    return f"x.{ending}".encode(), _shop().document(fmt, f"states/{fmt}", size).data


def _state(name: bytes, data: bytes, limits: Limits | None = None) -> tuple[TextState, list[str], str]:
    """State, exception codes and text of a loose file."""
    found = unpack(name, data)
    (item,) = (item for item in found.out.items if item.parent is None)
    out = Findings()
    text, row = take_text(item, MemorySource(name, data), handler_for(item.media_type), limits or Limits(), out)
    return row.state, sorted(e.code.value for e in out.exceptions), text


@pytest.mark.parametrize(("state", "fmt"), [(state, fmt) for state, formats in CASES.items() for fmt in formats])
def test_states_by_format(state: TextState, fmt: str) -> None:
    found, codes, text = _state(*_data(fmt))
    assert found is state
    assert bool(text) is (state is TextState.OK or fmt == "jpg")  # a comment is text, though no layer of the picture
    reasons = {
        TextState.ENCRYPTED: ["encrypted"],
        TextState.UNSUPPORTED: ["unsupported"],
        TextState.FAILED: ["corrupt"],
    }
    assert codes == reasons.get(state, [])


@pytest.mark.parametrize("fmt", LIMITED)
def test_truncated_by_limit(fmt: str) -> None:
    state, codes, text = _state(*_data(fmt), Limits(text_characters=40))
    assert (state, codes) == (TextState.TRUNCATED_BY_LIMIT, [])
    assert 0 < len(text) <= 40


@pytest.mark.parametrize(
    ("name", "data", "state"),
    [
        (b"m.eml", PGP, TextState.ENCRYPTED),
        (b"m.eml", make_mail("only a subject", ""), TextState.EMPTY),
        (b"d.docx", make_docx("")[:-400], TextState.FAILED),
        (b"p.png", PNG, TextState.NO_TEXT_LAYER),
        (b"p.png", PNG[:12], TextState.FAILED),
        (b"x.bin", bytes(range(256)) * 4, TextState.UNSUPPORTED),
        (b"z.zip", make_zip({"a.txt": b"a"})[:-10], TextState.EMPTY),
    ],
)
def test_states_of_odd_files(name: bytes, data: bytes, state: TextState) -> None:
    assert _state(name, data)[0] is state


def test_an_item_without_bytes_has_failed() -> None:
    item = unpack(b"a.txt", b"text").out.items[0]
    _, row = take_text(item, None, handler_for("text/plain"), Limits(), Findings())
    assert row.state is TextState.FAILED
