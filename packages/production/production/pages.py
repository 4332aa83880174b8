"""The pages of an item: opens it, or renders it with LibreOffice; draws a page; writes it as TIFF, JPEG or PDF with its
number."""

from __future__ import annotations

import io
import json
import math
import os
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Literal, cast

from PIL import Image, ImageDraw

from core.errors import SourceFileError, StorageFault
from core.names import display_name
from core.options import OcrChoice
from core.places import rendered_location
from core.records import JobOptions, Limits
from production.options import DPI, IMAGE_FORMAT, ProductionChoice
from production.typesetting import A4_INCHES, drawn, font, typeset
from readers.base import Source
from readers.errors import DocumentError, ExceptionCode
from readers.records import TextState
from readers.registry import handler_for
from sql.findings import Item
from sql.items import ITEMS
from worker.items.findings import Findings
from worker.items.guard import guarded
from worker.items.sources import FilerSource
from worker.items.texts import take_text
from worker.ocr.candidates import PDF, PICTURES
from worker.ocr.page import Page
from worker.ocr.pages import Rendering, rendering_of
from worker.ocr.picture_pages import black_and_white
from worker.office.converting import KINDS, Converter, Document, OfficeUnavailable, Verdict, find_office
from worker.phases.task import TaskWork
from worker.slots.breadcrumb import Activity

MOST_PAGES = 2_000  # of one item; one with more gets a slip sheet
Format = Literal["tiff", "jpeg", "pdf"]


@dataclass(frozen=True, slots=True)
class ImagingChoice:
    """The format and resolution of pages. TIFF is black and white (CCITT group 4), PDF the same with one PDF for each
    page, JPEG in colour."""

    format: Format = "tiff"
    dpi: int = 300

    @classmethod
    def of(cls, choice: ProductionChoice) -> ImagingChoice:
        """Return the choice in a job's options."""
        extras = dict(choice.extras)
        return cls(cast(Format, extras.get(IMAGE_FORMAT, "tiff")), int(extras.get(DPI, "300")))

    @property
    def rendering(self) -> OcrChoice:
        """The request to the sandbox."""
        return OcrChoice(dpi=self.dpi, drawn=True, colour=self.format == "jpeg", bilevel=self.format != "jpeg")


_PDF = b"%PDF-"
_REFUSED = {  # of an item with one of these exceptions, LibreOffice would draw only a part without an error
    ExceptionCode.ENCRYPTED: "it is encrypted, and edbench passes no passwords to LibreOffice",
    ExceptionCode.EXPANSION_LIMIT: "discovery found that it expands beyond the limits; raise them and run the discovery again",
}


def keep_rendered(
    work: TaskWork, sources: Iterable[tuple[Item, Source | DocumentError, Limits]], check: Callable[[], None]
) -> None:
    """Render those of a task's items that need LibreOffice and that no earlier claim of this task has rendered, each
    under its own limits. A DocumentError in place of a source is the reason why the item must not be read. `check` is
    called if a source could not be read, and raises StorageFault if that is not the source's fault. Raises
    StorageFault, SystemFault."""
    wanted: list[tuple[Item, Document]] = []
    for item, source, limits in sources:
        if _is_there(work, item):
            continue
        if isinstance(source, DocumentError):
            _keep(work, item.id, source)
        else:
            wanted.append((item, Document(item.media_type, source, limits)))
    if not wanted:
        return
    with work.database.transaction() as conn:
        codes = set(ITEMS.item_codes(conn, items=[item.id for item, _ in wanted]))
    breadcrumb = work.context.breadcrumb
    breadcrumb.doing(Activity.RENDERING)
    try:
        office = find_office()
    except OfficeUnavailable as error:
        for item, _ in wanted:
            _keep(
                work,
                item.id,
                DocumentError(ExceptionCode.UNSUPPORTED, f"there is no renderer for {item.media_type}: {error}"),
            )
        return
    left = []
    for item, document in wanted:
        if reason := next((code for code in _REFUSED if (item.id, code) in codes), None):
            _keep(work, item.id, DocumentError(reason, _REFUSED[reason]))
        elif (part := KINDS[item.media_type].part) not in office.parts:
            _keep(work, item.id, DocumentError(ExceptionCode.UNSUPPORTED, f"LibreOffice on this host has no {part}"))
        else:
            left.append((item, document))
    converter = Converter(office, work.context.scratch.absolute(), work.job.options.limits, breadcrumb.alive)
    if not left:
        return
    for place, verdict in converter.converted([document for _, document in left]):
        if isinstance(verdict, SourceFileError):
            check()
        _keep(work, left[place][0].id, verdict)


