"""Worst shapes of support/shapes/outlook.py, at n and at 2n."""

from __future__ import annotations

import pytest
from scaling import check_shape
from shapes import Shape, outlook


@pytest.mark.parametrize("shape", outlook.SHAPES, ids=str)
def test_twice_the_bytes_take_about_twice_the_effort(shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
    check_shape(shape, monkeypatch)
