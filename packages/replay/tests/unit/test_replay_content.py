"""What a replay's files hold: as compressible as recorded, no block like another, the same each time."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.content import BLOCK, CONTENT_CLASSES, Content


@pytest.mark.parametrize("kind", range(CONTENT_CLASSES + 1))
def test_content_is_as_compressible_as_its_class_says(kind: int) -> None:
    content = Content(seed=1, clone=0)
    raw = bytes(content.piece(kind, 7, 0, 128 * BLOCK))
    assert len(zlib.compress(raw)) / len(raw) == pytest.approx(kind / CONTENT_CLASSES, abs=0.03)


@given(st.integers(1, CONTENT_CLASSES), st.integers(0, 1 << 31), st.integers(0, 1 << 40), st.integers(0, 50_000))
def test_a_piece_is_the_same_each_time(kind: int, node: int, offset: int, size: int) -> None:
    content = Content(seed=1, clone=2)
    first = bytes(content.piece(kind, node, offset, size))
    content.piece(kind, node + 1, 0, 50_000)
    assert len(first) == size
    assert bytes(content.piece(kind, node, offset, size)) == first


def test_no_block_is_like_another() -> None:
    blocks = set()
    for clone in range(2):
        content = Content(seed=1, clone=clone)
        for node in range(20):
            raw = bytes(content.piece(4, node, 0, 64 * BLOCK))
            blocks |= {raw[at : at + BLOCK] for at in range(0, len(raw), BLOCK)}
    assert len(blocks) == 2 * 20 * 64


def test_zeros_are_zeros() -> None:
    assert not any(Content(seed=1, clone=0).piece(0, 5, 0, 10_000))
