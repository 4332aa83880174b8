"""Plain text, CSV and HTML: text/plain, text/csv, text/html."""

from __future__ import annotations

from dataset_gen.formats.order import Order
from dataset_gen.made import Made, leaf
from dataset_gen.text import prose


def _encoded(order: Order, text: str) -> bytes:
    """UTF-8, or Windows line ends, or Latin-1: what lies on real disks."""
    draw = order.dice.random()
    if draw < 0.3:
        text = text.replace("\n", "\r\n")
    if draw > 0.95:
        return text.encode("latin-1")
    return text.encode("utf-8")


def build_txt(order: Order) -> Made:
    """Plain text."""
    lines = prose().lines(order.dice, max(order.size - 60, 40), accented=True)
    lines[1:1] = [f"{term}." for term in order.terms]
    return leaf(_encoded(order, "\n".join(lines) + "\n"), "text/plain", terms=order.terms)


def build_csv(order: Order) -> Made:
    """A table with a header line, numbers and a few words a row."""
    dice, words = order.dice, prose().plain
    rows = ["number,date,customer,amount,remark"]
    rows += [f"0,2019-01-01,{term},0.00,planted" for term in order.terms]
    left = order.size - 40
    while left > 0 or len(rows) < 3:
        n = dice.below(100_000_000)
        remark = dice.pick(words).rstrip(".")
        row = f"{n},20{10 + n % 13}-{1 + n % 12:02d}-{1 + n % 28:02d},C{n % 9973:05d},{n % 100_000 / 100:.2f},{remark}"
        rows.append(row)
        left -= len(row) + 1
    return leaf(("\n".join(rows) + "\n").encode(), "text/csv", terms=order.terms)


def build_html(order: Order) -> Made:
    """A page with a title, headings and paragraphs."""
    title = prose().title(order.dice)
    body = [f"<p>{term}.</p>" for term in order.terms]
    for number, text in enumerate(prose().paragraphs(order.dice, max(order.size - 250, 100), accented=True)):
        if number % 8 == 0:
            body.append(f"<h2>{prose().title(order.dice, 3)}</h2>")
        body.append(f'<p class="body">{text}</p>')
    page = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title}</title>\n<style>p.body {{ margin: 1em; }}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )
    return leaf(page.encode("utf-8"), "text/html", terms=order.terms)
