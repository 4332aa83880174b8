"""CSV of what was found out of a job's items."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

import pytest

from web.api.review import _csv


def test_a_reader_who_is_slow_holds_no_rows() -> None:
    """All of them were read, and their transaction is over, before the first byte goes out."""
    over: list[bool] = []

    def rows() -> Generator[dict[str, Any], None, None]:
        try:
            yield from ({"a": f"row {n}", "b": "=1"} for n in range(100_000))
        finally:
            over.append(True)

    response = _csv("x", rows(), ("a", "b"), raw=False)
    assert over

    async def read() -> bytes:
        return b"".join([bytes(piece) async for piece in response.body_iterator])  # type: ignore[arg-type]

    lines = asyncio.run(read()).decode().split("\r\n")
    assert (lines[0], lines[1], lines[-2], len(lines)) == ("a,b", "row 0,'=1", "row 99999,'=1", 100_002)


def test_what_fails_in_the_middle_sends_nothing() -> None:
    """It is an error with its status, and no file that ends early."""

    def rows() -> Generator[dict[str, Any], None, None]:
        yield {"a": 1}
        raise RuntimeError("gone")

    with pytest.raises(RuntimeError, match="gone"):
        _csv("x", rows(), ("a",), raw=False)
