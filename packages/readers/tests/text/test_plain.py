"""Plain text, XML, CSV and HTML: charsets, limits, and words that stay words."""

import io
import json

import pytest
from effort import takes_at_most
from hypothesis import given
from hypothesis import strategies as st

from core.records import Limits
from readers.base import Handler, MemorySource, Text
from readers.charset import Decoder
from readers.errors import ExceptionCode
from readers.identification.identify import identify
from readers.records import TextState
from readers.registry import handler_for
from readers.tables.csv import CsvHandler
from readers.text import html
from readers.text.html import HtmlHandler, fold, html_text
from readers.text.plain import TextHandler, XmlHandler, decoded_strings, with_letters

LIMITS = Limits()
UMLAUTS = "Der Chef von Großbritanniens größter Partei — ein Überblick, 100 €. " * 20


def read(handler: Handler, data: bytes, limits: Limits = LIMITS) -> Text:
    """Text of these bytes."""
    return handler.text(MemorySource(b"x", data), limits)


@pytest.mark.parametrize(
    ("codec", "charset"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8"),
        ("utf-16", "utf-16-le"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("utf-32", "utf-32-le"),
        ("utf-32-be", "utf-32-be"),
        ("cp1252", "cp1252"),
    ],
)
@pytest.mark.parametrize("handler", [TextHandler(), HtmlHandler()])
def test_charset_is_found(codec: str, charset: str, handler: Handler) -> None:
    """With a byte-order mark, without one, and in windows-1252, the same text comes out."""
    out = read(handler, UMLAUTS.encode(codec))
    assert out.text.strip() == UMLAUTS.strip()
    assert out.metadata["charset"] == charset


def test_damaged_utf8_stays_utf8() -> None:
    out = read(TextHandler(), UMLAUTS.encode() + b"\xff" + UMLAUTS.encode())
    assert out.text == UMLAUTS + "\ufffd" + UMLAUTS


def test_large_text_is_streamed_and_cut() -> None:
    data = b"0123456789" * 200_000
    assert read(TextHandler(), data, Limits(parse_bytes=1000)).text == data.decode()
    out = read(TextHandler(), data, Limits(text_characters=1_234_567))
    assert (len(out.text), out.state) == (1_234_567, TextState.TRUNCATED_BY_LIMIT)


class _Trickle(io.BytesIO):
    """Gives a few bytes for each read, so that characters are cut in two."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(3 if size is None or size > 3 else size)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff\x1b"), max_size=300))
def test_pieces_join_to_the_whole(text: str) -> None:
    data = text.encode()
    assert "".join(Decoder(data).chunks(_Trickle(data))) == text


@pytest.mark.parametrize(
    ("data", "more"),
    [
        (json.dumps({"text": "Müller\nSecondly Привет", "key": "plain"}), ["Müller\nSecondly Привет"]),
        (json.dumps(["\U0001f600 ü", "a\tb", "a\tb"], indent=1), ["\U0001f600 ü", "a\tb"]),
        (json.dumps({"schlüssel": 1}) + "\n" + json.dumps({"x": "é"}), ["schlüssel", "é"]),
        ('window.YTD.tweets.part0 = [ {"full_text" : "one\\ntwo"} ]', ["one\ntwo"]),
        (json.dumps({"text": "Müller".encode().decode("latin-1")}), ["Müller"]),  # as Facebook writes it
        (r'{"path": "C:\\new", "say": "\"hello\"", "url": "http:\/\/x.de\/a"}', []),
        (r'{"blank": "\n\t", "nul": "a\u0000\nb", "half": "\ud83d x"}', ["a\nb", "\ufffd x"]),
        (r'{"odd": "\x41\nb", "open": "c\nd', ["x41\nb", "c\nd"]),
        ('{"a": "b",\n"a " b": "x\\ny"}\n{"c": "\\u00fc"}', ["ü"]),
        (json.dumps([1, -2.5e9, None, True, "é"]), ["é"]),
        (r'{"plain": ["words", "of no escape"]}', []),
        (r'[2024-01-01] INFO opened "C:\new"', []),
        (r'print("one\ntwo")', []),
    ],
)
def test_what_is_escaped_in_json_stands_behind_it(data: str, more: list[str]) -> None:
    """Strings in which an escape stands for a letter or white space, each once, whatever else is wrong with the file; the
    file as it stands before them, and nothing else where there are none, nor behind what is no JSON."""
    assert read(TextHandler(), data.encode()).text == "\n".join((data, *more))


def test_strings_of_json_end_at_the_limit() -> None:
    data = json.dumps(["ü" * 9, "é" * 9]).encode()
    out = read(TextHandler(), data, Limits(text_characters=len(data) + 12))
    assert (out.text[len(data) :], out.state) == ("\n" + "ü" * 9 + "\né", TextState.TRUNCATED_BY_LIMIT)
    assert read(TextHandler(), data, Limits(text_characters=len(data) - 1)).text == data.decode()[:-1]


@given(st.lists(st.text(st.sampled_from('a"\\\n\tüж😀'), max_size=9), max_size=9), st.sampled_from([None, 1]))
def test_strings_of_json_are_those_that_were_written(values: list[str], indent: int | None) -> None:
    """Whatever stands around them, each that has such an escape is found, but for white space at its end alone."""
    wanted = {one for one in values if any(c in "\n\tüж😀" for c in one.rstrip("\n\t")) and not one.isspace()}
    assert set(decoded_strings(json.dumps(values, indent=indent))) == wanted


def test_xml_loses_its_tags_only() -> None:
    out = read(XmlHandler(), b"<?xml version='1.0' encoding='iso-8859-1'?><a><!-- no --><b>gr\xfcn</b>end</a>")
    assert out.text == "grünend"


@pytest.mark.parametrize(
    "markup", ["<a>broken <b>text</a>", '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>']
)
def test_odd_xml_is_kept_as_it_stands(markup: str) -> None:
    out = read(XmlHandler(), markup.encode())
    assert out.text == markup
    assert out.metadata["well_formed"] is False


@pytest.mark.parametrize("large", [False, True])
def test_numbers_of_letters_in_xml_that_is_kept_as_it_stands(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Letters stand there instead, also where they are written in halves, as phones do; names of signs stay."""
    markup = "<a b='&#55357;&#56832; M&#252;ller &#x416;'>Meyer & Co&#10;&amp; &#55357; &#0; &#x7fffffff;</a>"
    wanted = "<a b='😀 Müller Ж'>Meyer & Co\n&amp; \ufffd &#0; &#x7fffffff;</a>"
    if large:
        monkeypatch.setattr("readers.text.plain._XML_TREE_BYTES", 10)
    assert read(XmlHandler(), markup.encode()).text == wanted


@given(
    st.lists(st.sampled_from(["&#252;", "&#55357;", "&#56832;", "&#x41;", "&", "#", ";", "x", "&amp;"])),
    st.integers(1, 9),
)
def test_numbers_of_letters_over_the_boundaries_of_pieces(parts: list[str], size: int) -> None:
    text = "".join(parts)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert "".join(with_letters(pieces)) == "".join(with_letters([text]))


@pytest.mark.parametrize(
    ("data", "delimiter", "rows", "columns"),
    [
        (b"a,b,c\n1,2,3\n4,5,6\n", ",", 3, 3),
        (b"a;b\r\n1,5;2\r\n", ";", 2, 2),
        (b"a\tb\n1\t2", "\t", 2, 2),
        (b'a,b\n"two\nlines",2\n', ",", 2, 2),
        (b"one\ntwo\n", ",", 2, 1),
        (b'"never closed,' + b"x" * 200_000, ",", 1, 1),
        (b'{"a": "b\\nc"},d\n', ",", 1, 2),
    ],
)
def test_csv_shape(data: bytes, delimiter: str, rows: int, columns: int) -> None:
    out = read(CsvHandler(), data)
    assert out.text == data.decode()
    assert (out.metadata["delimiter"], out.metadata["rows"]) == (delimiter, rows)
    assert out.metadata["columns"] == columns


def test_html_words_and_blocks() -> None:
    markup = (
        "<title>T &amp; t</title><meta name=Author content='An Author'><style>no{}</style><script>no()</script>"
        "<p>wo<b>rd</b>  two<br>three<!-- no --><table><tr><td>a</td><td>b</td></tr></table>&eacute;nd"
    )
    out = read(HtmlHandler(), markup.encode())
    assert out.text.split() == ["word", "two", "three", "a", "b", "énd"]
    assert out.text.startswith("word two\nthree\n")
    for tag in ("ruby", "RUBY", "Ruby"):  # readings of characters
        assert html_text(f"<p>in<{tag}>base<RT>read</RT></{tag}>line") == "inbaseline\nread"
    for name in ("srcdoc", "SrcDoc"):
        assert html_text(f"<p>a<IFrame {name}='<p>in{name}&lt;IFRAME {name}=x>it'></IFrame>") == f"a\nin{name}\nit"
    assert html_text("<Template ShadowRootMode=open><p>shown</Template><template>no</template>") == "shown"
    assert (out.metadata["title"], out.metadata["author"]) == ("T & t", "An Author")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2", "Привет"),
        (b'<meta http-equiv=Content-Type content="text/html; charset=utf-16"><p>\xc3\xbc', "ü"),
        (b"<meta charset=nonsense><p>\xfc", "ü"),
        (b"<meta charset=hex><p>\xfc", "ü"),
    ],
)
def test_html_declared_charset(data: bytes, text: str) -> None:
    assert read(HtmlHandler(), data).text == text


