"""Reports of results made once, or without pictures: drawing takes most of the time of a report and of its check."""

import json
from collections.abc import Iterator, Sequence

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


@pytest.fixture(scope="module", autouse=True)
def drawn_once() -> Iterator[None]:
    """The page of another result, or with another sheet, is drawn again. That the same result gives the same bytes again is
    a promise of the tests of published packages and of the storage tests."""
    built: dict[str, list[Section]] = {}
    drawn: dict[str, str] = {}
    build, draw = page.build_sections, page.page_html

    def build_sections(result: Result, sheet: Sheet | None = None) -> list[Section]:
        key = f"{json.dumps(to_json(result))} {sheet}"
        if key not in built:
            built[key] = build(result, sheet)
        return built[key]

    def page_html(result: Result, sections: Sequence[Section]) -> str:
        (key,) = (key for key, own in built.items() if own is sections)
        if key not in drawn:
            drawn[key] = draw(result, sections)
        return drawn[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "build_sections", build_sections)
        patch.setattr(page, "page_html", page_html)
        yield
