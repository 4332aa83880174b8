"""XML, JSON and CSV: tables of records, sliced from pools."""

from __future__ import annotations

import functools
from collections.abc import Callable

from dataset_gen.formats.order import Order
from dataset_gen.formats.text.record_pool import RecordPool, make_pool
from dataset_gen.made import Made, leaf
from dataset_gen.material.text import prose
from dataset_gen.rng import Dice

_POOL_BYTES = 1_200_000
_PLANTED = "2019-01-01"

_Row = tuple[int, str, str, float, str]  # number, date, customer, amount, remark


def _draw(dice: Dice) -> _Row:
    n = dice.below(100_000_000)
    remark = dice.pick(prose().plain).rstrip(".")
    return n, f"20{10 + n % 13}-{1 + n % 12:02d}-{1 + n % 28:02d}", f"C{n % 9973:05d}", n % 100_000 / 100, remark


def _csv(row: _Row) -> str:
    number, date, customer, amount, remark = row
    return f"{number},{date},{customer},{amount:.2f},{remark}\n"


def _json(row: _Row) -> str:
    number, date, customer, amount, remark = row
    return (
        f'    {{"number": {number}, "date": "{date}", "customer": "{customer}", "amount": {amount:.2f}, '
        f'"open": {"true" if number % 3 else "false"}, "remark": "{remark}"}},\n'
    )


def _xml(row: _Row) -> str:
    number, date, customer, amount, remark = row
    return (
        f'  <order number="{number}" date="{date}">\n    <customer>{customer}</customer>\n'
        f"    <amount>{amount:.2f}</amount>\n    <remark>{remark}</remark>\n  </order>\n"
    )


_WRITERS: dict[str, Callable[[_Row], str]] = {"csv": _csv, "json": _json, "xml": _xml}


@functools.cache
def _pool(form: str) -> RecordPool:
    write = _WRITERS[form]
    return make_pool(form, _POOL_BYTES, lambda dice, _: write(_draw(dice)))


def _rows(order: Order, form: str, around: int) -> bytes:
    """A row for each term, then as many as the bytes wanted need beside `around` others; the first rows have numbers of
    this document only."""
    dice, write = order.dice, _WRITERS[form]
    own = write(_draw(dice)) + "".join(write((0, _PLANTED, "C00000", 0.0, f"{term}.")) for term in order.terms)
    return b"".join((own.encode(), *_pool(form).take(dice, order.size - around - len(own))))


def build_csv(order: Order) -> Made:
    """A table with a header line, numbers and a few words a row."""
    data = b"number,date,customer,amount,remark\n" + _rows(order, "csv", 40)
    return leaf(data, "text/csv", characters=len(data), terms=order.terms)


def build_json(order: Order) -> Made:
    """An export of a web application."""
    head = f'{{\n  "export": {order.dice.below(1 << 40)},\n  "orders": [\n'.encode()
    data = b"".join((head, _rows(order, "json", 60).removesuffix(b",\n"), b"\n  ]\n}\n"))
    return leaf(data, "application/json", characters=len(data), terms=order.terms)


def build_xml(order: Order) -> Made:
    """The same of an older one."""
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<orders export="{order.dice.below(1 << 40)}">\n'.encode()
    data = b"".join((head, _rows(order, "xml", 80), b"</orders>\n"))
    # The rest is tags.
    return leaf(data, "application/xml", characters=len(data) * 2 // 5, terms=order.terms)
