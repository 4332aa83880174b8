"""What a command keeps running while its jobs run."""

from __future__ import annotations

from typing import Protocol


class Tended(Protocol):
    """Something that is kept running."""

    def check(self) -> None:
        """Raises SystemFault with the reason when a part of it will not stay up."""
