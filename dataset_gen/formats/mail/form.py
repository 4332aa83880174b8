"""Letters for formats whose messages have no bytes of their own (PST, MSG): the fields of a message
(`readers.mail_form.MailForm`), and the truth about what has to come out of it.

    made = formed(letter)
    made.form       what the format's writer is given; attachments are in the order of the children
    made.children   the message's children: inline picture, attachments, forwarded message
    made.message()  the message as an item of its own, in canonical form: bytes, hashes, children, terms
"""

from __future__ import annotations

from dataclasses import dataclass

from dataset_gen.formats.mail.eml import Letter, html_of
from dataset_gen.made import Made, Placed, branch
from dataset_gen.material.people import Someone
from readers.mail_form import Address, MailAttachment, MailForm, message_name, write_message
from readers.records import Kind

MEDIA_TYPE = "message/rfc822"
REFERENCES = 8  # identifiers that a message names at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Formed:
    """A letter's fields and the truth about its children."""

    form: MailForm
    children: tuple[Placed, ...]
    characters: int  # of its text
    terms: tuple[str, ...]

    def own(self) -> tuple[bytes, ...]:
        """What the message itself says, children left out (for `Truth.content`)."""
        form = self.form
        people = (form.sender, *form.to, *form.cc)
        fields = [form.message_id, str(form.sent), form.subject, *form.references]
        fields += [f"{p[0]} <{p[1]}>" for p in people if p is not None]
        return ("\n".join(fields).encode(), (form.plain or "").encode(), (form.html or "").encode())

    def message(self) -> Made:
        """The message in canonical form, as an item."""
        return branch(
            write_message(self.form),
            MEDIA_TYPE,
            own=self.own(),
            children=self.children,
            characters=self.characters,
            terms=self.terms,
        )


def formed(letter: Letter) -> Formed:
    """A letter's fields and children."""
    attachments: list[MailAttachment] = []
    children: list[tuple[str, Made]] = []
    if letter.picture is not None:
        children.append(("image001.jpg", letter.picture))
        identifier = f"picture@{letter.message_id}"
        attachments.append(
            MailAttachment(
                name="image001.jpg", data=letter.picture.data, media_type="image/jpeg", content_id=identifier
            )
        )
    for name, made in letter.attachments:
        children.append((name, made))
        attachments.append(MailAttachment(name=name, data=made.data, media_type=_declared(made)))
    if letter.forwarded is not None:
        inner = formed(letter.forwarded)
        children.append((message_name(inner.form.subject), inner.message()))
        attachments.append(MailAttachment(name="", message=inner.form, media_type=MEDIA_TYPE))
    references = letter.references[-REFERENCES:]
    form = MailForm(
        message_id=letter.message_id,
        sent=letter.when,
        sender=_address(letter.sender),
        to=tuple(map(_address, letter.to)),
        cc=tuple(map(_address, letter.cc)),
        subject=letter.subject,
        in_reply_to=references[-1] if references else "",
        references=references,
        plain=letter.body,
        html=html_of(letter) if letter.html else None,
        attachments=tuple(attachments),
    )
    placed = tuple(
        Placed(name=name.encode(), ordinal=position, kind=Kind.ATTACHMENT, truth=made.truth)
        for position, (name, made) in enumerate(children)
    )
    return Formed(form=form, children=placed, characters=len(letter.body), terms=letter.terms)


def _address(person: Someone) -> Address:
    return person.name, person.address


def _declared(made: Made) -> str:
    """The media type that a sender states of an attachment."""
    return made.truth.media_type if made.data else "application/octet-stream"