@pytest.mark.parametrize("title", ["title", "TITLE", "Title"])
@pytest.mark.parametrize("meta", ["meta", "META", "Meta"])
def test_html_heads_in_any_case(title: str, meta: str) -> None:
    named, reported = f"<{title}>Plan</{title}>", f"<{meta} NAME=Author CONTENT=Ann>"
    for head, wanted in ((named + reported, ["title", "author"]), (named, ["title"]), (reported, ["author"])):
        page = f"<HTML><HEAD>{head}</HEAD><BODY>hello</BODY></HTML>"
        assert [key for key in read(HtmlHandler(), page.encode()).metadata if not key.startswith("charset")] == wanted


@pytest.mark.parametrize(
    "template",
    [
        "template shadowrootmode=open",
        "TEMPLATE id=a ShadowRootMode='closed'",
        'template shadowroot="open" shadowrootdelegatesfocus',
        "template shadowrootmode = open",
    ],
)
def test_html_templates_that_browsers_show(template: str) -> None:
    template = template.replace("ShadowRoot", "shadowRoot")
    inner = f"<{template}><style>no</style><p>shown</p><template>no</template><slot></slot></template>"
    page = f"<p>before<x-card>{inner}slotted</x-card><template><p>no</p></template><p>behind"
    assert html_text(page).split() == ["before", "shown", "slotted", "behind"]
    nested = html_text(f"<x-a><{template}>outer<x-b><{template}>inner</template></x-b>end</template></x-a>")
    assert nested.split() == ["outer", "inner", "end"]


