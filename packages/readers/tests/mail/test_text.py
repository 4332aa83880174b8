"""readers.mail.text: the text of a message, as it is hashed too."""

from __future__ import annotations

from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records import Limits
from readers.base import MemorySource
from readers.mail.eml import EmlHandler
from readers.mail.parts import Message
from readers.mail.text import body_texts, folded

_BLANKS = [chr(code) for code in range(0x3001) if chr(code).isspace()]


@given(st.lists(st.sampled_from(_BLANKS + [" ", "  ", "\n\n"] * 4) | st.text(max_size=4), max_size=12).map("".join))
def test_folded_text_has_single_blanks(text: str) -> None:
    assert folded(text) == " ".join(text.split()).encode("utf-8", "replace")


def test_every_blank_is_one() -> None:
    for blank in _BLANKS:
        assert folded(f"{blank}é{blank} {blank}b{blank}") == "é b".encode()


def _both(plain: str, html: str) -> list[str]:
    """The lines of a message with these two forms of its body."""
    message = EmailMessage()
    message["From"] = "a@example.org"
    message.set_content(plain)
    message.add_alternative(html, subtype="html")
    text = EmlHandler().text(MemorySource(b"m.eml", message.as_bytes()), Limits()).text
    return [line for line in text.split("\n") if line]


@pytest.mark.parametrize(
    ("plain", "html"),
    [
        (
            "Dear Ann,\n\nthe *contract* is\nready.\n-- \nBob\n",
            "<p>Dear Ann,</p><p>the <b>contract</b> is ready.</p><p>Bob</p>",
        ),
        (
            "“Größe” – it’s 5 €\n",
            "<style>p {color: red}</style><p>&quot;Gr&ouml;&szlig;e&quot; &#8212; it&rsquo;s&nbsp;5 &euro;",
        ),
        ("abcdef\n", "<p title='other words'>ab<b>cd</b>ef</p><!-- a remark --><script>more()</script>"),
        ("これは文書\nです。\n", "<p>これは<i>文書です</i></p>"),
        ("see this\n", "<html><head><meta x=1>\n<title>another word</title></head><body><p>see this</p></body></html>"),
        ("a\u00d7b c\u00a0d\u00ad \u00e9\u00bf\n", "<p>a b\u3000c</p><p>d \u2014 \u00e9</p>"),
        ("see\nhttps://example.org/x\n", '<a href="https://example.org/y?tracked">see</a> https://example.org/x'),
    ],
)
def test_a_page_that_says_the_same_stands_there_once(plain: str, html: str) -> None:
    assert _both(plain, html) == [line for line in plain.split("\n") if line]


@pytest.mark.parametrize(
    ("html", "more"),
    [
        ("<p>plain words</p><p>and a secret</p>", ["and a secret"]),
        ("<p>plain</p><p>the word<b>s</b> of xmp</p>", ["the words of xmp"]),
        ("<xMp><hidden></xMp>", ["<hidden>"]),
        ("<head></head><p>plain</p><title>late</title> words", ["late"]),
        ("<p>plain if 1 < n and n > 0</p>", ["plain if 1 < n and n > 0"]),
        ("<p>plain words</p><style>x{}</style>late", ["late"]),
    ],
)
def test_what_only_the_page_says_is_found(html: str, more: list[str]) -> None:
    assert _both("plain words\n", html) == ["plain words", *more]


def test_a_page_that_says_much_more_is_there_whole() -> None:
    lines = [f"line {number} of the page" for number in range(30)]
    html = "".join(f"<p>{line}</p>" for line in ["see line", *lines])
    assert _both("see line\n", html) == ["see line", "see line", *lines]


def test_blanks_that_were_added_for_a_line_break_go() -> None:
    """RFC 3676: delsp=yes; quotes as deep as the line before are joined, a signature's mark is not."""
    body = "a wor \r\nd1 two \r\n\r\n> quo \r\n> ted \r\nown\r\n-- \r\nsig"
    for parameter, expected in (("; delsp=yes", "a word1 two\n> quoted\nown\r\n-- \r\nsig"), ("", body)):
        data = f"Content-Type: text/plain; format=flowed{parameter}\r\n\r\n{body}".encode()
        assert list(body_texts(Message(data).root)) == [expected]
