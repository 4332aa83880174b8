"""readers.charset_wider: Japanese and Chinese text as programs of Windows write it under the names of narrower charsets."""

from __future__ import annotations

import base64

import pytest

from core.records import Limits
from readers import charset
from readers.base import MemorySource
from readers.charset_wider import errors_of
from readers.identification.identify import identify
from readers.mail.headers import decode_words
from readers.records import TextState
from readers.registry import handler_for

PLAIN = "お世話になっております。昨日お送りした契約書につきまして、ご確認いただけましたでしょうか。"
NAMES = "髙橋様と㈱山田商事①"
TAIPEI = "本公司位於中環,歡迎客戶預約會面。我們會在下星期二舉行會議,討論合同的細節以及付款安排。"


def _euc(text: str) -> bytes:
    """As CP51932: what EUC-JP lacks by way of Shift-JIS."""
    return b"".join(_pair(char) for char in text)


def _pair(char: str) -> bytes:
    try:
        return char.encode("euc_jp")
    except UnicodeEncodeError:
        first, second = {"髙": b"\xee\xe0", "㈱": b"\x87\x8a", "①": b"\x87\x40"}[char]
        assert bytes((first, second)).decode("cp932") == char
        row = 2 * (first - (0x81 if first < 0xE0 else 0xC1)) + 0x21
        if second >= 0x9F:
            return bytes((row + 1 + 0x80, second - 0x7E + 0x80))
        return bytes((row + 0x80, second - (0x20 if second > 0x7F else 0x1F) + 0x80))


def _jis(text: str) -> bytes:
    return b"\x1b$B" + bytes(byte & 0x7F for byte in _euc(text)) + b"\x1b(B"


def _mail(body: bytes, label: str, subject: str = "t") -> bytes:
    return b"From: a@b.c\nSubject: %b\nContent-Type: text/plain; charset=%b\n\n%b" % (
        subject.encode(),
        label.encode(),
        body,
    )


@pytest.mark.parametrize(
    ("body", "label", "wanted"),
    [
        (_jis(PLAIN + NAMES), "iso-2022-jp", PLAIN + NAMES),
        (_jis(PLAIN) + b"\x1b(ITO@^<^]\x1b(B", "iso-2022-jp", PLAIN + "ﾔﾏﾀﾞｼﾞﾝ"),
        (_jis(PLAIN + NAMES), "cp50220", PLAIN + NAMES),
        (_euc(PLAIN + NAMES + PLAIN), "euc-jp", PLAIN + NAMES + PLAIN),
        (TAIPEI.encode("big5") + b"\xf9\xda\xa4j\xb6\xb0\xb9\xce", "big5", TAIPEI + "恒大集團"),
        (TAIPEI.encode("big5") + b"\xa3\xe1100", "big5", TAIPEI + "€100"),
    ],
)
def test_declared_text_is_read_as_windows_writes_it(body: bytes, label: str, wanted: str) -> None:
    source = MemorySource(b"a.eml", _mail(body, label))
    text = handler_for(identify(source)).text(source, Limits())
    assert (text.text, text.state) == (wanted, None)


@pytest.mark.parametrize(
    ("data", "named"), [(_jis(PLAIN + NAMES), "iso2022_jp"), (_euc(PLAIN + NAMES + PLAIN), "euc_jp"), (_euc("株式会社は㈱と書く。" + NAMES), "euc_jp")]
)  # fmt: skip
def test_so_is_text_that_nothing_declares(data: bytes, named: str) -> None:
    source = MemorySource(b"a.txt", data)
    text = handler_for(identify(source)).text(source, Limits())
    assert NAMES in text.text
    assert text.state is not TextState.GUESSED
    assert text.metadata["charset"] == named


def test_so_are_words_of_a_header() -> None:
    """RFC 2047 in both ways."""
    word = base64.b64encode(_jis("髙橋㈱との契約①")).decode()
    assert decode_words(f"=?ISO-2022-JP?B?{word}?=") == "髙橋㈱との契約①"
    quoted = "".join(f"={byte:02X}" for byte in _euc("髙橋"))
    assert decode_words(f"=?euc-jp?Q?{quoted}?=") == "髙橋"


@pytest.mark.parametrize(
    ("data", "codec", "wanted"),
    [
        (_euc("契約") + b"\xfe\xfe" + _euc("契約"), "euc_jp", "契約\ufffd契約"),
        (_euc("契約") + b"\x8f\xfe\xfe" + _euc("契約"), "euc_jp", "契約\ufffd契約"),
        (_euc("契約") + b"\xfe " + _euc("契約"), "euc_jp", "契約\ufffd 契約"),
        (b"\x1b$B" + b"7@~~7@\x1b(Bend", "iso2022_jp", "契\ufffd契end"),
        (b"\x1b$B" + b"7@7\x1b(Bend", "iso2022_jp", "契\ufffdend"),
        (b"\x1b$B" + b"7\n7@\x1b(Bend", "iso2022_jp", "\ufffd\n契end"),
        (b"\x1b(ITO\x1b$B7@", "iso2022_jp", "ﾔﾏ契"),
        (b"\x1b$(D-!\x1b(Bend", "iso2022_jp_ext", "\ufffdend"),
        ("大".encode("big5") + b"\xfe\xff" + "大集".encode("big5"), "big5", "大\ufffd大集"),
        ("大".encode("big5") + b"\xff" + "大集".encode("big5"), "big5", "大\ufffd大集"),
        ("約".encode("cp932") + b"\x81\xad" + "約束".encode("cp932"), "cp932", "約\ufffd約束"),
        ("약".encode("cp949") + b"\xfe\xfe" + "약속".encode("cp949"), "cp949", "약\ufffd약속"),
    ],
)
def test_a_broken_pair_leaves_the_rest_as_it_is(data: bytes, codec: str, wanted: str) -> None:
    assert charset.read_in(data, codec) == wanted


@pytest.mark.parametrize("codec", ["euc_jp", "iso2022_jp", "big5"])
def test_what_the_codec_reads_stays_as_it_reads_it(codec: str) -> None:
    for lead in range(0x21, 0x7F) if codec == "iso2022_jp" else range(0x81, 0xFF):
        for trail in range(0x21, 0xFF):
            pair = bytes((lead, trail))
            data = b"\x1b$B" + pair + b"\x1b(B" if codec == "iso2022_jp" else pair
            try:
                plain = data.decode(codec)
            except UnicodeDecodeError:
                continue
            assert data.decode(codec, errors_of(codec)) == plain


def test_other_codecs_keep_their_own_way() -> None:
    assert (errors_of("utf-8"), errors_of("utf-8", "strict")) == ("replace", "strict")
    assert b"\xfc\xe2".decode("euc_jp", errors_of("euc_jp", "strict")) == "髙"
    with pytest.raises(UnicodeDecodeError):
        b"\xfe\xfe".decode("euc_jp", errors_of("euc_jp", "strict"))
    with pytest.raises(UnicodeEncodeError):
        "ä".encode("big5", errors_of("big5"))
