"""Mail messages (RFC 5322, MIME RFC 2045–2047, 2183, 2231)."""

from __future__ import annotations

import base64
import quopri
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime

from dataset_gen.made import Made, Order, Placed, branch, leaf, placed
from dataset_gen.material.people import Someone, everyone, file_stem
from dataset_gen.material.text import prose
from readers.mail_form import MailAttachment, MailForm, base64_lines, message_name, write_message
from readers.records import Kind

EPOCH = 1_420_070_400  # 2015-01-01; mail is from the nine years after it
YEARS = 9 * 365 * 86_400
MEDIA_TYPE = "message/rfc822"
REFERENCES = 8  # identifiers that a message names at most
_SMALLEST = 1500  # bytes of a message in a store


@dataclass(slots=True, kw_only=True)
class Letter:
    """One message, before it is encoded."""

    key: str
    sender: Someone
    to: tuple[Someone, ...]
    cc: tuple[Someone, ...]
    when: int  # seconds since the epoch
    subject: str
    message_id: str
    references: tuple[str, ...]
    body: str  # lines ended by "\n"
    terms: tuple[str, ...]  # planted in the body, quotations included
    html: bool
    encoding: str  # 7bit, quoted-printable, base64 or 8bit
    charset: str = "utf-8"
    receipt: bool = False  # a disposition notification (RFC 8098) goes with it
    attachments: tuple[tuple[str, Made], ...] = ()
    picture: Made | None = None  # inline, shown by the HTML body
    forwarded: Letter | None = None  # a whole message


def mail_date(when: int) -> str:
    """RFC 5322 date in UTC; not by locale."""
    return format_datetime(datetime.fromtimestamp(when, UTC))


def _word(text: str) -> str:
    """Encode a header text by RFC 2047."""
    if text.isascii():
        return text
    return f"=?utf-8?b?{base64.b64encode(text.encode()).decode()}?="


def _address(person: Someone) -> str:
    name = f'"{person.name}"' if person.name.isascii() else _word(person.name)
    return f"{name} <{person.address}>"


def _addresses(people: tuple[Someone, ...]) -> str:
    return ",\n ".join(map(_address, people))


def _headers(letter: Letter) -> list[str]:
    out = [
        f"Message-ID: <{letter.message_id}>",
        f"Date: {mail_date(letter.when)}",
        f"From: {_address(letter.sender)}",
        f"To: {_addresses(letter.to)}",
    ]
    if letter.cc:
        out.append(f"Cc: {_addresses(letter.cc)}")
    out.append(f"Subject: {_word(letter.subject)}")
    if letter.references:
        out.append(f"In-Reply-To: <{letter.references[-1]}>")
        out.append("References: " + "\n ".join(f"<{r}>" for r in letter.references[-REFERENCES:]))
    out += ["MIME-Version: 1.0", "X-Mailer: Example Mail 9.2"]
    return out


def _text_part(letter: Letter, text: str, subtype: str) -> bytes:
    """Content headers, an empty line and the encoded text, ended by a newline."""
    encoding, charset = letter.encoding, letter.charset
    try:
        raw = text.encode(charset)
    except UnicodeEncodeError:  # a name in another script
        charset, raw = "utf-8", text.encode()
    if encoding == "7bit" and not raw.isascii():
        encoding = "quoted-printable"
    elif encoding == "7bit" and text.isascii():
        charset = "us-ascii"
    if encoding == "quoted-printable":
        raw = quopri.encodestring(raw)
    elif encoding == "base64":
        raw = base64_lines(raw)
    head = f"Content-Type: text/{subtype}; charset={charset}\nContent-Transfer-Encoding: {encoding}\n\n"
    return head.encode() + raw


