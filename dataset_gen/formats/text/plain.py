"""Plain text and HTML: text/plain, text/html."""

from __future__ import annotations

from dataset_gen.formats.order import Order
from dataset_gen.made import Made, leaf
from dataset_gen.material.text import prose


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
