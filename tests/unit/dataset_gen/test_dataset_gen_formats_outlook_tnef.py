"""winmail.dat is read by two independent readers: tnefparse, and Debian's tnef."""

import struct
import subprocess
from pathlib import Path

import pytest
from debian_programs import program
from hypothesis import given, settings
from hypothesis import strategies as st
from outlook_forms import SAMPLE, forms
from tnefparse import TNEF
from tnefparse.mapi import TNEFMAPI_Attribute

from dataset_gen.formats import mapi_mail
from dataset_gen.formats.mapi_mail import (
    LONG,
    MANY_STRING,
    RTF_COMPRESSED,
    STRING,
    TIME,
    Details,
    Message,
    Named,
    compress,
    filetime,
    from_plain,
    message_of,
)
from dataset_gen.formats.tnef import checksum, write
from readers.mail_form import MailForm


def _property(found: list[TNEFMAPI_Attribute], ident: int) -> object:
    for attribute in found:
        if attribute.name == ident:
            return (
                attribute.data[0] if isinstance(attribute.data, list) and len(attribute.data) == 1 else attribute.data
            )
    return None


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-16-le").rstrip("\0")
    return str(value or "").rstrip("\0")


@settings(max_examples=25, deadline=None)
@given(forms(0))
def test_tnefparse_reads_texts_and_files(form: MailForm) -> None:
    found = TNEF(write(message_of(form)), do_checksum=True)
    assert _text(_property(found.mapiprops, 0x0037)) == form.subject
    assert _text(found.body).replace("\r\n", "\n") == (form.plain or "")
    assert _text(found.htmlbody).replace("\r\n", "\n") == (form.html or "")
    assert _text(_property(found.mapiprops, 0x1035)) == f"<{form.message_id}>"
    assert len(found.attachments) == len(form.attachments)
    for stored, attachment in zip(found.attachments, form.attachments, strict=True):
        assert _text(_property(stored.mapi_attrs, 0x3707)) == attachment.name
        assert _text(_property(stored.mapi_attrs, 0x370E)) == attachment.media_type
        assert bytes(stored.data or b"") == attachment.data


def test_debians_tnef_takes_the_files_out(tmp_path: Path) -> None:
    unpack = program("tnef", "tnef")
    rich: dict[int, mapi_mail.Value] = {RTF_COMPRESSED: compress(from_plain(SAMPLE.plain or ""))}
    named = {
        Named(mapi_mail.PS_PUBLIC_STRINGS, "Keywords", MANY_STRING): ("one", "two"),
        Named(mapi_mail.PSETID_APPOINTMENT, 0x820D, TIME): filetime(1_600_000_000),
        Named(mapi_mail.PS_INTERNET_HEADERS, "x-odd", STRING): "odd",
        Named(mapi_mail.PSETID_COMMON, 0x8501, LONG): 15,
    }
    (tmp_path / "winmail.dat").write_bytes(write(message_of(SAMPLE, Details(properties=rich, named=named))))
    out = tmp_path / "out"
    out.mkdir()
    command = [unpack, "--save-body", "-C", str(out), str(tmp_path / "winmail.dat")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={"LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, done.stderr
    files = {path.name: path.read_bytes() for path in out.iterdir()}
    for attachment in SAMPLE.attachments:
        if attachment.data is not None:
            assert files[attachment.name] == attachment.data
    assert files["message.rtf"] == from_plain(SAMPLE.plain or "")


def test_a_message_inside_is_a_stream_inside() -> None:
    found = TNEF(write(message_of(SAMPLE)), do_checksum=True)
    assert found.attachments[2].data.startswith(struct.pack("<I", 0x223E9F78))
    inner = found.attachments[2].embed
    assert _text(_property(inner.mapiprops, 0x0037)) == "The inner one"
    assert bytes(inner.attachments[0].data) == b"some notes\n"
    assert _text(inner.attachments[1].embed.body) == "innermost text\r\n"


def test_what_old_programs_look_at_comes_first() -> None:
    data = write(message_of(SAMPLE))
    found = TNEF(data, do_checksum=True)
    assert [obj.name for obj in found.objects[:4]] == [0x9006, 0x9007, 0x8008, 0x8004]
    assert b"IPM.Microsoft Mail.Note\0" in data
    assert "Re: Übersicht ?? – final\0".encode("cp1252") in data
    assert b"\xe4\x07\x09\x00\x0d\x00\x0c\x00\x1a\x00\x29\x00\x00\x00" in data  # Sunday 2020-09-13 12:26:41


@settings(deadline=None)
@given(st.one_of(st.binary(max_size=2000), st.integers(0, 90_000).map(lambda n: b"\xff" * n)))
def test_the_checksum_is_the_sum_of_the_bytes(data: bytes) -> None:
    assert checksum(data) == sum(data) % 65536


def test_what_cannot_be_stored_is_refused() -> None:
    with pytest.raises(ValueError, match="0x001f"):
        write(Message({0x0037001F: b"bytes"}))
