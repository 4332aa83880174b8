"""expected = emitted + failed for each format that holds others, whatever is damaged, and what is missing is named."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pycdlib
import pypdfium2 as pdfium
import pypdfium2.raw as pdf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutants.changes import mutated
from outlook_forms import SAMPLE
from unpacking import Unpacked, make_docx, make_mail, make_mbox, make_tar, make_zip, unpack

from core.records import JobOptions, Limits
from dataset_gen.formats.outlook.mapi_mail import message_of
from dataset_gen.formats.outlook.msg import write as write_msg
from dataset_gen.profile import load_profile
from dataset_gen.workshop import Workshop
from readers import cfb, registry
from readers.base import Child, LeafHandler, Part, Source, Text
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import _REGISTERED, register_magic
from readers.mail_form import MailAttachment
from readers.office.ole.compound import CompoundFile, DirectoryEntry
from readers.records import Kind
from readers.registry import handler_for

FORM = replace(
    SAMPLE,
    attachments=tuple(
        MailAttachment(name=f"a{n}.bin", data=bytes([n]) * 900, media_type="application/x-a") for n in range(3)
    ),
)


def _mail() -> bytes:
    return make_mail("s", "text", {"a.bin": b"a" * 300, "b.bin": b"b" * 300})


def _pdf() -> bytes:
    document = pdfium.PdfDocument.new()
    document.new_page(100, 100)
    for n in range(3):
        name = (f"a{n}.txt" + "\0").encode("utf-16-le")
        file = pdf.FPDFDoc_AddAttachment(document, (pdf.FPDF_WCHAR * (len(name) // 2)).from_buffer_copy(name))
        pdf.FPDFAttachment_SetFile(file, document, bytes([n]) * 300, 300)
    out = io.BytesIO()
    document.save(out)
    document.close()
    undated = re.sub(rb"(?<=[(]D:)\d{14}", b"20261121000000", out.getvalue())
    return re.sub(rb"(?<=<)[0-9A-F]{32}(?=>)", b"0" * 32, undated)  # ids that are drawn


def _disc() -> bytes:
    image = pycdlib.PyCdlib()
    image.new()
    for n in range(4):
        image.add_fp(io.BytesIO(bytes([n]) * 3000), 3000, f"/F{n}.;1")
    out = io.BytesIO()
    image.write_fp(out)
    image.close()
    return out.getvalue()


def _rtf() -> bytes:
    picture = rb"{\pict\pngblip " + (b"\x89PNG\r\n\x1a\n" + bytes(60)).hex().encode() + b"}"
    return rb"{\rtf1\ansi text " + picture * 3 + b"}"


def _vcf() -> bytes:
    one = b"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:N\r\nPHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQSkZJRgABAQEASA==\r\nEND:VCARD\r\n"
    return one * 3


def _made(fmt: str) -> Callable[[], bytes]:
    return lambda: _shop().document(fmt, f"counts/{fmt}", 3_000).data


@cache
def _shop() -> Workshop:
    return Workshop(load_profile("reference"), 5, 0.001)


_MAKERS: dict[str, Callable[[], bytes]] = {
    "message/rfc822": _mail,
    "application/mbox": lambda: make_mbox(*[_mail()] * 3),
    "application/zip": lambda: make_zip({"a.txt": b"a" * 700, "b.txt": b"b" * 900, "dir/": b"", "m.eml": _mail()}),
    "application/x-tar": lambda: make_tar({"a": b"a" * 600, "b": b"b", "m.eml": _mail()}, mode="w"),
    "application/gzip": lambda: make_tar({"a": b"a" * 600, "b": b"b"}),
    "application/x-bzip2": lambda: make_tar({"a": b"a" * 600, "b": b"b"}, mode="w:bz2"),
    "application/x-xz": lambda: make_tar({"a": b"a" * 600, "b": b"b"}, mode="w:xz"),
    "application/x-iso9660-image": _disc,
    "application/pdf": _pdf,
    "application/rtf": _rtf,
    "text/vcard": _vcf,
    "application/vnd.ms-outlook": lambda: write_msg(message_of(FORM)),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": make_docx,
    "application/x-7z-compressed": _made("7z"),
    "application/vnd.ms-tnef": _made("tnef"),
    "application/vnd.ms-outlook-pst": _made("pst"),
}


@cache
def _sample(media_type: str) -> bytes:
    return _MAKERS[media_type]()


def _check(found: Unpacked) -> None:
    """Counts and rows agree for every item; each failed child is in a node-level exception that says how many."""
    rows: dict[object, int] = {}
    for item in found.out.items:
        rows[item.parent] = rows.get(item.parent, 0) + 1
    named: dict[object, int] = {}
    for e in found.out.exceptions:
        if e.level.value == "node":
            named[e.item] = named.get(e.item, 0) + (1 if e.missing is None else e.missing)
    counts = found.counts()
    for ident, (announced, emitted, failed, unknown) in counts.items():
        assert emitted == rows.get(ident, 0)
        assert failed == named.get(ident, 0)
        assert announced is None or unknown or announced == emitted + failed
    assert {parent for parent in rows if parent is not None} <= set(counts)


@pytest.mark.parametrize("media_type", sorted(_MAKERS))
def test_undamaged(media_type: str) -> None:
    found = unpack(b"x", _sample(media_type))
    (loose,) = (item for item in found.out.items if item.parent is None)
    assert loose.media_type == media_type
    announced, emitted, failed, unknown = found.counts()[loose.id]
    assert (emitted > 0, failed, unknown) == (True, 0, False)
    (declared,) = (d for d in handler_for(media_type).declared if media_type in (d.media_types or (media_type,)))
    assert announced == (emitted if declared.announces else None)


@given(st.sampled_from(sorted(_MAKERS)), st.integers(0, 1 << 40), st.sampled_from([300, 10**9]))
@settings(suppress_health_check=list(HealthCheck))
def test_damaged(media_type: str, seed: int, split_bytes: int) -> None:
    data = mutated(random.Random(seed), _sample(media_type), [_sample("application/zip")])
    limits = Limits(expansion_floor=1_000_000, expansion_ratio=1.0, children=60, depth=3)
    _check(unpack(b"x", data, options=JobOptions(limits=limits, split_bytes=split_bytes), defer=True))


class _Short(LeafHandler):
    """Announces three children; its bytes say what becomes of them."""

    name = "short"
    media_types: tuple[str, ...] = ("application/x-short",)
    container = True
    splits = True

    def announced(self, source: Source) -> int | None:
        return 3

    def parts(self, source: Source, target_bytes: int) -> list[Part]:
        return [Part(start=0, stop=2, announced=2), Part(start=2, stop=3, announced=1)]

    def children(self, source: Source, limits: Limits, part: Part | None = None):  # type: ignore[no-untyped-def]
        if part is None or part.start == 0:
            error = DocumentError(ExceptionCode.CORRUPT, "two inside it are gone", missing=2)
            broken = error if b"inside" in source.head else None
            yield Child(name=b"first", kind=Kind.ARCHIVE_MEMBER, ordinal=0, data=b"first", error=broken)
        if b"raises" in source.head:
            raise DocumentError(ExceptionCode.TRUNCATED, "it ends")

    def text(self, source: Source, limits: Limits) -> Text:
        return Text()


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_HANDLERS", dict(registry._HANDLERS))
    monkeypatch.setattr("readers.identification.identify._REGISTERED", dict(_REGISTERED))
    registry.register([_Short()])
    register_magic({b"SHORT": "application/x-short"})


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize("split_bytes", [1, 10**9])
@pytest.mark.parametrize(("how", "code"), [(b"", "corrupt"), (b"raises", "truncated")])
def test_what_a_handler_says_nothing_of_is_named(how: bytes, code: str, split_bytes: int) -> None:
    found = unpack(b"s", b"SHORT " + how, options=JobOptions(split_bytes=split_bytes), defer=True)
    assert found.count("s") == (3, 1, 2, False)
    assert sum(e.missing or 0 for e in found.out.exceptions) == 2
    assert {(e.code.value, e.level.value) for e in found.out.exceptions} == {(code, "node")}
    _check(found)


@pytest.mark.usefixtures("_short")
def test_children_that_are_missing_from_a_child() -> None:
    found = unpack(b"z.zip", make_zip({"s": b"SHORT inside"}))
    assert found.codes("z.zip", "s", "first") == ["corrupt"]
    assert found.count("z.zip", "s", "first") == (None, 0, 2, False)
    assert found.count("z.zip", "s") == (3, 1, 2, False)


@pytest.mark.usefixtures("_short")
def test_ranges_of_a_convicted_container() -> None:
    """A container that kills its readers counts what it announced as missing."""
    whole = unpack(b"s", b"SHORT")
    convicted = {whole.by_path[("s",)].id: (ExceptionCode.KILLED_PARSER, "it killed")}
    found = unpack(b"s", b"SHORT", convicted=convicted)
    assert found.codes("s") == ["killed_parser"]
    assert found.count("s") == (None, 0, 1, True)


def _without(entry: DirectoryEntry, compound: CompoundFile, name: str) -> cfb.Storage:
    kept = [e for e in entry.children if name not in e.name]
    streams = {e.name: compound.read(e) for e in kept if not e.storage}
    return cfb.Storage(entry.name, entry.class_id, streams, [_without(e, compound, name) for e in kept if e.storage])


@pytest.mark.parametrize(("gone", "emitted", "missing"), [("#00000001", 2, 1), ("__attach", 0, 3)])
def test_attachments_that_a_message_announces(gone: str, emitted: int, missing: int) -> None:
    """An MSG says how many attachments it has ([MS-OXMSG] 2.4.1.1); those that are not there are missing."""
    compound = CompoundFile(write_msg(message_of(FORM)))
    found = unpack(b"m.msg", cfb.write(_without(compound.root, compound, gone)))
    assert found.count("m.msg") == (None, emitted, missing, False)
    (only,) = found.out.exceptions
    assert (only.code.value, only.level.value, only.missing) == ("corrupt", "node", missing)


def test_a_message_cut_short_has_an_unknown_remainder() -> None:
    data = make_mail("s", "text", {"a.bin": b"a" * 300, "b.bin": b"b" * 300})
    found = unpack(b"m.eml", data[: data.index(b"b.bin") + 120])
    assert found.count("m.eml") == (None, 2, 1, True)