CLOSED = "<head><title th:text='x'/><script src='y'/></head><body><p>seen</p></body>"
MANY = "<p>x<p>" * 1_600  # so many that a page is flattened


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<template shadowrootmode=none>no</template>x", "x"),  # a word alone does not make one that is shown
        ("<template title='a shadowroot'>no</template>x", "x"),
        (f"<html xmlns='http://www.w3.org/1999/xhtml'>{CLOSED}</html>", "seen"),
        (f"<html xmlns:th='http://www.thymeleaf.org'>{CLOSED}</html>", "seen"),
        (
            "<p>out</p><iframe srcdoc=\"<title>no</title><p>in &amp;amp;</p><iframe srcdoc='no'></iframe>\"></iframe>",
            "out\nin &",
        ),
        (f"{MANY}<iframe id=a srcdoc='&lt;p>in'></iframe>", "x\n" * 1_600 + "in"),
        (f"{MANY}a<ruby>b<rp>(</rp><rt>re<b>ad</b></rt></ruby>c", "x\n" * 1_600 + "abc\nread"),
    ],
)
def test_html_shows(page: str, text: str) -> None:
    assert html_text(page) == text


def test_html_deep_nesting_takes_bounded_time() -> None:
    """Elements nested 200,000 deep give their text in seconds (the parser alone takes minutes)."""

    def both() -> None:
        assert html_text("<div>" * 200_000 + "deep" + "<b>") == "deep"
        assert html_text("<div>" * 60_000 + "deep" + "</div>" * 60_000) == "deep"

    takes_at_most(10, both)


def test_html_tags_without_end_lose_their_attributes() -> None:
    """A tag with 100,000 attributes would take minutes; a picture in an attribute is no reason to change anything."""
    attributes = " ".join(f"a{n}=1" for n in range(100_000))
    assert html_text(f"<p {attributes}>one <b>word</b></p>") == "one word"
    markup = f'<title>t</title><img alt=x src="data:image/png;base64,{"QUJD" * 50_000}"><p>seen'
    assert html_text(markup) == "seen"