def kept(work: TaskWork, item: Item) -> Source:
    """Return the rendered PDF. Raises DocumentError with the reason if the item could not be rendered; StorageFault if
    the file is missing."""
    path = _path(work, item.id)
    try:
        with work.storage.open(path) as file:
            size = file.size
    except SourceFileError as error:
        raise StorageFault(
            f"{display_name(path)}, which the job made from an item, is missing ({error.detail}); cancel the job "
            "and create it again",
            errno=error.errno,
        ) from error
    source = FilerSource(work.storage, path, b"rendered.pdf", size, own=True)
    if source.head.startswith(_PDF):
        return source
    code, detail = json.loads(source.whole(1 << 16))
    raise DocumentError(ExceptionCode(code), detail)


def _is_there(work: TaskWork, item: Item) -> bool:
    try:
        work.storage.stat(_path(work, item.id))
    except SourceFileError as error:
        if error.code is ExceptionCode.VANISHED:
            return False
        raise
    return True


def _keep(work: TaskWork, item: uuid.UUID, verdict: Verdict) -> None:
    content = verdict if isinstance(verdict, bytes) else json.dumps([verdict.code, verdict.detail]).encode()
    work.storage.write_file(_path(work, item), (content,))


def _path(work: TaskWork, item: uuid.UUID) -> bytes:
    return os.path.join(work.root, rendered_location(work.job.id, item))


_MAIL = ("message/rfc822", "application/vnd.ms-outlook")
_TEXTS = (*_MAIL, "text/plain", "text/csv", "text/html", "text/calendar", "text/vcard")
_NETPBM = re.compile(rb"P([456]) ([0-9]{1,5}) ([0-9]{1,5})( 255)?\n")
_SHOWN = 200  # characters of an exception's detail
_HEAD = ("from", "to", "cc", "bcc", "date", "subject")


@dataclass(frozen=True, slots=True)
class Leaves:
    """Pages of one item while it is open."""

    count: int  # at least one
    leaf: Callable[[int], tuple[Image.Image, int]]  # page (from 0) and its dots an inch; raises DocumentError
    faults: Sequence[DocumentError] = ()  # parts of the item that its pages lack although it could be opened
    lost: AbstractSet[str] = frozenset()  # characters of the pages drawn so far: as a box, or in the wrong order


@contextmanager
def leaves_of(
    work: TaskWork, item: Item, source: Source | None, choice: OcrChoice, found_by: JobOptions
) -> Iterator[Leaves]:
    """Open an item under the limits of the job that found it, and with its time zone. Raises DocumentError with the
    reason if it cannot be imaged."""
    limits = found_by.limits
    if source is None or item.size == 0:
        raise DocumentError(ExceptionCode.ZERO_BYTES, "it has no bytes")
    media_type = item.media_type
    if media_type in KINDS:
        source, media_type = kept(work, item), PDF
    if media_type == PDF or media_type in PICTURES:
        with rendering_of(source, media_type, limits, choice) as rendering:
            _refuse_many(rendering.count)
            yield Leaves(rendering.count, partial(_rendered, rendering, choice.dpi))
    elif media_type in _TEXTS:
        text, faults = text_of(item, source, found_by)
        pages = typeset(text, MOST_PAGES)
        _refuse_many(len(pages))
        lost: set[str] = set()
        yield Leaves(len(pages), lambda number: (drawn(pages[number], choice.dpi, lost), choice.dpi), faults, lost)
    else:
        raise DocumentError(ExceptionCode.UNSUPPORTED, f"there is no renderer for {media_type}")


def _refuse_many(count: int) -> None:
    if not 0 < count <= MOST_PAGES:
        what = "it has no pages" if count < 1 else f"it has {count:,} pages; at most {MOST_PAGES:,} are rendered"
        raise DocumentError(ExceptionCode.TOO_LARGE if count else ExceptionCode.CORRUPT, what)


