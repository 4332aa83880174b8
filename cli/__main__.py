"""`edbench`: see `cli.main`."""

from __future__ import annotations

from typing import NoReturn

from core.program import begin


def start() -> NoReturn:
    """Entry point of the `edbench` script."""
    begin("cli.main")


if __name__ == "__main__":
    start()
