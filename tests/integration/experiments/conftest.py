"""What tests of studies that are carried out share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from experiments.report import page


@pytest.fixture(autouse=True)
def _no_pictures() -> Iterator[None]:
    """As in tests/unit/experiments: a report's PNGs are empty, but for tests of the report itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "write_png", lambda _figure, path: path.write_bytes(b""))
        yield