def _file_part(name: str, made: Made, disposition: str, identifier: str = "") -> bytes:
    """Return a base64 part with a file name (RFC 2231 where it is not ASCII)."""
    if name.isascii():
        shown, typed = f'filename="{name}"', f'; name="{name}"'
    else:
        quoted = "".join(chr(b) if chr(b).isalnum() and b < 128 else f"%{b:02X}" for b in name.encode())
        shown, typed = f"filename*=utf-8''{quoted}", ""
    head = f"Content-Type: {_declared(made)}{typed}\n"
    if identifier:
        head += f"Content-ID: <{identifier}>\n"
    head += f"Content-Disposition: {disposition};\n {shown}\nContent-Transfer-Encoding: base64\n\n"
    return head.encode() + base64_lines(made.data)


def _multipart(kind: str, boundary: str, parts: list[bytes]) -> bytes:
    """Content-Type header, empty line and the parts; a part's last newline belongs to the boundary line."""
    head = f'Content-Type: multipart/{kind}; boundary="{boundary}"\n\n'.encode()
    line = f"--{boundary}".encode()
    return head + b"".join(line + b"\n" + part + b"\n" for part in parts) + line + b"--\n"


def html_of(letter: Letter) -> str:
    """Return the text as HTML, with the inline picture."""
    paragraphs = "".join(f"<p>{part.replace('>', '&gt;')}</p>\n" for part in letter.body.split("\n\n"))
    picture = f'<img src="cid:picture@{letter.message_id}" alt="">\n' if letter.picture else ""
    return f"<html><head><title>{letter.subject}</title></head><body>\n{paragraphs}{picture}</body></html>\n"


def _body(letter: Letter, tag: str) -> bytes:
    """Return the text; with HTML as its alternative, and the HTML with its picture."""
    plain = _text_part(letter, letter.body, "plain")
    if not letter.html:
        return plain
    both = _multipart("alternative", f"=_a{tag}", [plain, _text_part(letter, html_of(letter), "html")])
    if letter.picture is None:
        return both
    inline = _file_part("image001.jpg", letter.picture, "inline", f"picture@{letter.message_id}")
    return _multipart("related", f"=_r{tag}", [both, inline])


def _notification(letter: Letter, *, crlf: bool) -> Made:
    """Build the part of a read receipt that programs read (RFC 8098, 3.1)."""
    text = (
        f"Reporting-UA: mail.example; Example Mail 9.2\nFinal-Recipient: rfc822;{letter.sender.address}\n"
        f"Original-Message-ID: <{letter.references[-1]}>\n"
        "Disposition: manual-action/MDN-sent-manually; displayed\n"
    )
    data = text.replace("\n", "\r\n" if crlf else "\n").encode()
    return leaf(data, "text/plain", characters=len(text))


def write(letter: Letter, *, crlf: bool = False) -> Made:
    """Build the message; `crlf` for files as mail programs save them, LF as in mail stores."""
    tag = letter.message_id.partition("@")[0]
    children: list[tuple[str, Made]] = [] if letter.picture is None else [("image001.jpg", letter.picture)]
    children += letter.attachments
    parts = [_file_part(name, made, "attachment") for name, made in letter.attachments]
    if letter.forwarded is not None:
        name = "Forwarded message.eml"
        head = f'Content-Type: message/rfc822; name="{name}"\nContent-Disposition: attachment; filename="{name}"\n\n'
        inner = write(letter.forwarded, crlf=crlf)
        parts.append(head.encode() + inner.data)
        children.append((name, inner))
    body = _body(letter, tag)
    if letter.receipt and letter.references:
        read = _notification(letter, crlf=crlf)
        notice = b'Content-Type: message/disposition-notification; name="notification.txt"\n\n' + read.data
        body = _multipart('report; report-type="disposition-notification"', f"=_d{tag}", [body, notice])
        children.append(("notification.txt", read))
    own = ["\n".join(_headers(letter)).encode(), body if letter.picture is None else letter.body.encode()]
    if parts:
        body = _multipart("mixed", f"=_m{tag}", [body, *parts])
    data = own[0] + b"\n" + body
    if crlf:
        if b"\r" in data:  # of a message inside
            data = data.replace(b"\r\n", b"\n")
        data = data.replace(b"\n", b"\r\n")
    within = placed(Kind.ATTACHMENT, children)
    return branch(data, MEDIA_TYPE, own=own, children=within, characters=len(letter.body), terms=letter.terms)


