"""In the box: the pages of an item that tesseract is to read, and on the slot's side how they are asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from core.records import OcrChoice
from readers.base import Source
from readers.records import Limits
from worker.box.box import Box
from worker.box.messages import Count, OpenPages, Page, Rendered, Settle
from worker.ocr import rendering
from worker.ocr.page import Page as PagePicture
from worker.ocr.rendering import Rendering


@dataclass(slots=True)
class PageRoom:
    """One item at a time."""

    _rendering: Rendering | None = None
    _stack: ExitStack = field(default_factory=ExitStack)

    def open(self, source: Source, media_type: str, limits: Limits, choice: dict[str, Any]) -> int:
        """How many pages there are."""
        self.close()
        opened = rendering.rendered(source, media_type, limits, OcrChoice(**choice))
        self._rendering = self._stack.enter_context(opened)
        return self._rendering.count

    def page(self, number: int) -> Rendered:
        """One of them; KeyError when no item is open."""
        if self._rendering is None:
            raise KeyError("no item is open")
        page = self._rendering.page(number)
        return Rendered(b"", None) if page is None else Rendered(page.data, page.dpi)

    def close(self) -> None:
        """Let go of the item."""
        self._rendering = None
        self._stack.close()


@dataclass(frozen=True, slots=True)
class BoxedRendering:
    """An item that is open in the box."""

    box: Box
    count: int

    def page(self, number: int) -> PagePicture | None:
        rendered = self.box.ask(Page(number), Rendered)
        return PagePicture(rendered.data, rendered.dpi or 70) if rendered.data else None


def boxed_rendering(box: Box) -> Any:
    """What `worker.ocr.pages.render_by` takes."""

    @contextmanager
    def rendered(source: Source, media_type: str, limits: Limits, choice: OcrChoice) -> Iterator[Rendering]:
        asked = OpenPages(box.ref(source), media_type, dataclasses.asdict(choice))
        count = box.ask(asked, Count, limits).value
        try:
            yield BoxedRendering(box, count or 0)
        finally:
            box.ask(Settle(pages=True), Count)

    return rendered
