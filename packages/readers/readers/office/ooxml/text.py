"""Text of the parts of a document, workbook or presentation, in reading order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

from readers.clean import Collector, paired
from readers.errors import DocumentError, corrupt, keep_error, too_large
from readers.office.ooxml import kinds, parts, xlsb
from readers.office.ooxml import sheet as ooxml_sheet
from readers.office.ooxml.numbering import Lists
from readers.office.ooxml.package import Package
from readers.office.ooxml.xml import Element, attribute, elements, local, present, tree
from readers.text.xml_tree import flowing

# Text of a part other than its paragraphs: alternative text of pictures and shapes, text in the codes of fields.

# Attributes with text: title and description of pictures and shapes, for those who cannot see them (20.1.2.2.8), tool
# tips of links (17.16.22, 21.1.2.3.5), help and presets of forms (17.16.16, 17.16.31, 17.16.10), names of controls,
# descriptions of tables (17.4.62, 17.4.63).
TEXT_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("docPr", "cNvPr"), ("title", "descr")),
    **dict.fromkeys(("hyperlink", "hlinkClick", "hlinkHover", "hlinkMouseOver"), ("tooltip",)),
    **dict.fromkeys(("helpText", "statusText", "alias", "tblCaption", "tblDescription"), ("val",)),
    "hlink": ("dest", "screenTip"),  # in Word 2003, as are authors of comments
    "annotation": ("author",),
}
_PLAIN = frozenset(("docPr", "cNvPr"))  # elements whose attributes have no namespace
TAGS = (*TEXT_ATTRIBUTES, "textInput", "fldSimple", "instrText", "delInstrText")
_BEGINS = re.compile(r"\s*[A-Za-z]{2,}(?:\s|\Z)")
# Fields with an address; those that show their codes, because they have no results (ECMA-376 part 1, 17.16.5).
_LEADS = re.compile(r"\s*HYPERLINK\s+(?:\"([^\"]*)|([^\s\"\\]\S*))", re.IGNORECASE)
_SHOWN = re.compile(r"\s*(?:EQ|(?:MACROBUTTON|GOTOBUTTON)\s+\S+)\s+(.*\S)", re.IGNORECASE | re.DOTALL)


class AttributeTexts:
    """Collector of such text from elements in their order; each line once."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._code: list[str] = []
        self._open = False  # a quotation mark is open

    def texts(self, element: Element) -> Iterator[str]:
        """Yield the texts of an element with one of these names."""
        name = local(element)
        if name in TEXT_ATTRIBUTES:
            value_of = element.get if name in _PLAIN else partial(attribute, element)
            for text in filter(None, map(value_of, TEXT_ATTRIBUTES[name])):
                yield from self._once(text)
            return
        if name == "textInput":
            for default in element.iterchildren("{*}default"):
                yield from self._once(attribute(default, "val"))
            return
        if name == "fldSimple":  # a complete code in an attribute (17.16.19)
            yield from self._leads(attribute(element, "instr"))
            return
        code = element.text or ""
        # Programs split the code of a field anywhere; the next field begins with its word.
        if _BEGINS.match(code) and (not self._open or _LEADS.match(code) or _SHOWN.match(code)):
            yield from self.rest()
        self._code.append(code)
        self._open ^= code.count('"') % 2 == 1

    def rest(self) -> Iterator[str]:
        """Yield the text of the last field."""
        code, self._code, self._open = "".join(self._code).strip(), [], False
        yield from self._leads(code)

    def _leads(self, code: str) -> Iterator[str]:
        if found := _LEADS.match(code) or _SHOWN.match(code):
            yield from self._once(next(filter(None, found.groups()), ""))

    def _once(self, text: str) -> Iterator[str]:
        line = " ".join(text.split())
        if line and line not in self._known:
            self._known.add(line)
            yield line


