"""Faulty messages: cut, without their boundary, with damaged base64, without headers, one part of several."""

from __future__ import annotations

from dataclasses import replace

from dataset_gen.faults.common import text
from dataset_gen.formats.images import jpeg
from dataset_gen.formats.mail import eml
from dataset_gen.formats.order import Order
from dataset_gen.formats.outlook import pst_store
from dataset_gen.made import Made, Placed, branch, leaf
from dataset_gen.material.text import planted_token
from readers.errors import ExceptionCode
from readers.mail_form import base64_lines
from readers.records import Kind

MEDIA_TYPE = "message/rfc822"
_LINE, _WIDTH = 57, 77  # bytes in a line of base64, and characters with its newline
_FOREIGN = b"!?*%&"  # no characters of base64


def _letter(order: Order, attached: tuple[tuple[str, Made], ...]) -> eml.Letter:
    """A plain message with these attachments and no terms."""
    letter = eml.single(replace(order, size=1500, terms=()))
    return replace(letter, attachments=attached, html=False, encoding="7bit", terms=())


def _encoded(data: bytes) -> int:
    """Where the base64 of the last part begins."""
    return data.index(b"\n\n", data.rindex(b"Content-Transfer-Encoding: base64")) + 2


def _placed(attached: tuple[tuple[str, Made], ...]) -> tuple[Placed, ...]:
    return tuple(
        Placed(name=name.encode(), ordinal=i, kind=Kind.ATTACHMENT, truth=made.truth)
        for i, (name, made) in enumerate(attached)
    )


def _message(data: bytes, fault: str, code: ExceptionCode, children: tuple[Placed, ...], failed: int | None) -> Made:
    made = branch(data, MEDIA_TYPE, own=(data,), children=children)
    return Made(made.data, replace(made.truth, fault=fault, exceptions=(code.value,), failed=failed))


def open_multipart(order: Order) -> Made:
    """A message that ends without its closing boundary: nobody knows whether more was to come."""
    attached = (("notes.txt", text(order, 900)), ("figures.txt", text(order, 700)))
    data = eml.write(_letter(order, attached)).data
    cut = data.rindex(b"\n--=_m")
    return _message(data[:cut], "open_multipart", ExceptionCode.TRUNCATED, _placed(attached), 1)


def truncated_eml(order: Order) -> Made:
    """Cut in the second attachment's base64, between two lines: what is there of it stays."""
    attached = (("notes.txt", text(order, 900)), ("scan.jpg", jpeg.build(replace(order, size=9000))))
    whole = eml.write(_letter(order, attached)).data
    kept = len(attached[1][1].data) // _LINE // 2
    half = attached[1][1].data[: kept * _LINE]
    cut = leaf(half, "image/jpeg").spoiled("truncated_eml", ExceptionCode.TRUNCATED.value)
    data = whole[: _encoded(whole) + kept * _WIDTH]
    children = _placed((attached[0], ("scan.jpg", cut)))
    return _message(data, "truncated_eml", ExceptionCode.TRUNCATED, children, 1)


def broken_base64(order: Order) -> Made:
    """Foreign characters among an attachment's base64: skipped by readers, and reported on the attachment."""
    good = text(order, 2500)
    data = eml.write(_letter(order, (("minutes.txt", good),))).data
    start = _encoded(data)
    place = start + _WIDTH * order.dice.between(3, 12)
    data = data[:place] + _FOREIGN + data[place:]
    spoiled = good.spoiled("broken_base64", ExceptionCode.CORRUPT.value)
    children = _placed((("minutes.txt", spoiled),))
    return branch(data, MEDIA_TYPE, own=(data,), children=children).spoiled("broken_base64")


def late_damage(order: Order) -> Made:
    """Base64 whose first line was padded by mistake in the middle of what it encodes: bytes are missing behind it."""
    good = text(order, 2500)
    data = eml.write(_letter(order, (("minutes.txt", good),))).data
    start = _encoded(data)
    at = start + _WIDTH * order.dice.between(3, 12)
    data = data[: at - 2] + b"=\n" + _FOREIGN + data[at:]
    kept = good.data[: (at - start) // _WIDTH * _LINE - 1]
    cut = leaf(kept, "text/plain").spoiled("late_damage", ExceptionCode.CORRUPT.value)
    return branch(data, MEDIA_TYPE, own=(data,), children=_placed((("minutes.txt", cut),))).spoiled("late_damage")


def partial_message(order: Order) -> Made:
    """The second of three parts of a message (RFC 2046, 5.2.2); the others are missing."""
    letter = _letter(order, ())
    inside = base64_lines(order.dice.noise(2280))  # the middle of an attachment
    head = (
        f"From: {letter.sender.address}\nTo: {letter.to[0].address}\nSubject: {letter.key[:20]} (2/3)\n"
        f"Date: {eml.mail_date(letter.when)}\nMessage-ID: <{letter.message_id}>\nMIME-Version: 1.0\n"
        f'Content-Type: message/partial; id="{letter.message_id}"; number=2; total=3\n\n'
    )
    data = head.encode() + inside
    children = (Placed(name=b"part-0", ordinal=0, kind=Kind.ATTACHMENT, truth=leaf(inside, "text/plain").truth),)
    made = branch(data, MEDIA_TYPE, own=(data,), children=children)
    return made.spoiled("partial_message", ExceptionCode.UNSUPPORTED.value)


def headless_eml(order: Order) -> Made:
    """What is left of a message whose header was lost: a text, whatever it is named."""
    term = planted_token(order.dice)
    return text(order, 1800, (term,)).spoiled("headless_eml")


def password_pst(order: Order) -> Made:
    """A store that Outlook asks a password for. It keeps nobody else out: everything is to be found, no exception."""
    return pst_store.build(replace(order, size=30_000), "edbench").spoiled("password_pst")


def padded_base64(order: Order) -> Made:
    """Base64 in which every character is padded on its own: sound, and slow in readers that copy the rest for each."""
    count = order.dice.between(25_000, 30_000)
    plain = leaf(b"A" * count, "text/plain")
    letter = _letter(order, (("a.txt", leaf(b"", "text/plain")),))
    data = eml.write(letter).data
    start = data.rindex(b"\n\n--=_m")
    data = data[:start] + b"\n" + b"QQ==\n" * count + data[start:]
    return branch(data, MEDIA_TYPE, own=(data,), children=_placed((("a.txt", plain),))).spoiled("padded_base64")
