"""Reports of results made once, or without pictures: both take most of the time of a check."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from experiments.report import page
from experiments.report.parts import Section
from experiments.report.sheet import Sheet
from experiments.result.codec import to_json
from experiments.result.schema import Result


@pytest.fixture(scope="module", autouse=True)
def no_pictures() -> Iterator[None]:
    """A report's PNGs take as long as the rest of it: they are empty, except in tests of the report itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "write_png", lambda _figure, path: path.write_bytes(b""))
        yield


@contextmanager
def drawn_once(*, first_alone: bool = False) -> Iterator[None]:
    """While the block lasts. Of another result, or with another sheet, it is made anew; with `first_alone` no others are drawn,
    whose checks then find files too many."""
    built: dict[str, list[Section]] = {}
    drawn: dict[str, dict[str, str]] = {}
    build, draw = page.build_sections, page.texts

    def build_sections(result: Result, sheet: Sheet | None = None) -> list[Section]:
        key = f"{json.dumps(to_json(result))} {sheet}"
        if key not in built:
            built[key] = build(result, sheet)
        return built[key]

    def texts(result: Result, sections: Sequence[Section]) -> dict[str, str]:
        (key,) = (key for key, own in built.items() if own is sections)
        if key not in drawn:
            drawn[key] = {} if drawn and first_alone else draw(result, sections)
        return dict(drawn[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "build_sections", build_sections)
        patch.setattr(page, "texts", texts)
        yield


@pytest.fixture(scope="module")
def one_drawn() -> Iterator[None]:
    """For tests that check what forgers made of one result: what they observed is told again, and not drawn."""
    with drawn_once(first_alone=True):
        yield
