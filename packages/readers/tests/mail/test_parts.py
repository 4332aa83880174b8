"""readers.mail.parts: content is decoded once, and as it was the long way."""

from __future__ import annotations

import base64

from hypothesis import given, settings
from hypothesis import strategies as st

from readers.mail.base64 import base64_damage, decode_base64, sound_base64
from readers.mail.parts import Message


@given(
    st.lists(
        st.sampled_from(
            (b"QUJD", b"QUI=", b"QQ==", b"A", b"=", b"==", b"===", b"\r\n", b" ", b"\t", b"!", b"-", b"\xff")
        ),
        max_size=7,
    ).map(b"".join)
)
def test_sound_base64_is_what_the_lenient_reader_reads(raw: bytes) -> None:
    sound = sound_base64(raw)
    if sound is not None:
        assert sound == decode_base64(raw)
        assert base64_damage(raw) is None


@given(st.binary(max_size=300))
@settings(max_examples=50, deadline=None)
def test_what_an_encoder_writes_is_sound(data: bytes) -> None:
    assert sound_base64(base64.encodebytes(data).replace(b"\n", b"\r\n")) == data


def test_an_encoded_multipart_that_says_nothing_is_empty() -> None:
    """Its content is replaced by what it stands for (RFC 2045 forbids it), and what was decoded before is forgotten."""
    inside = base64.encodebytes(b"--b--\nepilogue")
    data = b"Content-Type: multipart/mixed; boundary=b\nContent-Transfer-Encoding: base64\n\n" + inside
    assert Message(data).root.content() == b""
    assert Message(data).child_parts() == []
