"""HTML: the text people see, without markup, scripts and styles."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from readers import clean
from readers.base import Child, Handler, LeafHandler, Part, Source, Text
from readers.charset import CHARSET_KEYS, Detected, decode
from readers.charset_labels import XML_CHARSET, by_mark
from readers.declared import Declared
from readers.errors import DocumentError, ExceptionCode
from readers.records import Kind, Limits
from readers.text.html import data_uri, shadow, unclosed
from readers.text.html.flat import MANY, either_case, flat

# Elements that end a line, and those that are boxes of their own. A line break is put before each of their tags before parsing, so that
# "<td>a<td>b" gives two words and "wo<b>rd</b>" one; a walk over the tree in Python would cost ten times as much.
_BLOCK_NAMES = (
    "p|d(?:[dlt]|iv|etails|esc|i(?:alog|r))|t(?:[drh]|able|body|foot|head|itle|ext(?:area)?)|b(?:r|lockquote|utton)|l(?:i|egend|isting)"
    "|h(?:[1-6]|r|eader|group)|ul|o(?:l|pt(?:ion|group)|bject)|f(?:ieldset|igcaption|igure|ooter|orm|oreignobject|rameset)"
    "|s(?:ection|ummary|elect|vg|earch)|a(?:ddress|rticle|side|udio)|c(?:a(?:ption|nvas)|enter)|m(?:ain|enu|arquee|eter)"
    "|n(?:av|o(?:script|embed|frames))|i(?:nput|frame)|xmp|pre|plaintext|progress|video"
)


_BREAK = "\n<"
_BLOCK = re.compile(f"<(?=/?(?:{either_case(_BLOCK_NAMES)})(?![A-Za-z0-9]))")
# What str.split() takes for white space, but the blank and the line break.
_BLANKS = tuple(chr(c) for c in range(0x3001) if chr(c).isspace() and chr(c) not in " \n")
_ASCII_BLANKS = tuple(c for c in _BLANKS if c.isascii())
_META_CHARSET = re.compile(rb"<meta\b[^>]{0,512}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:+-]{2,40})", re.IGNORECASE)
_PRESCAN = 4096
_FAR = 1 << 18  # bytes, where there is no other evidence
_HEADED = re.compile("<(?:[tT][iI][tT][lL][eE]|[mM][eE][tT][aA])")
_XHTML = "xmlns"  # or what templates make pages of
# Elements that a reader of HTML would take for open: all that follows would be their text, which is not shown.
_CLOSED = re.compile(r"<(title|script|style|textarea|iframe|noframes|noscript|xmp)((?:\s[^<>]*)?)/>", re.IGNORECASE)
_HEAD = 16_384  # characters of a page with very many tags in which its metadata has to be


# The parser's time grows with the square of a tag's attributes too (measured: 20,000 of them 2 s).
_LONG = 15_000
_LONG_TAG = re.compile(rf"(<[a-zA-Z][a-zA-Z0-9]*+)[^<>]{{{_LONG},}}")
_ATTRIBUTES = 2000


def html_decode(data: bytes, label: str = "") -> tuple[str, Detected]:
    """Return the markup and the charset that was found: that of `label`, which its container declares, else
    the one that the page itself declares. A browser looks at the first kilobyte for that; without other evidence more
    is searched."""
    declared = label or declared_charset(data, _PRESCAN)
    text, charset = decode(data, declared)
    if not declared and charset.detected and (declared := declared_charset(data, _FAR)):
        return decode(data, declared)
    return text, charset


def declared_charset(head: bytes, most: int) -> str:
    """The charset that <meta> or an XML declaration in the first bytes names; "" when none does."""
    if by_mark(head)[0]:
        return ""
    match = _META_CHARSET.search(head, 0, most) or XML_CHARSET.search(head, 0, most)
    return match[1].decode("ascii") if match else ""


def fold(text: str) -> str:
    """White space as a browser shows it: one blank, or one line break where there was any; none at the ends."""
    for blank in _ASCII_BLANKS if text.isascii() else _BLANKS:
        if blank in text:
            text = text.replace(blank, " ")
    lines = [stripped for line in text.split("\n") if line and (stripped := line.strip(" "))]
    folded = "\n".join(lines)
    if "  " in folded:  # few lines have some, and taking a line apart is what costs
        return "\n".join([" ".join(line.split()) if "  " in line else line for line in lines])
    return folded


def html_text(markup: str) -> str:
    """The visible text of an HTML document or fragment, one line for each block."""
    return _read(markup)[0]


def _read(markup: str) -> tuple[str, dict[str, str], DocumentError | None]:
    """Text and metadata, and what is wrong where the page has no end."""
    if _may_have_long_tag(markup):
        markup = _LONG_TAG.sub(_shortened, markup)
    if _XHTML in markup:
        markup = _CLOSED.sub(r"<\1\2></\1>", markup)
    if any(name in markup for name in shadow.NAMES):
        markup = shadow.shown(markup)
    content, metadata, whole = _shown(markup)
    if whole:
        return content, metadata, None
    content, metadata, _ = _shown(unclosed.opened(markup))
    detail = "an element, comment or tag of the web page is never closed: a browser shows nothing of what follows; here it is read as text"
    return content, metadata, DocumentError(ExceptionCode.TRUNCATED, detail)


def _shown(markup: str) -> tuple[str, dict[str, str], bool]:
    """Text and metadata, and whether the text includes the end of the markup."""
    broken = f"{_BLOCK.sub(_BREAK, markup)}\n{unclosed.END}"
    if (tags := broken.count("<")) > MANY and tags - broken.count("</") > MANY:
        head, tree = _parsed(broken[:_HEAD]), _parsed(flat(broken))
    else:
        head = tree = _parsed(broken)
    framed = (
        [text for frame in tree.css("iframe[srcdoc]") if (text := frame.attributes["srcdoc"])]
        if "srcdoc" in markup
        else []
    )
    metadata = _metadata(head) if _HEADED.search(markup) else {}
    tree.strip_tags(["script", "style", "head", "template"])
    readings = ""
    if "<ruby" in markup:  # how characters are read: between them it would cut words
        readings = fold(" ".join(node.text() for node in tree.css("ruby rt")))
        tree.strip_tags(["rt", "rp"])
    root = tree.body or tree.root
    content = fold(root.text()) if root is not None else ""
    whole = content.endswith(unclosed.END)
    if whole:
        content = content[: -len(unclosed.END)].rstrip()
    else:  # an element that the parser moves may come after it
        whole = unclosed.END in content or tree.css_first("frameset") is not None
        content = content.replace(unclosed.END, "").strip()
    return "\n".join(filter(None, (content, readings, *map(_framed, framed)))), metadata, whole


def _framed(markup: str) -> str:
    """The text of a web page in an attribute of another (`srcdoc`); what is framed in it is left out."""
    return _read(markup.replace("srcdoc", ""))[0]


def _parsed(markup: str) -> LexborHTMLParser:
    try:
        return LexborHTMLParser(markup)
    except (SelectolaxError, ValueError, RuntimeError) as error:
        raise DocumentError(ExceptionCode.CORRUPT, f"the HTML cannot be parsed: {error}") from error


def _may_have_long_tag(markup: str) -> bool:
    """Whether anywhere `_LONG` characters follow one another that are neither "<" nor ">". Such a run covers a multiple
    of `_LONG`, so only the surroundings of these positions are examined."""
    for at in range(_LONG, len(markup), _LONG):
        around = markup[at - _LONG : at], markup[at : at + _LONG]
        before = _LONG - 1 - max(map(around[0].rfind, "<>"))
        after = min(place if (place := around[1].find(mark)) >= 0 else _LONG for mark in "<>")
        if before + after >= _LONG:
            return True
    return False


def _shortened(tag: re.Match[str]) -> str:
    """A long tag unchanged (an attribute may hold a picture), but its name alone when it has attributes without end."""
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
    media_types: tuple[str, ...] = ("text/html", "application/xhtml+xml")
    declared: tuple[Declared, ...] = (
        Declared(
            title="Web pages",
            extensions=("html", "htm", "xhtml"),
            text="what a reader sees, a line for each block",
            metadata=("title", "author", "description", "keywords", "application", *CHARSET_KEYS),
            children="pictures and other files given as data within the page (`data:` URIs), in order, named by type",
            leaves_out=(
                "scripts, styles, comments and attributes",
                "text that only scripts would write, or would show from a template",
            ),
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Each `data:` URI with a media type; one that is no base64 has a row without bytes."""
        data = source.whole(limits.parse_bytes)
        if not data_uri.may_hold(data):
            return
        for position, uri in enumerate(data_uri.data_uris(html_decode(data)[0])):
            content, error = uri.content()
            yield Child(
                name=uri.name(position).encode("ascii"),
                kind=Kind.EMBEDDED_OBJECT,
                ordinal=position,
                data=content,
                error=error,
                media_type=uri.media_type,
            )

    def text(self, source: Source, limits: Limits) -> Text:
        """Visible text; title, author, description, keywords and application as metadata."""
        data = source.whole(limits.parse_bytes)
        markup, detected = html_decode(data)
        content, metadata, error = _read(markup)
        collector = clean.Collector(limits.text_characters)
        collector.add(content)
        out = collector.read_in(detected)
        out.metadata |= metadata
        out.error = error
        return out


HANDLERS: tuple[Handler, ...] = (HtmlHandler(),)