def chosen(choices: Element) -> str:
    """Return the chosen entry of a list in a form (17.16.9, 17.16.28), which is in no run."""
    entries = [entry for entry in choices if local(entry) == "listEntry"]
    numbers = {local(one): attribute(one, "val") for one in choices if local(one) in ("result", "default")}
    number = numbers.get("result", numbers.get("default", "0"))[:9]
    return attribute(entries[int(number)], "val") if number.isdecimal() and int(number) < len(entries) else ""


# Texts of the older drawings of a workbook (VML, ECMA-376 part 4, 19): buttons, boxes and labels, which are stored
# nowhere else, and letters that make shapes. The boxes of notes are there too; their text is in the notes.

_MOST_VML = 16_000_000  # bytes of one drawing
_DATA, _NOTE, _PATH = b"<x:ClientData", b'ObjectType="Note"', b"textpath"


def vml_texts(package: Package, name: str) -> Iterator[str]:
    """Yield the text of each shape. Excel writes HTML into them that is not well-formed XML, so syntax errors are no
    sign of damage. Raises DocumentError as `Package.pieces` does."""
    data = b"".join(package.pieces(name))
    if (
        _PATH not in data and data.count(_NOTE) >= data.count(_DATA) > 0
    ):  # nothing but notes, of which there may be thousands
        return
    if len(data) > _MOST_VML:
        raise too_large(f"a drawing with buttons and boxes has {len(data):,} bytes, too many to read")
    root, _ = tree(data)
    for shape in () if root is None else root.iter("{urn:schemas-microsoft-com:vml}*"):
        client = shape.find("{*}ClientData")
        if client is None or client.get("ObjectType") != "Note":
            yield from _of_shape(shape)


def _of_shape(shape: Element) -> Iterator[str]:
    for part in shape.iterchildren("{*}textbox", "{*}textpath"):
        if text := " ".join(" ".join((part.get("string") or "", *flowing(part))).split()):
            yield text


_RUN = frozenset(
    ("t", "delText", "tab", "ptab", "br", "cr", "noBreakHyphen", "softHyphen", "textpath", "ddList", "sym")
)
_OF_PARAGRAPH = tuple("{*}" + name for name in ("p", "rt", *_RUN))
_MANY = 8  # paragraphs, from which on it is worth checking which tags a part has
# The font Symbol has Greek letters in the places of Latin ones; w:sym names a place of a font, from U+F000 on (17.3.3.30).
_SYMBOLS = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz\xa3\xa5\xac\xae\xb3\xb4\xb7\xb9",
    "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ≤∞←→≥×•≠",
)
_OF_FONTS = 0xF000
_ESCAPED = re.compile(r"(?:_x[0-9A-Fa-f]{4}_)+")
_MARKS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "softHyphen": "\xad"}
_CHARTS = ("chart", "chartex")
_DRAWN = ("drawing", "chartshapes", "diagramdata", *_CHARTS)
_CACHED = ("strCache", "multiLvlStrCache", "strLit", "strDim")  # strings of a chart's series and categories
_NUMBERED = ("main", "header", "footer", "footnotes", "endnotes", "comments")  # parts of a document that have lists
_MASTERS = ("slidemaster", "slidelayout", "notesmaster", "handoutmaster")


def paragraph(element: Element, tags: tuple[str, ...] = _OF_PARAGRAPH) -> str:
    """Return the text of one w:p or a:p, including deleted text, without paragraphs inside it."""
    out: list[str] = []
    for node in element.iterdescendants(*tags):
        name = local(node)
        if name == "p":
            return "".join([_run(own, local(own)) for own in _own(element) if local(own) in _RUN])
        if name == "rt":
            return _with_readings(element)
        out.append(_run(node, name))
    return "".join(out)


def _with_readings(element: Element) -> str:
    """Return the text of a paragraph, then the readings of its characters (17.3.3.24), which would split words."""
    texts: tuple[list[str], list[str]] = [], []
    for node in _own(element):
        if local(node) in _RUN:
            texts[next(node.iterancestors("{*}rt"), None) is not None].append(_run(node, local(node)))
    return " ".join(map("".join, texts))


