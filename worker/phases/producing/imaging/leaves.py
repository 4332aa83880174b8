"""The pages of one item, whatever it is: a PDF's or a picture's from the box, text that is typeset, or a slip sheet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from PIL import Image

from core.options.choices import OcrChoice
from core.records import JobOptions
from readers.base import Source
from readers.errors import DocumentError, ExceptionCode
from readers.records import TextState
from readers.registry import handler_for
from sql.findings import Item
from worker.items.findings import Findings
from worker.items.guard import guarded
from worker.items.texts import take_text
from worker.ocr.candidates import PDF, PICTURES
from worker.ocr.page import Page
from worker.ocr.pages import Rendering, rendering_of
from worker.office.converting import KINDS
from worker.phases.producing.imaging.choice import MOST_PAGES
from worker.phases.producing.imaging.office import kept
from worker.phases.producing.imaging.typeset import A4_INCHES, drawn, typeset
from worker.phases.task import TaskWork

_MAIL = ("message/rfc822", "application/vnd.ms-outlook")
_TEXTS = (*_MAIL, "text/plain", "text/csv", "text/html", "text/calendar", "text/vcard")
_NETPBM = re.compile(rb"P([456]) ([0-9]{1,5}) ([0-9]{1,5})( 255)?\n")
_SHOWN = 200  # characters of what is said of an exception
_HEAD = ("from", "to", "cc", "bcc", "date", "subject")


class Leaves(Protocol):
    """Pages of one item while it is open."""

    @property
    def count(self) -> int:
        """How many there are: at least one."""

    @property
    def lost(self) -> AbstractSet[str]:
        """Characters of the pages drawn so far that are not to be seen as they should."""

    @property
    def faults(self) -> Sequence[DocumentError]:
        """What of the item its pages lack although it could be opened."""

    def leaf(self, number: int) -> tuple[Image.Image, int]:
        """Page `number` (from 0) and its dots an inch. Raises DocumentError."""


@contextmanager
def leaves_of(
    work: TaskWork, item: Item, source: Source | None, choice: OcrChoice, found_by: JobOptions
) -> Iterator[Leaves]:
    """Open an item under the limits of the job that found it, and with its time zone. Raises DocumentError where it cannot be
    imaged, and why."""
    limits = found_by.limits
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
        text, faults = text_of(item, source, found_by)
        pages = typeset(text, MOST_PAGES)
        _refuse_many(len(pages))
        yield Typeset(pages, choice.dpi, faults)
    else:
        raise DocumentError(ExceptionCode.UNSUPPORTED, f"there is no renderer for {media_type}")


def _refuse_many(count: int) -> None:
    if not 0 < count <= MOST_PAGES:
        what = "it has no pages" if count < 1 else f"{count:,} pages; imaging renders at most {MOST_PAGES:,}"
        raise DocumentError(ExceptionCode.TOO_LARGE if count else ExceptionCode.CORRUPT, what)


def text_of(item: Item, source: Source, found_by: JobOptions) -> tuple[str, tuple[DocumentError, ...]]:
    """The text as the index has it, of mail its fields first, and what went wrong beside it. Where some of it is missing the
    last line says so. Raises DocumentError where there is none, and why."""
    found = Findings()
    with guarded:
        body, row = take_text(item, source, handler_for(item.media_type), found_by.limits, found, found_by.time_zone)
    faults = tuple(DocumentError(one.code, one.detail) for one in found.exceptions)
    if faults and not body:
        raise faults[0]
    head: list[str] = []
    if item.media_type in _MAIL:
        head = [f"{name.title() + ':':10}{_said(row.metadata[name])}" for name in _HEAD if row.metadata.get(name)]
        head.append("")
    mark: list[str] = []
    if row.state is TextState.TRUNCATED_BY_LIMIT:
        mark = ["", f"[The text is cut here, after {len(body):,} characters.]"]
    elif faults:
        mark = ["", f"[The text is incomplete: {faults[0].code}: {faults[0].detail[:_SHOWN]}]"]
    return "\n".join((*head, body, *mark)), faults


def _said(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


@dataclass(frozen=True, slots=True)
class Rendered:
    """What the box draws."""

    rendering: Rendering
    dpi: int
    lost: frozenset[str] = frozenset()
    faults: tuple[DocumentError, ...] = ()

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
        raise DocumentError(ExceptionCode.CORRUPT, "the page was not rendered to an image")
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
    faults: Sequence[DocumentError] = ()
    lost: set[str] = field(default_factory=set)  # what is drawn as a box, or in the wrong order

    @property
    def count(self) -> int:
        return len(self.pages)

    def leaf(self, number: int) -> tuple[Image.Image, int]:
        return drawn(self.pages[number], self.dpi, self.lost), self.dpi


def slip_sheet(lines: Sequence[str], dpi: int) -> tuple[Image.Image, int]:
    """The page that stands for what could not be drawn."""
    return drawn(["", "", "", *lines], dpi), dpi
