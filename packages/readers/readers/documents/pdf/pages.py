"""Content of the pages of a PDF: their text, comments and form fields, and the files attached to places on them.

It calls PDFium directly: the objects that pypdfium2 wraps around a page and its text cost more than a short page."""

from __future__ import annotations

import ctypes
import functools
import math
import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from ctypes import c_double
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from msgspec import Struct

from readers.documents.pdf.packed import inflated, may_mention

# Blanks between words that PDFium omits.

TextPage = Any  # raw.FPDF_TEXTPAGE, a ctypes pointer made at import
_WITH_BLANKS = r"[^\W\d_\u0590-\u08ff\u0e00-\U0010ffff]"  # of scripts with blanks that are written from left to right
_LONGEST = 22  # letters; nearly all words have fewer (German has the longest)
_LONG = re.compile(f"{_WITH_BLANKS}{{{_LONGEST},}}")
_SUSPICIOUS = 2  # such runs of a page
_STUCK = re.compile(r"[a-z]{2}(?:[,;][^\W\d_]|[.:)][A-Z])[a-z]")
_MARKS = bytes(
    1 if chr(byte) in ",;.:)" else 2 if chr(byte).isalpha() or chr(byte) == "?" else 0 for byte in range(256)
)
_MAYBE_STUCK = re.compile(rb"\x01\x02")  # a mark before a letter: at least as many as `_STUCK` finds
_NO_SPACE = bytes(0 if chr(byte).isspace() else 1 for byte in range(256))
_LONG_RUN = b"\x01" * _LONGEST
_MANY_STUCK = 4  # on a page: addresses, and lists without blanks, have some
_MAYBE = "\xad"
_LETTERS = re.compile(_WITH_BLANKS + "{2,}")
# In heights of a line: how much wider than within a word, and the same for letters with too few known positions.
_APART, _FAR_APART, _FEW = 0.1, 0.2, 5
_FEWEST = 40  # pairs of letters; with fewer there is no estimate


def put_in(text_page: TextPage, text: str) -> str:
    """Return the text of a page with the blanks that the positions of its letters imply. It is unchanged if fewer than
    two runs of letters are too long (one may be a word) and no words are joined."""
    between = _between(text)
    gaps = _gaps(text_page, text) if between and raw.FPDFText_CountChars(text_page) == len(text) else {}
    if len(gaps) < _FEWEST:
        return text
    every = _quarter(gaps.values())
    places: defaultdict[str, list[float]] = defaultdict(list)
    for at, gap in gaps.items():
        places[text[at - 1]].append(gap)
    limits = {
        letter: _quarter(known) + _APART if len(known) >= _FEW else every + _FAR_APART
        for letter, known in places.items()
    }
    apart = [at for at, gap in gaps.items() if gap > limits[text[at - 1]]]
    if between == _MAYBE:  # single letters are spaced letters
        apart = [at for at in apart if text[at - 2 : at + 2].isalpha()]
    return between.join([text[start:stop] for start, stop in zip([0, *apart], [*apart, len(text)], strict=True)])


def _between(text: str) -> str:
    """Return what to insert between joined words: a blank, or a mark that may be one; "" if there is no sign of such
    words."""
    raw = text.encode("latin-1", "replace")  # its bytes show faster that there are none, as on nearly all pages
    if _LONG_RUN in raw.translate(_NO_SPACE) and len(set(_LONG.findall(text))) >= _SUSPICIOUS:
        return " "
    stuck = len(_MAYBE_STUCK.findall(raw.translate(_MARKS))) >= _MANY_STUCK and len(_STUCK.findall(text)) >= _MANY_STUCK
    return _MAYBE if stuck else ""


def _gaps(text_page: TextPage, text: str) -> dict[int, float]:
    """Return the distance of each letter from the letter before it in a line without a blank, by its position and in
    order, in heights of the line. Empty if the characters are not those of the text."""
    box = raw.FS_RECTF()
    lefts, rights, feet, heads = array("f"), array("f"), array("f"), array("f")
    for at, character in enumerate(text):
        # Letters of right-to-left scripts may have been reordered.
        if (
            character.isalpha()
            and not "\u0590" <= character < "\u0900"
            and raw.FPDFText_GetUnicode(text_page, at) != ord(character)
        ):
            return {}
        found = raw.FPDFText_GetLooseCharBox(text_page, at, box)
        lefts.append(box.left if found else 0.0)
        rights.append(box.right if found else 0.0)
        feet.append(box.bottom if found else 0.0)
        heads.append(box.top if found else 0.0)
    return {
        at: (lefts[at] - rights[at - 1]) / (heads[at] - feet[at])
        for run in _LETTERS.finditer(text)
        for at in range(run.start() + 1, run.end())
        if feet[at] == feet[at - 1] < heads[at]
    }


