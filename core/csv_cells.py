"""Cells of CSV that a spreadsheet takes for text, whatever a file's name or a sender wrote into them."""

from __future__ import annotations

# What spreadsheets take for the beginning of a formula, or skip in front of one.
BEGINS_FORMULA = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # the last four: full-width


def defused(cell: str) -> str:
    """The cell with an apostrophe in front if it could be run as a formula; to take one away is to have it back."""
    return f"'{cell}" if cell[:1] in BEGINS_FORMULA else cell
