"""Candidates for OCR, and the tasks that they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from core.records import NewTask, OcrChoice, Phase
from readers import clean as page_numbers
from readers.records import TextState
from sql.findings import Item, ItemText

PICTURES = ("image/png", "image/jpeg", "image/tiff", "image/bmp", "image/webp", "image/gif")
PDF = "application/pdf"
_WITH_TEXT = (TextState.OK, TextState.PARTIAL)
LEAST_PIXELS = 16  # on either side: no word fits into less (spacers and beacons in mail)
PAGES_A_TASK = 8
_PAGE_WEIGHT = 1_000_000  # a page takes about a second of CPU time, as a few megabytes of an index task do


def is_candidate(item: Item, row: ItemText) -> bool:
    """Return whether OCR may find text: a picture or PDF without text, that tesseract or PDFium can read and that may
    have a word, or a PDF of which some pages have no text."""
    if item.container or item.sha256 is None:
        return False
    if item.media_type == PDF and row.state in _WITH_TEXT:
        return bool(bare_pages(row))
    if row.state is not TextState.NO_TEXT_LAYER:
        return False
    if item.media_type == PDF:
        return True
    sides = (row.metadata.get("width"), row.metadata.get("height"))
    return item.media_type in PICTURES and all(isinstance(s, int) and s >= LEAST_PIXELS for s in sides)


def bare_pages(row: ItemText) -> list[int]:
    """Return the pages (from 0) without text of an item whose other pages have text; [] if there are none, or no text
    at all."""
    if row.state not in _WITH_TEXT:
        return []
    return [number - 1 for number in page_numbers.read(row.metadata.get("pages_without_text", ""))]


def tasks(candidates: Iterable[tuple[Item, ItemText]], choice: OcrChoice) -> Iterator[NewTask]:
    """Yield tasks of a few pages each; an item is never divided."""
    batch: list[Item] = []
    pages = 0
    for item, row in candidates:
        more = max(1, min(len(bare_pages(row)) or row.pages, choice.pages))
        if batch and pages + more > PAGES_A_TASK:
            yield _task(batch, pages)
            batch, pages = [], 0
        batch.append(item)
        pages += more
    if batch:
        yield _task(batch, pages)


def _task(items: list[Item], pages: int) -> NewTask:
    weight = pages * _PAGE_WEIGHT + sum(item.size for item in items)
    return NewTask(phase=Phase.OCR, weight=weight, payload={"items": [item.id.hex for item in items]})
