"""What tests of experiments share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from experiments.report import page


@pytest.fixture(scope="module", autouse=True)
def _no_pictures() -> Iterator[None]:
    """A report's PNGs take as long as all the rest of it: they are empty here, but for tests of the report itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "write_png", lambda _figure, path: path.write_bytes(b""))
        yield
