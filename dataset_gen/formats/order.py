"""What a builder is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dataset_gen.made import Made
from dataset_gen.mix import Profile
from dataset_gen.rng import Dice


class Maker(Protocol):
    """Makes the documents that others hold."""

    profile: Profile

    def order(self, fmt: str, key: str, size: int, level: int = 0) -> Order:
        """The order for a document of that format, seed key and about that many bytes, `level` items deep."""

    def document(self, fmt: str, key: str, size: int, level: int = 0) -> Made:
        """That document."""

    def member(self, dice: Dice, key: str, level: int, largest: int) -> tuple[str, str, int]:
        """Format, key and size of an archive's next member; a shared document has a key of its own."""

    def size_of(self, dice: Dice, fmt: str, largest: int) -> int:
        """A size for a document of that format."""


@dataclass(slots=True, kw_only=True)  # not frozen: it is made as often as documents are
class Order:
    """One document to be made; everything in it follows from these."""

    maker: Maker
    dice: Dice
    key: str  # children derive theirs from it
    size: int  # bytes wanted, about
    terms: tuple[str, ...]  # to be planted in its text
    level: int = 0  # archives around it

    def child(self, fmt: str, index: int, size: int) -> Made:
        """A document inside this one."""
        return self.maker.document(fmt, f"{self.key}/{index}", size, self.level + 1)

    def part(self, index: int, size: int) -> Order:
        """The order for a message inside this mail store."""
        return self.maker.order("eml", f"{self.key}/{index}", size, self.level + 1)