def _run(element: Element, name: str) -> str:
    if name in ("t", "delText"):
        return element.text or ""
    if name == "textpath":  # letters that make a shape, as a watermark's do (ECMA-376 part 4, 19.1.2.23)
        return f" {string} " if (string := element.get("string")) else ""
    if name == "ddList":
        return chosen(element)
    if name == "sym":
        return _sign(attribute(element, "font"), attribute(element, "char"))
    if name == "tab" and local(element.getparent()) != "r":  # w:tab in w:tabs defines a tab stop
        return ""
    return _MARKS[name]


def _sign(font: str, place: str) -> str:
    """Return the character at a position of a font; a blank for a font of signs other than Symbol."""
    try:
        character = chr(int(place, 16) % _OF_FONTS if font == "Symbol" else int(place, 16))
    except (ValueError, OverflowError):
        return " "
    if font == "Symbol":
        return character.translate(_SYMBOLS)
    return character if ord(character) < _OF_FONTS and character.isprintable() else " "


def unescaped(text: str) -> str:
    """Return the text of a workbook or presentation with the characters decoded that XML does not allow, which are
    written as _x000B_ (ECMA-376 part 1, 22.9.2.19); control characters become line breaks."""
    return _ESCAPED.sub(_characters, text) if "_x" in text else text


def _characters(escaped: re.Match[str]) -> str:
    codes = (int(escaped[0][at : at + 4], 16) for at in range(2, len(escaped[0]), 7))
    return paired("".join("\n" if code < 0x20 else chr(code) for code in codes))


def _own(element: Element) -> Iterator[Element]:
    """Yield everything below a paragraph, in order, without the content of paragraphs inside it."""
    waiting = list(reversed(element))
    while waiting:
        node = waiting.pop()
        if local(node) != "p":
            yield node
            waiting.extend(reversed(node))


def paragraphs(package: Package, name: str) -> Iterator[str]:
    """Yield the paragraphs of a part, without empty ones, and its text outside them."""
    return _lines(package, name, paragraph)


def _numbered(package: Package, name: str, lists: Lists) -> Iterator[str]:
    """Yield the same with the labels of lists before them; also a label without text."""
    counts = lists.counts()
    return _lines(package, name, lambda p, tags: "\t".join(filter(None, (lists.label(counts, p), paragraph(p, tags)))))


def _lines(package: Package, name: str, line_of: Callable[[Element, tuple[str, ...]], str]) -> Iterator[str]:
    attribute_texts, tags, count = AttributeTexts(), _OF_PARAGRAPH, 0
    trees: list[Element] = []
    for element in elements(package.pieces(name), "p", *TAGS, whole=trees.append):
        if local(element) != "p":
            yield from attribute_texts.texts(element)
            continue
        count += 1
        if count == _MANY and trees:
            tags = present(trees[0], tags)
        if line := line_of(element, tags):
            yield line
    yield from attribute_texts.rest()


def _plain(package: Package, name: str, *tags: str) -> Iterator[str]:
    """Yield all character data below each element with one of these names (comments of spreadsheets and slides)."""
    for element in elements(package.pieces(name), *tags):
        if text := "".join(piece for piece in element.itertext() if isinstance(piece, str)).strip():
            yield text