def build(order: Order) -> Made:
    """Build a message on its own, outside any thread."""
    return write(single(order))


def single(order: Order) -> Letter:
    """Return the letter of `build`: a note, with an attachment for the rest of the size."""
    dice = order.dice
    characters = min(order.size, dice.between(300, 3000))
    rest = int((order.size - characters * 1.1 - 800) / 1.37)
    attachments: tuple[tuple[str, Made], ...] = ()
    if rest > 2500:
        fmt = dice.pick(("docx", "pdf", "xlsx", "jpg"))
        attachments = ((f"{file_stem(dice)[:80]}.{fmt}", order.child(fmt, 0, rest)),)
    people = everyone()
    lines = [f"{term}." for term in order.terms]
    lines += prose().lines(dice, characters, accented=True)
    return Letter(
        key=order.key,
        sender=dice.pick(people),
        to=(dice.pick(people),),
        cc=(),
        when=EPOCH + dice.below(YEARS),
        subject=prose().title(dice),
        message_id=f"{dice.below(1 << 48):012x}.{dice.below(1 << 30)}@mail.example",
        references=(),
        body="\n".join(lines) + "\n",
        terms=order.terms,
        html=dice.chance(0.4),
        encoding=dice.pick(("7bit", "8bit", "quoted-printable", "base64")),
        attachments=attachments,
    )


def notes(order: Order) -> Iterator[Letter]:
    """Messages on their own for a mail store of about the size wanted."""
    left, number = order.size, 0
    while left > 0 or number == 0:
        size = order.maker.profile.size_of(order.dice, "eml", max(_SMALLEST, left))
        yield single(order.part(number, size))
        left -= size
        number += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Formed:
    """A letter's fields and the truth about its children."""

    form: MailForm
    children: tuple[Placed, ...]
    characters: int  # of its text
    terms: tuple[str, ...]

    def own(self) -> tuple[bytes, ...]:
        """Return the message's own content without its children (for `Truth.content`)."""
        form = self.form
        people = (form.sender, *form.to, *form.cc)
        fields = [form.message_id, str(form.sent), form.subject, *form.references]
        fields += [f"{p[0]} <{p[1]}>" for p in people if p is not None]
        return ("\n".join(fields).encode(), (form.plain or "").encode(), (form.html or "").encode())

    def message(self) -> Made:
        """Build the message in canonical form, as an item."""
        return branch(
            write_message(self.form),
            MEDIA_TYPE,
            own=self.own(),
            children=self.children,
            characters=self.characters,
            terms=self.terms,
        )


def formed(letter: Letter) -> Formed:
    """Return a letter's fields and children."""
    children: list[tuple[str, Made]] = [] if letter.picture is None else [("image001.jpg", letter.picture)]
    attachments = [
        MailAttachment(name=name, data=made.data, media_type="image/jpeg", content_id=f"picture@{letter.message_id}")
        for name, made in children
    ]
    children += letter.attachments
    attachments += (
        MailAttachment(name=name, data=made.data, media_type=_declared(made)) for name, made in letter.attachments
    )
    if letter.forwarded is not None:
        inner = formed(letter.forwarded)
        children.append((message_name(inner.form.subject), inner.message()))
        attachments.append(MailAttachment(name="", message=inner.form, media_type=MEDIA_TYPE))
    references = letter.references[-REFERENCES:]
    form = MailForm(
        message_id=letter.message_id,
        sent=letter.when,
        sender=letter.sender,
        to=letter.to,
        cc=letter.cc,
        subject=letter.subject,
        in_reply_to=references[-1] if references else "",
        references=references,
        plain=letter.body,
        html=html_of(letter) if letter.html else None,
        attachments=tuple(attachments),
    )
    within = placed(Kind.ATTACHMENT, children)
    return Formed(form=form, children=within, characters=len(letter.body), terms=letter.terms)


def _declared(made: Made) -> str:
    """Return the media type that a sender declares for an attachment."""
    return made.truth.media_type if made.data else "application/octet-stream"
