"""winmail.dat as an attachment: what Outlook makes of a message and its attachments for those who have no Outlook."""

from __future__ import annotations

from dataset_gen.formats.mail.eml import EPOCH, YEARS, formed, single
from dataset_gen.formats.outlook import tnef
from dataset_gen.formats.outlook.mapi_mail import (
    RTF_COMPRESSED,
    RTF_IN_SYNC,
    Details,
    Value,
    compress,
    from_plain,
    message_of,
)
from dataset_gen.made import Made, Order, Placed, branch
from dataset_gen.material.people import everyone, file_stem
from dataset_gen.material.text import prose
from readers.mail_form import MailAttachment, MailForm, message_name
from readers.records import Kind

MEDIA_TYPE = tnef.MEDIA_TYPE
FILE_NAME = "winmail.dat"
_FORMATS = ("docx", "xlsx", "pdf", "jpg", "txt", "csv", "html", "png")
_OWN_BYTES = 4000  # of a message without its attachments
_LONGEST_RICH = 3000  # characters
_SMALLEST = 2500  # bytes of an attachment
_WITH_MESSAGE = 0.15


def build(order: Order) -> Made:
    """A text and one to three documents for what is left of the size, now and then a message with them."""
    dice = order.dice
    lines = [f"{term}." for term in order.terms]
    lines += prose().lines(dice, dice.between(100, 1200), accented=True)
    text = "\n".join(lines) + "\n"
    sender = dice.pick(everyone())
    attached, children = _attached(order)
    form = MailForm(
        message_id=f"{dice.below(1 << 48):012x}.{dice.below(1 << 30)}@mail.example",
        sent=EPOCH + dice.below(YEARS),
        sender=(sender.name, sender.address),
        subject=prose().title(dice),
        plain=text,
        attachments=tuple(attached),
    )
    return branch(
        _written(form, text if dice.chance(0.5) and len(text) <= _LONGEST_RICH else None),
        MEDIA_TYPE,
        own=(form.subject.encode(), form.message_id.encode(), text.encode()),
        children=children,
        characters=len(text),
        terms=order.terms,
    )


def _attached(order: Order) -> tuple[list[MailAttachment], tuple[Placed, ...]]:
    """What the message carries, and the truth about it."""
    dice = order.dice
    attached: list[MailAttachment] = []
    children: list[tuple[str, Made]] = []
    count = dice.between(1, 3)
    for number in range(count):
        fmt = dice.pick(_FORMATS)
        made = order.child(fmt, number, max(_SMALLEST, (order.size - _OWN_BYTES) // count))
        name = f"{file_stem(dice)[:80]}.{fmt}"
        attached.append(MailAttachment(name=name, data=made.data, media_type=made.truth.media_type))
        children.append((name, made))
    if dice.chance(_WITH_MESSAGE):
        inner = formed(single(order.part(count, _SMALLEST)))
        attached.append(MailAttachment(name="", message=inner.form))
        children.append((message_name(inner.form.subject), inner.message()))
    placed = (
        Placed(name=name.encode(), ordinal=number, kind=Kind.ATTACHMENT, truth=made.truth)
        for number, (name, made) in enumerate(children)
    )
    return attached, tuple(placed)


def _written(form: MailForm, rich: str | None) -> bytes:
    """The stream, with the text as RTF too where it is given."""
    properties: dict[int, Value] = {}
    if rich is not None:
        properties = {RTF_COMPRESSED: compress(from_plain(rich)), RTF_IN_SYNC: True}
    return tnef.write(message_of(form, Details(properties=properties)))
