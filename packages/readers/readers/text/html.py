"""HTML: the visible text, without markup, scripts and styles."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from readers import clean
from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.charset import CHARSET_KEYS, Detected, decode
from readers.charset_labels import XML_CHARSET, by_mark
from readers.errors import DocumentError, corrupt, truncated
from readers.mail.base64 import BASE64_ALPHABET, base64_damage, decode_base64
from readers.records import Kind, Limits
from readers.text.unread import unread_in

# `data:` URIs (RFC 2397): files that are contained in a web page itself, in its attributes, styles and scripts.

# After a quotation mark, an equals sign or "url("; one without a media type and parameters may be an object's key.
_BEGIN = re.compile(
    r"(?:(?P<quote>[\"']|&quot;|&#39;)|[=(])\s{0,16}data:(?P<type>[a-z]{1,32}/[a-z0-9][a-z0-9.+_-]{0,126}|(?=;))"
    r"(?P<more>(?:;[^;,\"'<>()]{0,100}){0,4}),",
    re.IGNORECASE,
)
_SCHEME = re.compile("[dD][aA][tT][aA]:")  # searched first: what precedes it is everywhere in a page
_IN_FRONT = len("&quot;") + 16
_UNQUOTED = re.compile(r"[^\s\"'<>()]*")
_LONGEST = 33 + 127 + 4 * 101 + 1  # type and parameters before the comma
_SPACE = re.compile(r"\s+")
_URL_SAFE = str.maketrans("-_", "+/")


class DataUri(NamedTuple):
    """A `data:` URI, as stored in the markup."""

    media_type: str  # lower case
    base64: bool
    value: str

    def content(self) -> tuple[bytes | None, DocumentError | None]:
        """Return the bytes, or the damage: none if it is not base64, as in browsers, but the available ones if it is
        cut short."""
        raw = unquote_to_bytes(html.unescape(self.value) if "&" in self.value else self.value)
        if not self.base64:
            return raw, None
        digits = _SPACE.sub("", raw.decode("latin-1")).translate(_URL_SAFE).encode("latin-1")  # folded attributes
        damage = base64_damage(digits)
        error = corrupt(f"a data: URI: {damage}") if damage else None
        foreign = digits.translate(None, BASE64_ALPHABET + b"=")
        return (None if foreign else decode_base64(digits)), error

    def name(self, position: int) -> str:
        """Return a name made from type and order: `image-3.png`."""
        family, _, kind = self.media_type.partition("/")
        return f"{family}-{position}.{kind.removeprefix('x-').partition('+')[0]}"


def may_hold(data: bytes) -> bool:
    """Return whether a page can contain such URIs; UTF-16 is searched too."""
    return b"data:" in data or b"DATA:" in data or (b"\0" in data and b"d\0a\0t\0a\0:" in data)


def data_uris(markup: str) -> Iterator[DataUri]:
    """Yield all of them in order. Time is linear in the length of the markup."""
    at = 0
    unclosed: set[str] = set()  # quotation marks that do not come again
    while (scheme := _SCHEME.search(markup, at)) is not None:
        match = _BEGIN.search(markup, max(at, scheme.start() - _IN_FRONT), scheme.end() + _LONGEST)
        if match is None:
            at = scheme.end()
            continue
        at = match.end()
        quote = match["quote"]
        end = -1 if not quote or quote in unclosed else markup.find(quote, at)
        if end < 0:
            if quote:
                unclosed.add(quote)
            end = at + len(_UNQUOTED.match(markup, at)[0])  # type: ignore[index]  # it matches the empty string too
        encoding = match["more"].rpartition(";")[2].strip().lower()
        yield DataUri(match["type"].lower() or "text/plain", encoding == "base64", markup[at:end])
        at = end


def carried(markup: str) -> Iterator[Child]:
    """Yield each with its bytes; one that is not base64 has none."""
    for position, uri in enumerate(data_uris(markup)):
        content, error = uri.content()
        yield Child(
            name=uri.name(position).encode("ascii"),
            kind=Kind.EMBEDDED_OBJECT,
            ordinal=position,
            data=content,
            error=error,
            media_type=uri.media_type,
        )


# Flattening pages with very many tags before they are parsed, so that parsing time depends on their length alone.

MANY = 3_000  # tags; with fewer, quadratic time does not matter
# Elements that the parser has to see by name: roots, elements of the head, and elements without markup.
_KEPT = (
    "html|head|body|frameset|frame|title|base|link|meta|script|style|template|noscript|noframes|noembed|iframe|textarea|xmp"
    "|plaintext"
)


def _either_case(names: str) -> str:
    """Return a pattern that matches each letter of another in both cases: faster than the flag for that."""
    return re.sub(r"\[(\w+)\]|([a-z])", lambda m: f"[{(m[1] or m[2]) + (m[1] or m[2]).upper()}]", names)


_NOT_KEPT = rf"(?!/?(?:{_either_case(_KEPT)})[\s/>])/?[a-zA-Z]"
# Up to the bracket that ends a tag, unless another bracket or the end of a comment comes before it.
_TO_END = r"(?:[^<>\"']++|\"[^\"<>]*+\"|'[^'<>]*+'|(?!))*+(?<!--)>"
_TAG = re.compile(rf"<{_NOT_KEPT}{_TO_END}")
_KEPT_TAG = re.compile(rf"(</?(?:{_either_case(_KEPT)}))(?![^<>]*\ssrcdoc)[\s/]{_TO_END}")
_NAME = re.compile(rf"<{_NOT_KEPT}[^\s/<>]*+")
_WITH_ATTRIBUTES = re.compile(r"<(?=/?[a-zA-Z][^\s/<>]*+[\s/])")


def _flat(markup: str) -> str:
    """Return the page without attributes, and with an always empty element instead of nearly all others. Tags with
    brackets or odd quotation marks in them keep their attributes while they are few; else they become comments."""
    markup = _NAME.sub("<wbr", _KEPT_TAG.sub(r"\1>", _TAG.sub("<wbr>", markup)))
    if next(itertools.islice(_WITH_ATTRIBUTES.finditer(markup), MANY, None), None) is not None:
        markup = _WITH_ATTRIBUTES.sub("<!", markup)
    return markup


# Templates that a browser shows in place (declarative shadow DOM): most of the text of some modern pages.

_TEMPLATES = re.compile("<" + _either_case("template"))
# A template's tag without other brackets, so that time is linear in the length.
_TEMPLATE_TAG = re.compile(r"<(/?)template((?=[\s/>])(?:[^<>\"']++|\"[^\"<>]*+\"|'[^'<>]*+'|(?!))*+)>", re.IGNORECASE)
_ROOT = re.compile(r"[\s\"'/]shadowroot(?:mode)?\s*=\s*[\"']?(?:open|closed)(?![\w-])", re.IGNORECASE)


def _with_shadows(markup: str) -> str:
    """Return the page with blocks instead of such templates; other templates, which only scripts show, stay."""
    open_tags: list[bool] = []  # whether each is such a template

    def block(tag: re.Match[str]) -> str:
        if not tag[1]:
            open_tags.append(_ROOT.search(tag[2]) is not None)
            return "<div>" if open_tags[-1] else tag[0]
        return "</div>" if open_tags and open_tags.pop() else tag[0]

    return _TEMPLATE_TAG.sub(block, markup)


# Elements, comments and tags that are never closed: by HTML's rules they take the rest of the document, which is then
# not shown.

# Control characters after a page: they are in its text unless an unclosed element took the rest. In ASCII, so that
# an ASCII page still takes one byte a character, and half the time.
_END = "\x01\x7f\x01"
_ANY_TAG = re.compile(r"<(?:(!--)|([!?])|/?([a-zA-Z][^\s/<>]*))")
_QUOTE_OR_END = re.compile(r"=\s*([\"'])|>")
_CLOSERS = {
    name: re.compile(f"</{name}", re.IGNORECASE)
    for name in ("script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes")
}
_TEMPLATE = re.compile(r"<(/?)template(?=[\s/>])[^<>]*>", re.IGNORECASE)


def _opened(markup: str) -> str:
    """Return the page without the starts of elements that are never closed, so that the text after them is read. Time
    is linear in the length."""
    out: list[str] = []
    kept = at = 0
    without: set[str] = set()  # end marks that do not occur again

    def end_of(mark: str, begin: int) -> int:
        place = -1 if mark in without else markup.find(mark, begin)
        if place < 0:
            without.add(mark)
        return place

    while (tag := _ANY_TAG.search(markup, at)) is not None:
        if tag[1] or tag[2]:
            mark = "-->" if tag[1] else ">"
            end = end_of(mark, tag.start() + 2)
            at = tag.end() if end < 0 else end + len(mark)
            closed = end >= 0
        else:
            at, closed = _behind(markup, tag, end_of)
            closer = _CLOSERS.get(tag[3].lower()) if closed and not tag[0].startswith("</") else None
            if closer is not None:
                found = None if closer.pattern in without else closer.search(markup, at)
                if found is None:
                    without.add(closer.pattern)
                    closed = False
                else:
                    at = found.start()
        if not closed:
            out += (markup[kept : tag.start()], " ")
            kept = at
    page = "".join((*out, markup[kept:]))
    tags = [bool(match[1]) for match in _TEMPLATE.finditer(page)]
    return _TEMPLATE.sub("", page) if tags.count(False) > tags.count(True) else page


def _behind(markup: str, tag: re.Match[str], end_of: Callable[[str, int], int]) -> tuple[int, bool]:
    """Return the position after a tag, and whether it ends; else after the next possible end."""
    at, first = tag.end(), end_of(">", tag.end())
    if first < 0:
        return at, False
    while (found := _QUOTE_OR_END.search(markup, at)) is not None:
        if not found[1]:
            return found.end(), True
        end = end_of(found[1], found.end())
        if end < 0:
            break
        at = end + 1
    return first + 1, False


# Elements that end a line, and those with boxes of their own. A line break is put before each of their tags before parsing, so that
# "<td>a<td>b" gives two words and "wo<b>rd</b>" one; a walk over the tree in Python would cost ten times as much.
_BLOCK_NAMES = (
    "p|d(?:[dlt]|iv|etails|esc|i(?:alog|r))|t(?:[drh]|able|body|foot|head|itle|ext(?:area)?)|b(?:r|lockquote|utton)|l(?:i|egend|isting)"
    "|h(?:[1-6]|r|eader|group)|ul|o(?:l|pt(?:ion|group)|bject)|f(?:ieldset|igcaption|igure|ooter|orm|oreignobject|rameset)"
    "|s(?:ection|ummary|elect|vg|earch)|a(?:ddress|rticle|side|udio)|c(?:a(?:ption|nvas)|enter)|m(?:ain|enu|arquee|eter)"
    "|n(?:av|o(?:script|embed|frames))|i(?:nput|frame)|xmp|pre|plaintext|progress|video"
)


_BREAK = "\n<"
_BLOCK = re.compile(f"<(?=/?(?:{_either_case(_BLOCK_NAMES)})(?![A-Za-z0-9]))")
# White space of str.split() except the blank and the line break.
_BLANKS = tuple(chr(c) for c in range(0x3001) if chr(c).isspace() and chr(c) not in " \n")
_ASCII_BLANKS = tuple(c for c in _BLANKS if c.isascii())
_META_CHARSET = re.compile(rb"<meta\b[^>]{0,512}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:+-]{2,40})", re.IGNORECASE)
_PRESCAN = 4096
_FAR = 1 << 18  # bytes, where there is no other evidence
_HEADED = re.compile("<(?:[tT][iI][tT][lL][eE]|[mM][eE][tT][aA])")
_RUBY, _FRAMES = (re.compile("<" + _either_case(name)) for name in ("ruby", "iframe"))
# A reading of characters, which would split words, or a parenthesis around it.
_READING = re.compile(
    rf"<(?:({_either_case('rt')})|{_either_case('rp')})\b[^<>]*+>([^<]*+(?:<(?!/?[rR][tTpPuUbB])[^<]*+|(?!))*+)"
)
_SRCDOC = re.compile(_either_case("srcdoc") + r"(?=\s*=)")
_XHTML = "xmlns"  # also in templates of pages
# Self-closed elements that an HTML parser takes for open: everything after them would be their hidden text.
_CLOSED = re.compile(r"<(title|script|style|textarea|iframe|noframes|noscript|xmp)((?:\s[^<>]*)?)/>", re.IGNORECASE)
_HEAD = 16_384  # characters of a page with very many tags in which its metadata has to be


# The parser's time grows with the square of a tag's attributes too (measured: 20,000 of them 2 s).
_LONG = 15_000
_LONG_TAG = re.compile(rf"(<[a-zA-Z][a-zA-Z0-9]*+)[^<>]{{{_LONG},}}")
_ATTRIBUTES = 2000


def html_decode(data: bytes, label: str = "") -> tuple[str, Detected]:
    """Return the markup and the charset that was found: that of `label`, which its container declares, else the one
    that the page itself declares. A browser searches the first kilobyte for that; without other evidence more is
    searched."""
    declared = label or declared_charset(data, _PRESCAN)
    text, charset = decode(data, declared)
    if not declared and charset.detected and (declared := declared_charset(data, _FAR)):
        return decode(data, declared)
    return text, charset


def declared_charset(head: bytes, most: int) -> str:
    """Return the charset that <meta> or an XML declaration in the first bytes names; "" if there is none."""
    if by_mark(head)[0]:
        return ""
    match = _META_CHARSET.search(head, 0, most) or XML_CHARSET.search(head, 0, most)
    return match[1].decode("ascii") if match else ""


def fold(text: str) -> str:
    """Fold white space as a browser does: one blank, or one line break if there was any; none at the ends."""
    for blank in _ASCII_BLANKS if text.isascii() else _BLANKS:
        if blank in text:
            text = text.replace(blank, " ")
    lines = [stripped for line in text.split("\n") if line and (stripped := line.strip(" "))]
    folded = "\n".join(lines)
    if "  " in folded:  # few lines have them, and splitting a line is expensive
        return "\n".join([" ".join(line.split()) if "  " in line else line for line in lines])
    return folded


def html_text(markup: str) -> str:
    """Return the visible text of an HTML document or fragment, one line for each block."""
    return _read(markup)[0]


def _read(markup: str) -> tuple[str, dict[str, str], DocumentError | None]:
    """Return text and metadata, and the error if the page has no end."""
    if _may_have_long_tag(markup):
        markup = _LONG_TAG.sub(_shortened, markup)
    if _XHTML in markup:
        markup = _CLOSED.sub(r"<\1\2></\1>", markup)
    if _TEMPLATES.search(markup):
        markup = _with_shadows(markup)
    content, metadata, whole = _shown(markup)
    if whole:
        return content, metadata, None
    content, metadata, _ = _shown(_opened(markup))
    detail = (
        "an element, comment or tag of the web page is not closed: a browser hides the rest; edbench reads it as text"
    )
    return content, metadata, truncated(detail)


def _shown(markup: str) -> tuple[str, dict[str, str], bool]:
    """Return text and metadata, and whether the text includes the end of the markup."""
    readings: list[str] = []
    if _RUBY.search(markup):
        readings = [text for name, text in _READING.findall(markup) if name]
        markup = _READING.sub("", markup)
    broken = f"{_BLOCK.sub(_BREAK, markup)}\n{_END}"
    if (tags := broken.count("<")) > MANY and tags - broken.count("</") > MANY:
        head, tree = _parsed(broken[:_HEAD]), _parsed(_flat(broken))
    else:
        head = tree = _parsed(broken)
    framed: list[str] = (
        [text for frame in tree.css("iframe[srcdoc]") if (text := frame.attributes["srcdoc"])]
        if _FRAMES.search(markup)
        else []
    )
    metadata = _metadata(head) if _HEADED.search(markup) else {}
    tree.strip_tags(["script", "style", "head", "template"])
    root = tree.body or tree.root
    content = fold(root.text()) if root is not None else ""
    whole = content.endswith(_END)
    if whole:
        content = content[: -len(_END)].rstrip()
    else:  # an element that the parser moves may come after it
        whole = _END in content or tree.css_first("frameset") is not None
        content = content.replace(_END, "").strip()
    framed += [" ".join(readings)] if readings else []
    inside = (_read(_SRCDOC.sub("", page))[0] for page in framed)  # without pages framed in these
    return "\n".join(filter(None, (content, *inside))), metadata, whole


def _parsed(markup: str) -> LexborHTMLParser:
    try:
        return LexborHTMLParser(markup)
    except (SelectolaxError, ValueError, RuntimeError) as error:
        raise corrupt(f"the HTML cannot be parsed: {error}") from error


def _may_have_long_tag(markup: str) -> bool:
    """Return whether `_LONG` consecutive characters are neither "<" nor ">". Such a run covers a multiple of `_LONG`,
    so only the surroundings of these positions are examined."""
    for at in range(_LONG, len(markup), _LONG):
        around = markup[at - _LONG : at], markup[at : at + _LONG]
        before = _LONG - 1 - max(map(around[0].rfind, "<>"))
        after = min(place if (place := around[1].find(mark)) >= 0 else _LONG for mark in "<>")
        if before + after >= _LONG:
            return True
    return False


def _shortened(tag: re.Match[str]) -> str:
    """Keep a long tag (an attribute may contain a picture), but reduced to its name if it has too many attributes."""
    return tag[1] if max(tag[0].count("="), len(tag[0].split(None, _ATTRIBUTES))) > _ATTRIBUTES else tag[0]


def _metadata(tree: LexborHTMLParser) -> dict[str, str]:
    titles = tree.tags("title")
    pairs: list[tuple[str, str | None]] = [("title", titles[0].text() if titles else None)]
    for node in tree.tags("meta"):
        given = node.attributes
        name = (given.get("name") or "").strip().lower()
        if name in ("author", "description", "keywords", "generator"):
            pairs.append(("application" if name == "generator" else name, given.get("content")))
    return clean.values(pairs)


class HtmlHandler(LeafHandler):
    """HTML and XHTML."""

    name = "html"
    declared = Declared(
        title="Web pages",
        extensions=("html", "htm", "xhtml"),
        text="the visible text, a line for each block",
        metadata=("title", "author", "description", "keywords", "application", *CHARSET_KEYS),
        children="pictures and other files in `data:` URIs, in order, named by type",
        leaves_out=(
            "scripts, styles, comments and attributes",
            "text that scripts would write, or would show from a template",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield each `data:` URI with a media type; one that is not base64 has a row without bytes."""
        data = source.whole(limits.parse_bytes)
        yield from carried(html_decode(data)[0]) if may_hold(data) else ()

    def text(self, source: Source, limits: Limits) -> Text:
        """Return the visible text; title, author, description, keywords and application as metadata."""
        data = source.whole(limits.parse_bytes)
        markup, detected = html_decode(data)
        content, metadata, error = _read(markup)
        collector = clean.Collector(limits.text_characters)
        collector.add(content)
        out = collector.result(detected=detected)
        out.metadata |= metadata
        out.error = error or unread_in(content)
        return out