def text_of(item: Item, source: Source, found_by: JobOptions) -> tuple[str, tuple[DocumentError, ...]]:
    """Return the text as in the index, for mail with its fields first, and the failures recorded with it. If some of
    the text is missing the last line reports it. Raises DocumentError with the reason if there is no text."""
    found = Findings()
    with guarded:
        body, row = take_text(item, source, handler_for(item.media_type), found_by.limits, found, found_by.time_zone)
    faults = tuple(DocumentError(one.code, one.detail) for one in found.exceptions)
    if faults and not body:
        raise faults[0]
    head: list[str] = []
    if item.media_type in _MAIL:
        head = [f"{name.title() + ':':10}{_joined(row.metadata[name])}" for name in _HEAD if row.metadata.get(name)]
        head.append("")
    mark: list[str] = []
    if row.state is TextState.TRUNCATED_BY_LIMIT:
        mark = ["", f"[The text is cut here, after {len(body):,} characters.]"]
    elif faults:
        mark = ["", f"[The text is incomplete: {faults[0].code}: {faults[0].detail[:_SHOWN]}]"]
    return "\n".join((*head, body, *mark)), faults


def _joined(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _rendered(rendering: Rendering, dpi: int, number: int) -> tuple[Image.Image, int]:
    """Return a page that the sandbox draws."""
    with guarded:
        page = rendering.page(number)
    if page is None:  # one colour all over
        return Image.new("L", tuple(round(side * dpi) for side in A4_INCHES), 255), dpi  # type: ignore[arg-type]
    return picture(page), page.dpi


def picture(page: Page) -> Image.Image:
    """Return the image that the sandbox sent, after validation: PBM, PGM or PPM with as many bytes as its size
    requires."""
    head = _NETPBM.match(page.data)
    if head is None or (head[1] == b"4") is (head[4] is not None):
        raise DocumentError(ExceptionCode.CORRUPT, "the page was not rendered to an image")
    kind, width, height = head[1].decode(), int(head[2]), int(head[3])
    mode, raw, row = {"4": ("1", "1;I", -(-width // 8)), "5": ("L", "L", width), "6": ("RGB", "RGB", 3 * width)}[kind]
    samples = memoryview(page.data)[head.end() :]
    if width * height == 0 or len(samples) != row * height:
        raise DocumentError(ExceptionCode.CORRUPT, f"a page of {width} x {height} pixels has the wrong number of bytes")
    image = Image.new(mode, (width, height), None)  # not filled: all of it is set next
    image.frombytes(samples, "raw", raw)
    return image


def slip_sheet(lines: Sequence[str], dpi: int) -> tuple[Image.Image, int]:
    """Return the page that replaces what could not be drawn."""
    return drawn(["", "", "", *lines], dpi), dpi


SUFFIXES: dict[Format, str] = {"tiff": ".tif", "jpeg": ".jpg", "pdf": ".pdf"}
_STRIP_INCHES, _POINTS = 0.25, 9.0
_QUALITY = 85
_EPOCH = time.gmtime(0)


def stamped(page: Image.Image, dpi: int, number: str) -> Image.Image:
    """Add a strip below the page, with the number at the right. The strip covers no part of the page, and the number is
    not cut off: a page that is narrower than its number is extended with white."""
    strip, face = max(12, round(_STRIP_INCHES * dpi)), font(_POINTS, dpi)
    wide = face.getlength(number, "1" if page.mode == "1" else "L")
    width, height = max(page.width, math.ceil(wide) + 2 * strip), page.height + strip
    out = Image.new(page.mode, (width, height), None)  # not filled: a page is eight million pixels
    out.paste(page, (0, 0))
    if width > page.width:
        out.paste("white", (page.width, 0, width, page.height))
    out.paste("white", (0, page.height, width, height))
    ImageDraw.Draw(out).text((width - wide - strip, page.height + strip // 8), number, fill=0, font=face)
    return out


def encoded(page: Image.Image, dpi: int, kind: Format) -> bytes:
    """Return the bytes of the file."""
    out = io.BytesIO()
    if kind == "jpeg":
        page.convert("RGB").save(out, "JPEG", quality=_QUALITY, dpi=(dpi, dpi))
        return out.getvalue()
    black = black_and_white(page)
    if kind == "tiff":
        black.save(out, "TIFF", compression="group4", dpi=(dpi, dpi))
    else:
        black.save(out, "PDF", resolution=float(dpi), creationDate=_EPOCH, modDate=_EPOCH)
    return out.getvalue()
