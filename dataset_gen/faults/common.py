"""What the faulty documents have in common."""

from __future__ import annotations

from dataclasses import replace

from dataset_gen.formats.order import Order
from dataset_gen.made import Made, Placed, leaf
from dataset_gen.material.text import prose
from readers.errors import ExceptionCode
from readers.records import Kind

ZIP = "application/zip"


def text(order: Order, characters: int, terms: tuple[str, ...] = ()) -> Made:
    """A plain text of about that many characters."""
    lines = [f"{term}." for term in terms] + prose().lines(order.dice, characters)
    return leaf(("\n".join(lines) + "\n").encode(), "text/plain", terms=terms)


def member(name: bytes, ordinal: int, made: Made) -> Placed:
    """A member in its place."""
    return Placed(name=name, ordinal=ordinal, kind=Kind.ARCHIVE_MEMBER, truth=made.truth)


def container_fault(made: Made, fault: str, code: ExceptionCode, *, announced: int | None, failed: int) -> Made:
    """The container with a node-level exception, and how many children it costs."""
    truth = replace(made.truth, fault=fault, exceptions=(code.value,), announced=announced, failed=failed)
    return Made(made.data, truth)
