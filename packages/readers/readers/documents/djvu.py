"""DjVu documents (.djvu): the text layer of every page, the text of their links and outline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import djvu_rs

from readers import clean
from readers.base import Declared, LeafHandler, Source, Text
from readers.errors import DocumentError, ExceptionCode, FieldUnread, PagesWithoutText, corrupt, truncated
from readers.records import Limits, TextState

if TYPE_CHECKING:
    from djvu_rs import Bookmark, Document, Page

_BARE = 1_000  # pages without text that are listed
_ENDS = str.maketrans(dict.fromkeys("\x0b\x1d\x1f", "\n"))  # of columns, regions and paragraphs (DjVu 3, 8.3.5)
_LENGTH_AT, _HEADER = 8, 12  # bytes; of what follows them


class DjvuHandler(LeafHandler):
    """A document whose pages are in one file."""

    name = "djvu"
    declared = Declared(
        title="DjVu documents",
        extensions=("djvu", "djv"),
        text="the text layer of every page, addresses and descriptions of links, the outline",
        metadata=("title", "author", "doc_subject", "keywords", "pages_without_text"),
        leaves_out=(
            "pages without a text layer, even with `--ocr`: if all pages lack one, the state is `no text layer`; "
            "if some do, it is `partial`, the exception is `unsupported` and names them (the first 1,000); blank "
            "pages are not distinguished from others",
            "documents whose pages are in separate files: the exception is `unsupported`",
        ),
    ).alone()

    def text(self, source: Source, limits: Limits) -> Text:
        """Return the text of all pages, with the error `corrupt` if some cannot be read, `truncated` if the file breaks
        off."""
        data = source.whole(limits.parse_bytes)
        cut = len(data) < int.from_bytes(data[_LENGTH_AT:_HEADER], "big") + _HEADER
        try:
            document = djvu_rs.Document.from_bytes(data)
        except djvu_rs.Error as error:
            raise DocumentError(_code(str(error), cut), f"the DjVu document cannot be read: {error}") from error
        collector = clean.Collector(limits.text_characters)
        unreadable, bare, without = _collect(document, collector)
        about, titles, lost = _properties(document)
        collector.lines(titles)
        pages = document.page_count()
        out = collector.result(metadata=clean.values(about), pages=pages)
        if not out.text.strip():
            out.text, out.state = "", TextState.NO_TEXT_LAYER
        elif without and without == pages - unreadable:  # text of links and of an outline is not a text layer
            out.state = out.state or TextState.NO_TEXT_LAYER
        elif bare:
            out.metadata["pages_without_text"] = clean.written(bare)
        if cut:
            out.error = truncated("the DjVu document is shorter than its header states")
        elif behind := len(data[int.from_bytes(data[_LENGTH_AT:_HEADER], "big") + _HEADER :].strip(b"\0")):
            out.error = FieldUnread(
                ExceptionCode.CORRUPT, f"{behind:,} bytes after the end of the document were not read"
            )
        elif unreadable:
            out.error = corrupt(f"{unreadable} of {out.pages} pages cannot be read")
        elif lost:
            out.error = corrupt(f"its outline or its properties cannot be read: {lost}")
        elif bare and out.state is not TextState.NO_TEXT_LAYER:
            out.error = PagesWithoutText(
                ExceptionCode.UNSUPPORTED, f"{without} of {out.pages} pages have no text layer"
            )
        return out


def _code(message: str, cut: bool) -> ExceptionCode:
    if "indirect" in message:
        return ExceptionCode.UNSUPPORTED
    return ExceptionCode.TRUNCATED if cut else ExceptionCode.CORRUPT


def _collect(document: Document, collector: clean.Collector) -> tuple[int, list[int], int]:
    """Collect the text of the pages; return how many cannot be read, the numbers (from 1) of the first pages without
    text, and how many pages have none."""
    unreadable, bare, without = 0, list[int](), 0
    for number in range(document.page_count()):
        try:
            page = document.page(number)
            text = (page.text() or "").translate(_ENDS)
            links = list(_links(page))
        except djvu_rs.Error:
            unreadable += 1
            continue
        if not text.strip():
            without += 1
            bare += [number + 1] if len(bare) < _BARE else []
        for piece in (text, *links):
            if piece and not (collector.add(piece) and collector.add("\n")):
                return unreadable, bare, without
    return unreadable, bare, without


def _links(page: Page) -> Iterator[str]:
    """Yield descriptions of links, and addresses outside of the document."""
    for area in (page.annotations() or (None, []))[1]:
        yield area["description"]
        if not area["url"].startswith("#"):
            yield area["url"]


def _properties(document: Document) -> tuple[Iterable[tuple[str, str | None]], list[str], str]:
    """Return the properties, the titles of the outline, and the error if they are damaged."""
    try:
        return _about(document), list(_titles(document)), ""
    except djvu_rs.Error as error:
        return (), [], str(error)


def _titles(document: Document) -> Iterator[str]:
    """Yield the titles of the outline, in order."""
    todo: list[Bookmark] = document.bookmarks()[::-1]
    while todo:
        entry = todo.pop()
        yield entry["title"]
        todo += entry["children"][::-1]


def _about(document: Document) -> Iterable[tuple[str, str | None]]:
    known = document.metadata()
    if known is None:
        return ()
    return (
        ("title", known["title"]),
        ("author", known["author"]),
        ("doc_subject", known["subject"]),
        ("keywords", known["keywords"]),
    )
