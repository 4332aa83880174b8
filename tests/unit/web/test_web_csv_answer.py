"""Tables as CSV."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

import pytest

from web.api.exceptions import csv_answer


def test_a_reader_who_is_slow_holds_no_rows() -> None:
    """All of them were read, and their transaction is over, before the first byte goes out."""
    over: list[bool] = []

    def rows() -> Generator[dict[str, str], None, None]:
        try:
            yield from ({"a": f"row {n}", "b": "1"} for n in range(100_000))
        finally:
            over.append(True)

    response = csv_answer("x", rows(), ("a", "b"))
    assert over

    async def read() -> bytes:
        return b"".join([bytes(piece) async for piece in response.body_iterator])  # type: ignore[arg-type]

    lines = asyncio.run(read()).decode().split("\r\n")
    assert (lines[0], lines[1], lines[-2], len(lines)) == ("a,b", "row 0,1", "row 99999,1", 100_002)


def test_what_fails_in_the_middle_sends_nothing() -> None:
    """It is an error with its status, and no file that ends early."""

    def rows() -> Generator[dict[str, str], None, None]:
        yield {"a": "1"}
        raise RuntimeError("gone")

    with pytest.raises(RuntimeError, match="gone"):
        csv_answer("x", rows(), ("a",))