def _quarter(gaps: Iterable[float]) -> float:
    known = sorted(gaps)
    return known[len(known) // 4]


# Glyphs that stand for several letters in right-to-left text, as lam-alef.

# Two letters of such scripts, or a letter and its marks (Hebrew, Arabic, Syriac, Thaana, N'Ko, and what is beyond 16 bits).
_LETTER = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff"
_RUNS = re.compile(f"[{_LETTER}]{{2,}}")
_OTHERS = bytes({*range(256)} - {*range(0x05, 0x09), *range(0xD8, 0xDC), *range(0xFB, 0xFF)})  # upper bytes in UTF-16
_PRESENTATION = (range(0xFB1D, 0xFE00), range(0xFE70, 0xFF00))
_STREAM, _END = b"stream", b"endstream"
_MOST = 32_000_000  # bytes of streams that are searched for maps


def maps(data: bytes) -> bytes:
    """Return the ToUnicode maps of a document that is not encrypted, without blanks, their digits in capitals. They are
    streams, which are never packed into others."""
    found: list[bytes] = []
    at, left = data.find(_STREAM), _MOST
    while at >= 0 and left > 0:
        behind = at + len(_STREAM)
        if not data.startswith(_END, at - 3):
            content, after = inflated(data, behind, left)
            if content is None:
                after = data.find(_END, behind)
                content = data[behind:after]
            left -= len(content)
            if b"beginbf" in content:
                found.append(b"".join(content.upper().split()))
            behind = max(behind, after)
        at = data.find(_STREAM, behind)
    return b"".join(found)


def in_order(text_page: TextPage, text: str, mapped: Callable[[], bytes]) -> str:
    """Return the text with each such glyph's letters in logical order; `mapped` returns the `maps`."""
    # The upper bytes show in a quarter of the time that there are none, as in most texts.
    upper = text.encode("utf-16-le", "surrogatepass")[1::2]
    runs = list(_RUNS.finditer(text)) if upper.translate(None, _OTHERS) else []
    if not runs:
        return text
    direct = raw.FPDFText_CountChars(text_page) == len(text)
    left, right, bottom, top = c_double(), c_double(), c_double(), c_double()

    def place(at: int) -> tuple[float, ...]:
        index = at if direct else raw.FPDFText_GetCharIndexFromTextIndex(text_page, at)
        if not raw.FPDFText_GetCharBox(text_page, index, left, right, bottom, top):
            return ()
        return left.value, right.value, bottom.value, top.value

    pieces, done = [], 0
    for run in runs:
        begin, here = run.start(), place(run.start())
        for at in range(run.start() + 1, run.end() + 1):
            there = place(at) if at < run.end() else ()
            if there and there == here:
                continue
            if at - begin > 1 and here[0] < here[1] and _is_turned(group := text[begin:at], mapped):
                pieces += [text[done:begin], group[::-1]]
                done = at
            begin, here = at, there
    return "".join([*pieces, text[done:]])


def _is_turned(group: str, mapped: Callable[[], bytes]) -> bool:
    """Return whether one glyph's letters are reversed: they are letters, not a decomposed ligature."""
    classes = {unicodedata.bidirectional(letter) for letter in group}
    if not classes & {"R", "AL"} or not classes <= {"R", "AL", "NSM"} or group == group[::-1]:
        return False
    ligatures = _taken_apart().get(group)
    return ligatures is None or (
        _mapped_to(group[::-1], mapped()) and not any(_mapped_to(one, mapped()) for one in ligatures)
    )


def _mapped_to(letters: str, maps: bytes) -> bool:
    return b"<%b>" % letters.encode("utf-16-be").hex().upper().encode() in maps


@functools.cache
def _taken_apart() -> dict[str, list[str]]:
    """Return the presentation forms of Unicode that decompose into several characters, by these characters."""
    forms: dict[str, list[str]] = {}
    for code in (code for some in _PRESENTATION for code in some):
        for form in {unicodedata.normalize("NFKD", chr(code)), unicodedata.normalize("NFKC", chr(code))}:
            if len(form) > 1:
                forms.setdefault(form, []).append(chr(code))
    return forms


Page = Any  # raw.FPDF_PAGE, a ctypes pointer made at import
Annotation = Any  # raw.FPDF_ANNOTATION
Attachment = Any  # raw.FPDF_ATTACHMENT
MOST_NAMES = 10_000  # different addresses, authors and names of fields of a document
_LOOKED_AT, _NEARLY = 32, 0.1  # sampled letters of a page, and their tolerance in radians
_PIECES, _PIECES_A_LETTER = 20, 4  # a piece of text gives at least one letter, unless it repeats another for bold
_LINES = 100  # ends of lines and curves drawn on a page: a few drawn letters have as many, a frame has fewer
_ELEMENTS = 20_000  # elements of the structure of a page that are examined
_DRAWINGS = 1_000  # objects of a page without text that are examined
_FIRST_BUFFER = 8192  # characters of a page; a fuller one gets a larger buffer
_TICKED = (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)
_CHOSEN = (raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX)
_FILLED_IN = (raw.FPDF_FORMFIELD_TEXTFIELD, *_CHOSEN)
_OPTIONS = 1_000  # entries of a list that are examined
_DRAWN = (raw.FPDF_ANNOT_STAMP, raw.FPDF_ANNOT_FREETEXT)  # their visible text may be in none of their strings
_MAY_SHOW = (None, raw.FPDF_FORMFIELD_PUSHBUTTON, raw.FPDF_FORMFIELD_TEXTFIELD)  # text of their own
_SHOW_NO_TEXT = (
    *(raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_TEXT, raw.FPDF_ANNOT_HIGHLIGHT, raw.FPDF_ANNOT_INK),
    *(raw.FPDF_ANNOT_UNDERLINE, raw.FPDF_ANNOT_SQUIGGLY, raw.FPDF_ANNOT_STRIKEOUT, raw.FPDF_ANNOT_FILEATTACHMENT),
)
# Annotations that play: films, sounds, Flash, 3D models (ISO 32000-1, 12.5.6.16 to 12.5.6.18, 13.6; Adobe's extension).
_PLAYED = (
    *(raw.FPDF_ANNOT_SOUND, raw.FPDF_ANNOT_MOVIE, raw.FPDF_ANNOT_SCREEN),
    *(raw.FPDF_ANNOT_THREED, raw.FPDF_ANNOT_RICHMEDIA),
)


def utf16(data: bytes) -> str:
    """Decode UTF-16 from PDFium, without its NUL at the end; halves of characters are dropped."""
    return data[:-2].decode("utf-16-le", "ignore")


class Content(Struct, frozen=True):
    """The content of a page."""

    texts: tuple[str, ...]  # its text, then its comments and form fields
    bare: bool  # something is drawn on it (a scan, mostly), and no text
    played: int  # places on it where something plays
    mute: bool = False  # most of its text gives no letters
    pictured: bool = False  # it is bare, and the drawing may contain words: more than a frame or a rule


class Pages:
    """Pages of an open document, one at a time. They include form values if the document's forms are initialised before
    the first page is read (pdfium.PdfDocument.init_forms)."""

    def __init__(self, document: pdfium.PdfDocument, data: bytes) -> None:
        self._document = document.raw
        self._maps = functools.cache(lambda: maps(data))
        tagged = raw.FPDFCatalog_IsTagged(document.raw)
        self._describes = tagged and any(may_mention(data, name) for name in (b"/Alt", b"/ActualText"))
        self._form = document.formenv.raw if document.formenv else None
        self._buffer = (ctypes.c_ushort * _FIRST_BUFFER)()
        self._known: set[str] = set()  # addresses of links and authors of comments: each once
        self.omitted = 0  # number of those that were omitted

    def __len__(self) -> int:
        return int(raw.FPDF_GetPageCount(self._document))

    def _load(self, index: int) -> Page:
        page = raw.FPDF_LoadPage(self._document, index)
        if not page:
            raise pdfium.PdfiumError("the page cannot be read")
        if self._form is not None:
            raw.FORM_OnAfterLoadPage(page, self._form)
        return page

    def _close(self, page: Page) -> None:
        if self._form is not None:
            raw.FORM_OnBeforeClosePage(page, self._form)
        raw.FPDF_ClosePage(page)

    def content(self, index: int) -> Content:
        """Return the content of a page. Raises pdfium.PdfiumError if it cannot be read."""
        page = self._load(index)
        try:
            text = self._text(page)
            bare = not text.strip() and raw.FPDFPage_CountObjects(page) > 0
            pictured = bare and _is_pictured(page)
            mute = _is_mute(page, len(text))
            upon, drawn, played = self._upon(page)
            texts = (text, *upon, *self._described(page, text))
            drawn = drawn and raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY) == raw.FLATTEN_SUCCESS
        finally:
            self._close(page)
        return Content((*texts, self._added(index, texts)) if drawn else texts, bare, played, mute, pictured)

    def _described(self, page: Page, text: str) -> Iterator[str]:
        """Yield replacement texts in the structure of the page (ISO 32000-1, 14.9.3, 14.9.4)."""
        tree = raw.FPDF_StructTree_GetForPage(page) if self._describes else None
        if not tree:
            return
        try:
            waiting = [
                raw.FPDF_StructTree_GetChildAtIndex(tree, at) for at in range(raw.FPDF_StructTree_CountChildren(tree))
            ]
            for element in filter(None, waiting):
                if len(waiting) < _ELEMENTS:
                    count = raw.FPDF_StructElement_CountChildren(element)
                    waiting += [raw.FPDF_StructElement_GetChildAtIndex(element, at) for at in range(count)]
                for ask in (raw.FPDF_StructElement_GetAltText, raw.FPDF_StructElement_GetActualText):
                    words = self._once(read_text(functools.partial(ask, element)))
                    if words and words not in text:
                        yield words
        finally:
            raw.FPDF_StructTree_Close(tree)

    def _upon(self, page: Page) -> tuple[list[str], bool, int]:
        """Return the texts of a page's annotations, whether one of them shows something recorded nowhere else, and how
        many play."""
        texts: list[str] = []
        drawn, played = False, 0
        for annotation in _annotations(page):
            subtype = raw.FPDFAnnot_GetSubtype(annotation)
            texts += self._texts_of(annotation, subtype)
            drawn = drawn or self._is_drawn(annotation, subtype)
            played += subtype in _PLAYED
        return texts, drawn, played

    def _is_drawn(self, annotation: Annotation, subtype: int) -> bool:
        """Return whether its content (12.5.5) is recorded nowhere else: for stamps, signature fields, and others that
        show text and have none."""
        if subtype in _DRAWN:
            return True
        if subtype == raw.FPDF_ANNOT_WIDGET:
            kind = raw.FPDFAnnot_GetFormFieldType(self._form, annotation) if self._form is not None else None
            if kind not in _MAY_SHOW or _field_value(self._form, annotation):
                return bool(kind == raw.FPDF_FORMFIELD_SIGNATURE)
        elif subtype in _SHOW_NO_TEXT:
            return False
        normal = raw.FPDF_ANNOT_APPEARANCEMODE_NORMAL
        shown = read_text(lambda buffer, length: raw.FPDFAnnot_GetAP(annotation, normal, buffer, length))
        return "Tj" in shown or "TJ" in shown

    def _added(self, index: int, known: tuple[str, ...]) -> str:
        """Return the lines that a page gained when its annotations were drawn into it."""
        lines = {line.strip() for text in known for line in text.split("\n")}
        page = self._load(index)
        try:
            return "\n".join(line for line in self._text(page).split("\n") if line.strip() not in lines)
        finally:
            self._close(page)

    def attached(self, index: int) -> Iterator[Attachment]:
        """Yield files attached to places on a page, each valid until the next is requested. Raises pdfium.PdfiumError
        if the page cannot be read."""
        page = self._load(index)
        try:
            for annotation in _annotations(page):
                if raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_FILEATTACHMENT:
                    yield raw.FPDFAnnot_GetFileAttachment(annotation)
        finally:
            self._close(page)

    def _text(self, page: Page) -> str:
        r"""Return the text with `\\n` line ends; a word hyphenated at a line's end (U+FFFE) has a soft hyphen there:
        the index contains it whole and in its parts."""
        text_page = _text_page(page)
        try:
            count = raw.FPDFText_CountChars(text_page)
            if count <= 0:
                return ""
            if 2 * count + 2 > len(self._buffer):  # a character outside UCS-2 takes two
                self._buffer = (ctypes.c_ushort * (1 << (2 * count + 1).bit_length()))()
            written = raw.FPDFText_GetText(text_page, 0, count, self._buffer)
            text = in_order(text_page, utf16(ctypes.string_at(self._buffer, 2 * written)), self._maps)
            text = put_in(text_page, text)
        finally:
            raw.FPDFText_ClosePage(text_page)
        if "\ufffe" in text:
            text = text.replace("\ufffe\r\n", "\xad").replace("\ufffe", "\xad")
        return text.replace("\r\n", "\n")

    def _texts_of(self, annotation: Annotation, subtype: int) -> Iterator[str]:
        if subtype == raw.FPDF_ANNOT_POPUP:
            return
        if subtype == raw.FPDF_ANNOT_LINK:
            text = self._address(annotation)
        elif subtype != raw.FPDF_ANNOT_WIDGET:
            text = _string(annotation, b"Contents") or _rich(annotation, b"RC") or _string(annotation, b"OverlayText")
        else:
            yield from filter(None, map(self._once, _field_names(self._form, annotation)))
            text = _field_value(self._form, annotation) or _rich(annotation, b"RV")
        if text.strip():
            yield text.replace("\r\n", "\n").replace("\r", "\n")
        if subtype not in (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_WIDGET):  # author and subject of a comment
            yield from filter(None, map(self._once, (_string(annotation, b"T"), _string(annotation, b"Subj"))))

    def _address(self, annotation: Annotation) -> str:
        """Return the external address of a link, or the file that it opens; "" for one that was included before."""
        action = raw.FPDFLink_GetAction(raw.FPDFAnnot_GetLink(annotation))
        kind = raw.FPDFAction_GetType(action) if action else None
        if kind == raw.PDFACTION_URI:
            read = functools.partial(raw.FPDFAction_GetURIPath, self._document, action)
        elif kind in (raw.PDFACTION_REMOTEGOTO, raw.PDFACTION_LAUNCH):
            read = functools.partial(raw.FPDFAction_GetFilePath, action)
        else:
            return ""
        length = read(None, 0)
        buffer = ctypes.create_string_buffer(max(1, length))
        read(buffer, length)
        return self._once(buffer.value.decode("utf-8", "replace"))

    def _once(self, text: str) -> str:
        """Return the text, or "" if the document already gave it."""
        text = text.strip()
        if not text or text in self._known:
            return ""
        if len(self._known) >= MOST_NAMES:
            self.omitted += 1
            return ""
        self._known.add(text)
        return text