@given(st.text(st.sampled_from("ab \n\t\r\x0b\x0c\x1c\x85\xa0\u2003\u2028\u3000é"), max_size=60))
def test_white_space_is_folded_as_it_is_defined(text: str) -> None:
    assert fold(text) == "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))


@given(st.integers(0, 40_000), st.integers(14_990, 40_000), st.integers(0, 40_000))
def test_long_tags_are_noticed_wherever_they_stand(before: int, length: int, behind: int) -> None:
    markup = f"{'x' * (before % 977)}<p>{'y' * before}<b {'a' * length}><i {'z' * behind}"
    assert html._may_have_long_tag(markup) or html._LONG_TAG.search(markup) is None


@pytest.mark.parametrize(
    "name", ["p", "DIV", "td", "Tr", "h1", "H6", "hr", "BR", "li", "blockquote", "figcaption", "PRE"]
)
def test_blocks_end_lines_in_either_case(name: str) -> None:
    assert html_text(f"one<{name}>two") == "one\ntwo"
    assert html_text(f"one<{name}x>two</{name}x>three") == "onetwothree"


@given(st.text(st.sampled_from('a1,;\t"\n\r\x0b\x85\u2028'), max_size=60))
def test_rows_are_counted_as_they_were_split(text: str) -> None:
    """Lines end where Python's do, and empty ones are no rows."""
    out = read(CsvHandler(), text.encode())
    if '"' not in text and out.text:
        assert out.metadata["rows"] == sum(1 for line in out.text.splitlines() if line)


def test_line_ends_alone_are_not_repeated() -> None:
    assert list(decoded_strings(r'{"source": ["import os\n", "print(1)\r\n", "a\tb\n"]}')) == ["a\tb\n"]
    assert list(decoded_strings('["' + r"\n" * 300_000 + 'x"]')) == ["\n" * 300_000 + "x"]


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("<head><title>a</head><body><p>b<p>c</p>", ["a", "b", "c"]),
        ("<p>a</p><STYLE>b<p>c</p>", ["a", "b", "c"]),
        ("<p>a</p><script>b</p>c", ["a", "b", "c"]),
        ("<p>a</p><!-- b<p>c</p>", ["a", "b", "c"]),
        ("<p>a</p><a href='b>c</a><p>d</p>", ["a", "c", "d"]),
        ('<p>a</p><img alt="b" title="c><p>d</p>', ["a", "d"]),
        ("<p>a</p><template>b<p>c</p>", ["a", "b", "c"]),
        ("<p>a</p><? b", ["a", "b"]),
        ("<title>t</title><p>a</p><style>b", ["a", "b"]),
    ],
)
def test_what_is_never_closed_does_not_take_the_rest_of_a_page(page: str, words: list[str]) -> None:
    out = read(HtmlHandler(), page.encode())
    assert out.text.split() == words
    assert (out.error and out.error.code) is ExceptionCode.TRUNCATED


@pytest.mark.parametrize(
    "page",
    [
        "<p>a</p><textarea>b",
        "<p>a<select><option>b",
        "<table><tr><td>a<td>b",
        "<p>a</p></body></html>b",
        "<html><frameset><frame><noframes>a b</noframes></frameset></html>",
        "<script>if (x < '<!--') {}</script>a <!-- > --> b<!---->",
    ],
)
def test_a_page_that_is_read_to_its_end_is_whole(page: str) -> None:
    out = read(HtmlHandler(), page.encode())
    assert out.text.split() == ["a", "b"]
    assert out.error is None


