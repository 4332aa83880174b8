"""The pages of one item, whatever it is: a PDF's or a picture's from the box, text that is typeset, or a slip sheet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from PIL import Image

from core.errors import DocumentError, ExceptionCode
from core.options.choices import OcrChoice
from core.records import Item
from formats.base import Source
from formats.registry import handler_for
from worker.items.findings import Findings
from worker.items.guard import guarded
from worker.items.texts import take_text
from worker.ocr.candidates import PDF, PICTURES
from worker.ocr.page import Page
from worker.ocr.pages import rendering_of
from worker.ocr.rendering import Rendering
from worker.office.kinds import KINDS
from worker.phases.producing.imaging.choice import MOST_PAGES
from worker.phases.producing.imaging.office import kept
from worker.phases.producing.imaging.typeset import A4_INCHES, drawn, typeset
from worker.phases.task import TaskWork

_MAIL = ("message/rfc822", "application/vnd.ms-outlook")
_TEXTS = (*_MAIL, "text/plain", "text/csv", "text/html", "text/calendar", "text/vcard")
_NETPBM = re.compile(rb"P([456]) ([0-9]{1,5}) ([0-9]{1,5})( 255)?\n")
_HEAD = ("from", "to", "cc", "bcc", "date", "subject")


class Leaves(Protocol):
    """Pages of one item while it is open."""

    @property
    def count(self) -> int:
        """How many there are: at least one."""

    @property
    def lost(self) -> AbstractSet[str]:
        """Characters of the pages drawn so far that are not to be seen as they should."""

    def leaf(self, number: int) -> tuple[Image.Image, int]:
        """Page `number` (from 0) and its dots an inch. Raises DocumentError."""


@contextmanager
def leaves_of(work: TaskWork, item: Item, source: Source | None, choice: OcrChoice, time_zone: str) -> Iterator[Leaves]:
    """Open an item; dates that note no zone are in `time_zone`, as when it was found. Raises DocumentError where it cannot be imaged, and why."""
    limits = work.job.options.limits
    if source is None or item.size == 0:
        raise DocumentError(ExceptionCode.ZERO_BYTES, "it has no bytes")
    media_type = item.media_type
    if media_type in KINDS:
        source, media_type = kept(work, item), PDF
    if media_type == PDF or media_type in PICTURES:
        with rendering_of(source, media_type, limits, choice) as rendering:
            _refuse_many(rendering.count)
            yield Rendered(rendering, choice.dpi)
    elif media_type in _TEXTS:
        pages = typeset(_text(work, item, source, time_zone), MOST_PAGES)
        _refuse_many(len(pages))
        yield Typeset(pages, choice.dpi)
    else:
        raise DocumentError(ExceptionCode.UNSUPPORTED, f"nothing here draws {media_type}")


def _refuse_many(count: int) -> None:
    if not 0 < count <= MOST_PAGES:
        what = "it has no page" if count < 1 else f"{count:,} pages; imaging takes {MOST_PAGES:,} at most"
        raise DocumentError(ExceptionCode.TOO_LARGE if count else ExceptionCode.CORRUPT, what)


def _text(work: TaskWork, item: Item, source: Source, time_zone: str) -> str:
    found, limits = Findings(), work.job.options.limits
    with guarded:
        body, row = take_text(item, source, handler_for(item.media_type), limits, found, time_zone)
    if found.exceptions and not body:
        raise DocumentError(found.exceptions[0].code, found.exceptions[0].detail)
    if item.media_type not in _MAIL:
        return body
    head = [f"{name.title() + ':':10}{_said(row.metadata[name])}" for name in _HEAD if row.metadata.get(name)]
    return "\n".join((*head, "", body))


def _said(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


@dataclass(frozen=True, slots=True)
class Rendered:
    """What the box draws."""

    rendering: Rendering
    dpi: int
    lost: frozenset[str] = frozenset()

    @property
    def count(self) -> int:
        return self.rendering.count

    def leaf(self, number: int) -> tuple[Image.Image, int]:
        with guarded:
            page = self.rendering.page(number)
        if page is None:  # one colour all over
            return Image.new("L", tuple(round(side * self.dpi) for side in A4_INCHES), 255), self.dpi  # type: ignore[arg-type]
        return picture(page), page.dpi


def picture(page: Page) -> Image.Image:
    """What the box sent, believed as far as it is right: PBM, PGM or PPM with as many bytes as that takes."""
    head = _NETPBM.match(page.data)
    if head is None or (head[1] == b"4") is (head[4] is not None):
        raise DocumentError(ExceptionCode.CORRUPT, "the page was not rendered to a picture")
    kind, width, height = head[1].decode(), int(head[2]), int(head[3])
    mode, raw, row = {"4": ("1", "1;I", -(-width // 8)), "5": ("L", "L", width), "6": ("RGB", "RGB", 3 * width)}[kind]
    samples = memoryview(page.data)[head.end() :]
    if width * height == 0 or len(samples) != row * height:
        raise DocumentError(ExceptionCode.CORRUPT, f"a page of {width} x {height} pixels has other bytes than that")
    image = Image.new(mode, (width, height), None)  # not filled: all of it comes now
    image.frombytes(samples, "raw", raw)
    return image


@dataclass(frozen=True, slots=True)
class Typeset:
    """Text."""

    pages: Sequence[Sequence[str]]
    dpi: int
    lost: set[str] = field(default_factory=set)  # what is drawn as a box, or in the wrong order

    @property
    def count(self) -> int:
        return len(self.pages)

    def leaf(self, number: int) -> tuple[Image.Image, int]:
        return drawn(self.pages[number], self.dpi, self.lost), self.dpi


def slip_sheet(lines: Sequence[str], dpi: int) -> tuple[Image.Image, int]:
    """The page that stands for what could not be drawn."""
    return drawn(["", "", "", *lines], dpi), dpi