class Reader:
    """Reader of the text of one package; it keeps the first error and continues with the next part."""

    def __init__(self, package: Package, collector: Collector) -> None:
        self._package, self._collector = package, collector
        self._read: set[str] = set()
        self.error: DocumentError | None = None
        self.slides: int | None = None

    def read(self, family: str) -> None:
        """Read all parts, in order; `family` is word, xl, xlsb, ppt or visio."""
        families: dict[str, Callable[[], None]] = {
            "word": self._document,
            "xl": partial(self._workbook, binary=False),
            "xlsb": partial(self._workbook, binary=True),
            "ppt": self._presentation,
            "visio": self._drawing,
        }
        families[family]()
        self._rest()
        self._take("", self._package.addresses())
        if self._package.missing:
            self.error = self.error or corrupt(f"{self._package.missing} referenced parts with text are missing")

    def _rest(self) -> None:
        """Read parts that contain words but no text, and those of unknown kinds."""
        package = self._package
        for name, role in package.roles.items():
            words = kinds.WORDS.get(role)
            if words is None and (role in kinds.KNOWN or name.startswith("customxml/") or not name.endswith(".xml")):
                continue
            if name.endswith(".bin"):
                self._take(name, xlsb.words(package, name))
            elif words is not None:
                self._take(name, parts.distinct_lines(package, name, words))
            else:
                self._take(name, parts.unknown(package, name))

    def _take(self, name: str, lines: Iterator[str]) -> None:
        """Add the lines of a part, once, up to the limit of characters."""
        if name in self._read or self._collector.cut:
            return
        self._read.add(name)
        with keep_error(self):
            self._collector.lines(lines)

    def _paragraphs(self, *roles: str) -> None:
        for name in self._package.having(*roles):
            charted = self._package.roles.get(name) in _CHARTS
            self._take(name, (_charted if charted else paragraphs)(self._package, name))

    def _document(self) -> None:
        lists: Lists | None = None
        with keep_error(self):
            lists = Lists(self._package)
        for name in self._package.having(*_NUMBERED) if lists is not None and lists.any else ():
            self._take(name, _numbered(self._package, name, lists))
        self._paragraphs(*_NUMBERED, *_DRAWN, "glossary")
        for name in self._package.having("glossary"):
            self._take(f"words of {name}", parts.distinct_lines(self._package, name, kinds.GLOSSARY))
        self._authors("comments")

    def _workbook(self, *, binary: bool) -> None:
        package = self._package
        form = xlsb if binary else ooxml_sheet
        book = xlsb.BinaryWorkbook(package) if binary else ooxml_sheet.Workbook(package)
        with keep_error(self):
            book.load()
        for title, name in book.sheets:
            self._take(name, form.lines(package, name, title, book))
        self._take("missing sheets", iter(book.gone))
        self.error = self.error or book.damage()
        for name in package.having("comments"):
            self._take(name, form.comments(package, name))
        for name in package.having("threadedcomments"):
            self._take(name, _plain(package, name, "text"))
        self._authors("person")
        self._take("words of the workbook", iter(book.own_words))
        for name in package.having("main") if binary else ():
            self._take(f"words of {name}", xlsb.words(package, name, xlsb.NAMES))
        self._paragraphs(*_DRAWN)
        for name in sorted(name for name in package.names if name.endswith(".vml")):
            self._take(name, vml_texts(package, name))
        for name in package.having("pivotcachedefinition", "pivotcacherecords"):
            if name.endswith(".bin"):
                self._take(name, xlsb.words(package, name))
            else:
                self._take(name, parts.pivot(package, name))
                with keep_error(self):
                    self._read.update(package.related(name).values())

    def _drawing(self) -> None:
        """Read a Visio drawing ([MS-VSDX] 2.2.3): the text of each page's shapes, then comments."""
        pages = self._package.having("page")
        self.slides = len(pages) or None
        for name in pages:
            self._take(name, _plain(self._package, name, "Text"))
        for name in self._package.having("comments"):
            self._take(name, _plain(self._package, name, "CommentEntry"))

    def _presentation(self) -> None:
        package = self._package
        slides, own = self._in_order()
        self.slides = len(slides) or None
        for slide in slides:
            self._slide(slide)
        for name in package.having("notesslide", "comments", *_DRAWN):
            self._slide_part(name)
        self._authors("commentauthors", "authors")
        for name in package.having(*_MASTERS):
            self._take(name, _added(package, name))
        self._take("words of the presentation", iter(own))

    def _authors(self, *roles: str) -> None:
        for name in self._package.having(*roles):
            self._take(f"who wrote {name}", _authors(self._package, name))

    def _in_order(self) -> tuple[list[str], dict[str, None]]:
        """Return slides as listed, then unlisted ones; and lines of its own words, each once."""
        listed: list[str] = []
        own: dict[str, None] = {}
        with keep_error(self):
            for main in self._package.having("main"):
                related = self._package.related(main)
                for element in elements(self._package.pieces(main), "sldId", *kinds.PRESENTATION):
                    if local(element) in kinds.PRESENTATION:
                        own[parts.line_of(element, kinds.PRESENTATION)] = None
                        continue
                    targets = (related.get(str(v)) for k, v in element.attrib.items() if str(k).endswith("}id"))
                    listed.extend(name for name in targets if name and self._package.roles.get(name) == "slide")
        own.pop("", None)
        return list(dict.fromkeys([*listed, *self._package.having("slide")])), own

    def _slide(self, name: str) -> None:
        """Read a slide, then its notes, comments and drawings."""
        self._take(name, paragraphs(self._package, name))
        related: dict[str, str] = {}
        with keep_error(self):
            related = self._package.related(name)
        for other in related.values():
            if self._package.roles.get(other) in ("notesslide", "comments", *_DRAWN):
                self._slide_part(other)

    def _slide_part(self, name: str) -> None:
        if self._package.roles.get(name) == "comments":
            texts = _plain(self._package, name, "text")  # in the older form; in the threaded one they are paragraphs
            self._take(name, chain(texts, paragraphs(self._package, name)))
        elif self._package.roles.get(name) in _CHARTS:
            self._take(name, _charted(self._package, name))
        else:
            self._take(name, paragraphs(self._package, name))