def test_words_of_controls_and_drawings_are_apart() -> None:
    for tag in ("textarea", "button", "select", "noscript", "object", "iframe", "video", "legend", "menu", "svg"):
        assert html_text(f"<div>left<{tag}>in</{tag}>right</div>").split()[0] == "left"
        assert html_text(f"<div>left<{tag}>in</{tag}>right</div>").split()[-1] == "right"
    assert html_text("<svg><text>one</text><text>two</text></svg>").split() == ["one", "two"]


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("<para>un<emphasis>fold</emphasis>ed</para><para>next</para>", ["unfolded", "next"]),
        ("<p><hi>wo</hi><hi>rd</hi></p>", ["word"]),
        ("<p>a<x>b</x>c</p>", ["abc"]),
        ("<p>text<x>1</x><y>2</y></p>", ["text1", "2"]),
        ("<li>item<ul><li>one</li><li>two</li></ul>tail</li>", ["item", "one", "two", "tail"]),
        ("<p>a <b>b</b> c<br/>d</p>", ["a b c", "d"]),
        ("<r><name>one</name><name>two</name></r>", ["one", "two"]),
        ("<r><b>1</b><i>2</i></r><p>x<u>y</u></p>", ["1", "2", "xy"]),
        ("<block><inline>wo</inline><inline>rd</inline></block>", ["word"]),
        ("<d>&lt;p>a wo&lt;b>rd&lt;/b>&lt;/p></d>", ["<p>a wo<b>rd</b></p>", "a word"]),
        ("<p><r><rPr/>\n <t>wo</t></r>\n <r><t>rd</t><tab/><t>b</t></r></p><p><r><t>c</t></r></p>", ["word", "b", "c"]),
    ],
)
def test_words_over_several_elements_of_xml(body: str, lines: list[str]) -> None:
    space = (
        " xmlns='http://schemas.openxmlformats.org/w'" if "rPr" in body else ""
    )  # a part of a package that was unpacked
    assert read(XmlHandler(), f"<?xml version='1.0'?><doc{space}>{body}</doc>".encode()).text.splitlines() == lines


def test_codes_of_terminals_do_not_cut_words() -> None:
    assert read(TextHandler(), b"\x1b[1;31mER\x1b[0mROR \x1b]0;title\x07c\bco\bo _\bk\n").text == "ERROR co k\n"


def test_words_of_a_drawing() -> None:
    """A span with a place of its own is somewhere else."""
    svg = "<svg xmlns='http://www.w3.org/2000/svg'><text>Hel<tspan>lo</tspan><tspan>s</tspan><tspan x='1' y='2'>next</tspan></text><text>a</text></svg>"
    assert read(XmlHandler(), svg.encode()).text.splitlines() == ["Hellos", "next", "a"]


HEADER = b"From: a@b.c\nTo: d@e.f\nSubject: s\nMessage-ID: <a@b>\n"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"hello\n\nbegin 644 f.txt\n", "corrupt"),
        (b"hello\n\nbegin 644 f.txt\nM####no line of that length\nnope\n`\nend\n", "corrupt"),
        (b"hello\n\nbegin-base64-encoded 644 Zi50eHQ=\nZmlyc3RmaWxlIHdvcmRz\n====\n", "corrupt"),
        (b"hello\n\n  begin 644 f.txt\n  +86)C9&5F9VAI:FL \n  `\n  end\n", "corrupt"),
        (b"x\n=ybegin line=128 size=3\nabc\n=yend size=3\n", "corrupt"),
        (b"x\n(This file must be converted with BinHex 4.0)\n\n", "corrupt"),
        (b"x\n(This file must be converted with BinHex 4.0)\n\n:garbage()\n", "corrupt"),
        (
            b"see\n\nContent-Type: application/pdf\nContent-Transfer-Encoding: base64\n\nJVBERi0xLjQKJeLjz9MK\n",
            "corrupt",
        ),
        (b"x\n-----BEGIN PGP MESSAGE-----\n\nhQEMA\n-----END PGP MESSAGE-----\n", "encrypted"),
        (b"x\n-----BEGIN PKCS7-----\nMIIB\n-----END PKCS7-----\n", "encrypted"),
        (b"we begin 644 days later, and begin 2024 with a file\nbegin 2001 in Berlin\n", ""),
        (b"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nwords\n", ""),
        (b"x\nContent-Transfer-Encoding: base64 is a header field.\n\nwords follow it\n", ""),
    ],
)
def test_a_mark_of_something_unread_is_an_exception(body: bytes, code: str) -> None:
    for name, data in ((b"m.eml", HEADER + b"\n" + body), (b"m.txt", body)):
        source = MemorySource(name, data)
        handler = handler_for(identify(source))
        error = handler.text(source, Limits()).error
        assert (error.code.value if error else "") == code, name
        assert list(handler.children(source, Limits())) == []


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-16"])
@pytest.mark.parametrize("text", ["half a letter", "größe", "日本語のテキスト" * 9])
def test_half_a_character_at_the_end(text: str, codec: str) -> None:
    whole = MemorySource(b"x.txt", ("\ufeff" if codec != "utf-16" else "").encode(codec) + text.encode(codec))
    for more, shown, code in ((b"x", text + "\ufffd", "truncated"), (b"\n", text, ""), (b"\0", text, "")):
        out = handler_for("text/plain").text(MemorySource(b"x.txt", whole.whole(1 << 20) + more), Limits())
        assert (out.text, out.error.code.value if out.error else "") == (shown, code)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"<a><b>word</b><c>cut", "truncated"),
        (b"<?xml version='1.0'?>\n<a x='cu", "truncated"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><text>word</text>", "truncated"),
        (b"<a><b>word</a>", ""),  # not well-formed, and all there
        (b"<a><b>word</b></a>", ""),
        (b"<!DOCTYPE a [<!ENTITY e 'x'>]><a b='&e;'/>", ""),
    ],
)
def test_xml_that_breaks_off(data: bytes, code: str) -> None:
    out = handler_for("application/xml").text(MemorySource(b"x.xml", data), Limits())
    assert (out.error.code.value if out.error else "") == code
    assert "word" in out.text or b"word" not in data


