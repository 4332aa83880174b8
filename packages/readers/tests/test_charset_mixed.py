"""Texts of which a part is UTF-16 and another is not."""

from __future__ import annotations

import io
import itertools
import random

import pytest

from readers.base import MemorySource
from readers.charset import CHUNK, Decoder, decode
from readers.charset_mixed import parts
from readers.identification.identify import identify

LATIN, UMLAUTS, RUSSIAN = "begin of the word {}{}", "größe über straße {}{}", "договор подписан {}{}"
CHINESE, HINDI, PUNJABI = "合同文本已经签署 {}{}", "यह हिन्दी में एक वाक्य है {}{}", "ਇਹ ਪੰਜਾਬੀ ਵਿੱਚ ਇੱਕ ਵਾਕ ਹੈ {}{}"
# Text, charset, and whether a byte-order mark is before it.
PARTS = (
    (LATIN, "ascii", False),
    (UMLAUTS, "utf-8", False),
    (RUSSIAN, "utf-8", True),
    (CHINESE, "utf-8", False),
    (LATIN, "utf-16-le", False),
    (LATIN, "utf-16-le", True),
    (UMLAUTS, "utf-16-be", True),
    (RUSSIAN, "utf-16-le", False),
    (CHINESE, "utf-16-le", True),
    (HINDI, "utf-16-le", True),
)


def _read(data: bytes) -> str:
    return "".join(Decoder(data[:4096]).chunks(io.BytesIO(data)))


def _lines(form: str, count: int, end: str) -> str:
    return "".join(form.format(number, end) for number in range(count))


def _encoded(text: str, codec: str, mark: bool) -> bytes:
    return ("\ufeff" * mark + text).encode(codec)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("one", "two"), [pair for pair in itertools.product(PARTS, PARTS) if pair[0][1] != pair[1][1]])
def test_two_charsets_in_a_text(one: tuple[str, str, bool], two: tuple[str, str, bool], end: str) -> None:
    """Whichever comes first, with a mark or without, few lines and many: every word of both comes out."""
    for first, second in ((20, 20), (3, 400), (400, 3)):
        parts = [
            (_lines(form, count, end), codec, mark) for (form, codec, mark), count in ((one, first), (two, second))
        ]
        data = b"".join(_encoded(*part) for part in parts)
        assert _read(data).replace("\ufeff", "") == "".join(text for text, _, _ in parts)
        assert identify(MemorySource(b"x.log", data)) == "text/plain"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "form", [LATIN, UMLAUTS, RUSSIAN, CHINESE, HINDI, PUNJABI, "李{}{}", "これは日本語の文章です{}{}"]
)
def test_one_charset_stays_one(form: str, codec: str) -> None:
    for count in (3, 50, 3 * CHUNK // 40):
        text = _lines(form, count, "\r\n")
        assert _read(_encoded(text, codec, True)) == text


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_a_character_of_four_bytes_is_kept_where_a_read_ends_within_it(codec: str) -> None:
    for before in range(4):
        text = before * "a" + CHUNK // 8 * "x\U0001f600y" + "\r\n"
        assert _read(_encoded(text, codec, True)) == text


def test_three_parts_over_several_reads() -> None:
    """Parts of an odd number of bytes, each larger than what is read at once."""
    count = CHUNK // 20
    texts = [
        _lines(LATIN, count, "\r\n") + "odd\r\n",
        _lines(RUSSIAN, count, "\r\n"),
        _lines(UMLAUTS, count, "\n") + "end",
    ]
    data = texts[0].encode() + _encoded(texts[1], "utf-16-le", True) + texts[2].encode()
    assert _read(data) == "".join(texts)


@pytest.mark.parametrize(
    "data",
    [
        b"Sub\0ject: a zero in a line of text\n" * 9,
        b"columns\0with\0zeros between\n" * 9,
        "ÿþ is no mark in a word, nor яю".encode(),
        "слово за словом, яюшка".encode("cp1251") + b"\n" * 3,
    ],
)
def test_zeros_and_what_looks_like_a_mark_are_no_other_part(data: bytes) -> None:
    assert "\ufffd" not in _read(data)
    assert len(_read(data)) == len(data.decode(Decoder(data).detected.charset, "replace")) or b"\xff" in data


def test_chinese_in_utf_16_is_one_text() -> None:
    letters = "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经"
    chance = random.Random(1)
    for _ in range(100):
        text = "\n".join("".join(chance.choices(letters, k=chance.randint(1, 30))) for _ in range(20))
        for codec in ("utf-16-le", "utf-16-be"):
            assert [found for found, _ in parts([text.encode(codec)], codec)] == [codec], text


@pytest.mark.parametrize(("first", "second"), [("utf-16-le", "utf-16-be"), ("utf-16-be", "utf-16-le")])
@pytest.mark.parametrize("form", [LATIN, RUSSIAN, CHINESE])
def test_orders_of_bytes_line_by_line(first: str, second: str, form: str) -> None:
    lines = [form.format(number, "\r\n") for number in range(3_000)]
    data = b"".join(line.encode(second if number % 3 else first) for number, line in enumerate(lines))
    assert _read("\ufeff".encode(first) + data) == "".join(lines)


@pytest.mark.parametrize(("first", "second"), [("utf-16-le", "utf-16-be"), ("utf-16-be", "utf-16-le")])
def test_parts_in_the_other_order_without_ends_of_lines(first: str, second: str) -> None:
    for one, two in (("little\n", "last words"), ("no end of line", "next words\n")):
        assert _read(_encoded(one, first, True) + two.encode(second)) == one + two


def test_whole_texts_of_several_parts() -> None:
    one, two, three = (_lines(form, 20, "\r\n") for form in (LATIN, RUSSIAN, UMLAUTS))
    text = one + two + three
    data = one.encode("utf-16-le") + two.encode("utf-16-be") + three.encode("utf-16-le")
    assert decode(data, "utf-16le")[0] == decode(b"\xff\xfe" + data)[0] == text
    assert decode(three.encode() + data)[0] == three + text


def test_an_order_of_bytes_that_changes_with_every_letter() -> None:
    letters = "Every letter in another order of bytes. " * 500
    orders = (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff"))
    data = b"".join(orders[n % 2][1] + c.encode(orders[n % 2][0]) for n, c in enumerate(letters))
    assert decode(data)[0] == letters
    assert len(list(parts((data[2:],), "utf-16-le"))) < 1_000
