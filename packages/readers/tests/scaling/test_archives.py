"""Worst shapes of support/shapes/archives.py, at n and at 2n."""

from __future__ import annotations

import pytest
from scaling import check_shape
from shapes import Shape, archives


@pytest.mark.parametrize("shape", archives.SHAPES, ids=str)
def test_twice_the_bytes_take_about_twice_the_effort(shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
    check_shape(shape, monkeypatch)