@pytest.mark.parametrize(
    ("subject", "state"),
    [
        (b"=?x-unknown?Q?caf=E9_word?=", TextState.GUESSED),
        (b"=?x-unknown?B?Z3LDtsOfZQ==?=", None),  # it is UTF-8
        (b"=?x-unknown?Q?plain_word?=", None),
        (b"=?iso-8859-1?Q?caf=E9?=", None),
    ],
)
def test_words_of_headers_in_an_unknown_charset(subject: bytes, state: TextState | None) -> None:
    data = b"From: a@b.c\nTo: d@e.f\nSubject: " + subject + b"\n\nbody\n"
    assert handler_for("message/rfc822").text(MemorySource(b"x.eml", data), Limits()).state == state


@pytest.mark.parametrize(
    ("field", "body", "text"),
    [
        (b"Content-Type: text/plain", b"ZGVjb2RlZHdvcmQgaW4gYSB0ZXh0IG9mIHNvbWUgbGVuZ3Ro\n", "decodedword in a text of some length"),
        (b"Content-Type: text/plain", b"ZGVjb2RlZHdvcmQgaW4gYSB0ZXh0IG9mIGxlbmc=\n" * 2, "decodedword in a text of leng" * 2),
        (b"Content-Type: text/html", b"PGh0bWw+PGJvZHk+PHA+ZGVjb2RlZHdvcmQ8L3A+PC9ib2R5PjwvaHRtbD4=\n", "decodedword"),
        (b"Content-Type: text/plain", b"caf=C3=A9 wordin=\natt and =3D\n", "café wordinatt and =\n"),
        (b"Content-Type: text/plain", b"a=3Db and a=\nb c=ok\n", None),
        (b"Content-Type: text/plain", b"Antidisestablishmentarianism\n", None),
        (b"Content-Type: text/plain", b"Pneumonoultramicroscopicsilicovolcanoconiosis\n", None),
    ],
)  # fmt: skip
def test_an_encoding_that_no_field_declares_is_decoded_and_reported(
    field: bytes, body: bytes, text: str | None
) -> None:
    out = handler_for("message/rfc822").text(MemorySource(b"m.eml", HEADER + field + b"\n\n" + body), Limits())
    assert (out.text, out.error is None) == ((body.decode(), True) if text is None else (text, False))


@pytest.mark.parametrize(
    ("data", "kind", "cut"),
    [
        (b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:w\n", "text/calendar", True),
        (b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:w\nEND:VEVENT\nEND:VCALENDAR\n", "text/calendar", False),
        (b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nBEGIN:VALARM\nEND:VEVENT\nEND:VCALENDAR\n", "text/calendar", False),
        (b"BEGIN:VCARD\nVERSION:3.0\nFN:n\nEND:VCA", "text/vcard", True),
        (b"BEGIN:VCARD\nVERSION:3.0\nFN:n\nend:vcard", "text/vcard", False),
    ],
)
def test_a_calendar_or_contact_that_is_not_closed_is_truncated(data: bytes, kind: str, cut: bool) -> None:
    error = handler_for(kind).text(MemorySource(b"a", data), Limits()).error
    assert (error is not None) == cut
