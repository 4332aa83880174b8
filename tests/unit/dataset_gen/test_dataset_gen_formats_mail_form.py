"""What is stated of a letter's canonical form is what the standard library's parser finds in it."""

from __future__ import annotations

import email
import email.policy
import hashlib
from email.message import EmailMessage

from dataset_gen.formats.mail.eml import Letter, formed
from dataset_gen.made import Placed, leaf
from dataset_gen.material.people import Someone
from readers.mail_form import write_message

_INNER = Letter(
    key="inner",
    sender=Someone("Bob Lee", "bob@quarry.example"),
    to=(Someone("Anna Müller", "anna@northgate.example"),),
    cc=(),
    when=1_500_000_000,
    subject="R/B: the inner one",
    message_id="1@quarry.example",
    references=(),
    body="inner text\n",
    terms=("inner term",),
    html=False,
    encoding="7bit",
)
_LETTER = Letter(
    key="outer",
    sender=Someone("Anna Müller", "anna@northgate.example"),
    to=(Someone("Bob Lee", "bob@quarry.example"),),
    cc=(Someone("Carla", "carla@mail.example"),),
    when=1_600_000_000,
    subject="Fwd: Größe",
    message_id="12@northgate.example",
    references=tuple(f"{n}@quarry.example" for n in range(12)),
    body="Dear Bob,\n\nplanted\n",
    terms=("planted",),
    html=True,
    encoding="base64",
    attachments=(("Отчёт.txt", leaf(b"a report\n", "text/plain")), ("empty.bin", leaf(b"", "inode/x-empty"))),
    picture=leaf(b"\xff\xd8\xff\xe0picture", "image/jpeg"),
    forwarded=_INNER,
)


def _found(data: bytes) -> list[tuple[str, bytes]]:
    """Names and bytes of the parts that have a name."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    return [(str(p.get_filename()), p.get_payload(decode=True) or b"") for p in message.walk() if p.get_filename()]


def test_children_are_stated_as_they_are_found() -> None:
    made = formed(_LETTER)
    message = made.message()
    found = _found(message.data)
    stated = {child.name.decode(): child for child in made.children}
    assert [name for name, _ in found] == list(stated)
    assert [child.ordinal for child in made.children] == [0, 1, 2, 3]
    for name, data in found[:3]:
        assert hashlib.sha256(data).digest() == stated[name].truth.sha256
    _check_inner(message.data, made.children[3])


def _check_inner(data: bytes, child: Placed) -> None:
    """The forwarded message lies in the outer one as it is."""
    inner = write_message(formed(_INNER).form)
    assert child.name == b"R_B_ the inner one.eml" or child.name == b"R_B: the inner one.eml"
    assert child.truth.sha256 == hashlib.sha256(inner).digest()
    assert child.truth.terms == ("inner term",)
    assert inner in data


def test_fields_are_those_of_the_letter() -> None:
    form = formed(_LETTER).form
    message = email.message_from_bytes(write_message(form), policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    assert message["Subject"] == "Fwd: Größe"
    assert message["Message-ID"] == "<12@northgate.example>"
    assert message["References"].split() == [f"<{n}@quarry.example>" for n in range(4, 12)]
    assert message["In-Reply-To"] == "<11@quarry.example>"
    body = message.get_body(("plain",))
    assert body is not None
    assert body.get_content() == _LETTER.body
    shown = message.get_body(("html",))
    assert shown is not None
    assert f"cid:picture@{_LETTER.message_id}" in shown.get_content()
    assert form.attachments[0].content_id == f"picture@{_LETTER.message_id}"