def _authors(package: Package, name: str) -> Iterator[str]:
    """Yield the authors of the comments in a part, or in a part of authors: name and initials, each once (ECMA-376 part
    1, 17.13.4.2, 19.4.2)."""
    known: set[str] = set()
    for element in elements(package.pieces(name), "comment", "cmAuthor", "author", "person"):
        for key, value in element.attrib.items():
            if (
                str(key).rpartition("}")[2] in ("author", "name", "displayName", "initials")
                and value
                and value not in known
            ):
                known.add(str(value))
                yield str(value)


def _charted(package: Package, name: str) -> Iterator[str]:
    """Yield titles and labels of a chart, and the cached names of its series and categories, whose sheet may be
    elsewhere (ECMA-376 part 1, 21.2; [MS-ODRAWXML]); each once."""
    seen: set[str] = set()
    for element in elements(package.pieces(name), "p", "tx", *_CACHED):
        if local(element) == "p":
            lines = [paragraph(element)]
        elif local(element) == "tx":  # a name that is not from a sheet is stored here (21.2.2.215)
            lines = [child.text or "" for child in element if local(child) == "v"]
        else:
            lines = [text.strip() for text in element.itertext() if isinstance(text, str)]
        for line in lines:
            if line and line not in seen:
                seen.add(line)
                yield line


def _added(package: Package, name: str) -> Iterator[str]:
    """Yield paragraphs that a master or layout adds to every slide, without the prompts of its placeholders (ECMA-376
    part 1, 19.3.1.36)."""
    prompts: dict[Element, bool] = {}  # by shape, so that each is examined once
    for element in elements(package.pieces(name), "p"):
        shape = next(element.iterancestors("{*}sp", "{*}graphicFrame"), None)
        if shape is not None and shape not in prompts:
            prompts[shape] = shape[0].find("{*}nvPr/{*}ph") is not None
        if not (shape is not None and prompts[shape]) and (text := paragraph(element)):
            yield text