def _text_page(page: Page) -> TextPage:
    """Return the text of a page, to be closed. A page that is upside down is turned first, because PDFium would split
    its lines. Raises pdfium.PdfiumError."""
    text_page = raw.FPDFText_LoadPage(page)
    if text_page and _is_upside_down(text_page):
        raw.FPDFText_ClosePage(text_page)
        turned = raw.FPDFPage_GetRotation(page)
        raw.FPDFPage_SetRotation(page, (turned + 2) % 4)
        text_page = raw.FPDFText_LoadPage(page)
        raw.FPDFPage_SetRotation(page, turned)
    if not text_page:
        raise pdfium.PdfiumError("the text of this PDF page cannot be read")
    return text_page


def _is_upside_down(text_page: TextPage) -> bool:
    """Return whether most letters of a page are upside down, judged by a sample of them."""
    count = raw.FPDFText_CountChars(text_page)
    some = range(0, count, max(1, count // _LOOKED_AT))
    upright = 0
    for at in some:
        upright += not abs(raw.FPDFText_GetCharAngle(text_page, at) - math.pi) < _NEARLY
        if 2 * upright >= len(some):
            return False
    return bool(count > 0)


def _is_mute(page: Page, letters: int) -> bool:
    """Return whether a page has far more pieces of text than letters: its fonts do not map to characters."""
    count = raw.FPDFPage_CountObjects(page)
    least = _PIECES + _PIECES_A_LETTER * letters
    if count < least:
        return False
    kinds = (raw.FPDFPageObj_GetType(raw.FPDFPage_GetObject(page, at)) for at in range(count))
    return bool(sum(kind == raw.FPDF_PAGEOBJ_TEXT for kind in kinds) >= least)


def _is_pictured(page: Page) -> bool:
    """Return whether a page shows a picture, or as many lines as drawn letters have."""
    lines = 0
    for kind, drawn in _drawn(page):
        if kind == raw.FPDF_PAGEOBJ_PATH:
            lines += raw.FPDFPath_CountSegments(drawn)
        if kind == raw.FPDF_PAGEOBJ_IMAGE or lines >= _LINES:
            return True
    return False


def _drawn(page: Page) -> Iterator[tuple[int, Any]]:
    """Yield kind and object of up to `_DRAWINGS` drawings, including those in forms (ISO 32000-1, 8.10)."""
    count = min(raw.FPDFPage_CountObjects(page), _DRAWINGS)
    waiting = [raw.FPDFPage_GetObject(page, at) for at in range(count)]
    for looked in range(_DRAWINGS):
        if looked == len(waiting):
            return
        drawn = waiting[looked]
        kind = raw.FPDFPageObj_GetType(drawn)
        yield kind, drawn
        if kind == raw.FPDF_PAGEOBJ_FORM and len(waiting) < _DRAWINGS:
            count = min(raw.FPDFFormObj_CountObjects(drawn), _DRAWINGS)
            waiting += [raw.FPDFFormObj_GetObject(drawn, at) for at in range(count)]


def _annotations(page: Page) -> Iterator[Annotation]:
    """Yield the annotations that can be loaded, each closed before the next is opened."""
    for index in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        if annotation:
            try:
                yield annotation
            finally:
                raw.FPDFPage_CloseAnnot(annotation)


def _string(annotation: Annotation, key: bytes) -> str:
    return read_text(lambda buffer, length: raw.FPDFAnnot_GetStringValue(annotation, key, buffer, length))


def _rich(annotation: Annotation, key: bytes) -> str:
    """Return the text of an entry in XHTML (12.7.3.4)."""
    if not (markup := _string(annotation, key)):
        return ""
    from readers.text.html import html_text  # few documents need it

    return html_text(markup)


def _field_names(form: raw.FPDF_FORMHANDLE | None, annotation: Annotation) -> Iterator[str]:
    """Yield the displayed name of a field, and its full name (ISO 32000-1, 12.7.3.1). Names in forms that programs make
    from XML are numbered and are omitted, as are those of signature fields."""
    if form is None or raw.FPDFAnnot_GetFormFieldType(form, annotation) == raw.FPDF_FORMFIELD_SIGNATURE:
        return
    yield read_text(lambda buffer, length: raw.FPDFAnnot_GetFormFieldAlternateName(form, annotation, buffer, length))
    name = read_text(lambda buffer, length: raw.FPDFAnnot_GetFormFieldName(form, annotation, buffer, length))
    yield "" if "[" in name else name


def _field_value(form: raw.FPDF_FORMHANDLE | None, annotation: Annotation) -> str:
    """Return the value that was filled in, chosen or ticked, in the field or one of its ancestors (ISO 32000-1,
    12.7.3.1); "" for push buttons."""
    if form is None:
        return _string(annotation, b"V")
    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    options = range(min(raw.FPDFAnnot_GetOptionCount(form, annotation), _OPTIONS) if kind in _CHOSEN else 0)
    if chosen := [at for at in options if raw.FPDFAnnot_IsOptionSelected(form, annotation, at)]:
        ask = functools.partial(raw.FPDFAnnot_GetOptionLabel, form, annotation)
        return "\n".join(read_text(functools.partial(ask, at)) for at in chosen)
    if kind in _TICKED and raw.FPDFAnnot_IsChecked(form, annotation):
        return read_text(lambda buffer, length: raw.FPDFAnnot_GetFormFieldExportValue(form, annotation, buffer, length))
    if kind not in _FILLED_IN:
        return ""
    return read_text(lambda buffer, length: raw.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, length))


def read_text(ask: Callable[[Any, int], int]) -> str:
    """Return a text of PDFium, whose functions first return its number of bytes and then fill a buffer of that size."""
    length = ask(None, 0)
    if length <= 2:  # only the terminator
        return ""
    buffer = ctypes.create_string_buffer(length)
    ask(ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), length)
    return utf16(buffer.raw)
