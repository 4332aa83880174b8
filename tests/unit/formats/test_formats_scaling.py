"""Every reader takes time by the length of what it reads: worst shapes of each at n and at 2n."""

from __future__ import annotations

import pytest
from scaling import MOST, growth
from shapes import Shape, all_shapes

from formats.registry import all_handlers, handler_for


def test_every_reader_has_a_shape() -> None:
    """A new handler comes with the worst that can be done to it (tests/support/shapes)."""
    covered = {handler_for(shape.media_type).name for shape in all_shapes()}
    assert [handler.name for handler in all_handlers() if handler.name not in covered] == []


@pytest.mark.parametrize("shape", all_shapes(), ids=str)
def test_twice_the_bytes_take_about_twice_the_effort(shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processor time, the least of several runs; a limit of the reader's may be lowered, so that it is reached."""
    for place, value in shape.lowered:
        monkeypatch.setattr(place, value)
    found = growth(shape)
    assert found.linear, f"{found}; the limit is {MOST} times"
