"""readers.outlook.msg: Outlook's loose messages, read by way of their canonical form."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from outlook_bytes import eight_bit_message
from outlook_forms import SAMPLE, forms

from core.records import Limits
from dataset_gen.formats.mapi_mail import RTF_COMPRESSED, Details, compress, message_of
from dataset_gen.formats.msg import write_item
from readers.base import Child, MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.mail.eml import EmlHandler
from readers.mail_form import MailAttachment, MailForm, write_message
from readers.outlook.msg import MsgHandler

HANDLER, EML = MsgHandler(), EmlHandler()


def source(form: MailForm, details: Details | None = None) -> MemorySource:
    return MemorySource(b"m.msg", write_item(message_of(form, details) if details else message_of(form)))


def canonical(form: MailForm) -> MemorySource:
    return MemorySource(b"m.eml", write_message(form))


def children(of: MemorySource, handler: MsgHandler | EmlHandler = HANDLER) -> list[Child]:
    return list(handler.children(of, Limits()))


@given(forms())
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
def test_it_is_read_as_the_same_internet_message(form: MailForm) -> None:
    own, other = source(form), canonical(form)
    text = HANDLER.text(own, Limits())
    assert len(text.metadata.pop("conversation")) == 44 + 10 * len(form.references)
    assert text == EML.text(other, Limits())
    assert children(own) == children(other, EML)
    assert HANDLER.message_hashes(own, Limits()) == EML.message_hashes(other, Limits())


def test_messages_inside_messages_come_out_as_messages() -> None:
    """A message in a message is a message/rfc822 child with its own attachments."""
    found = children(source(SAMPLE))
    assert [child.name.decode() for child in found] == ["image001.png", "Отчёт für 2021.pdf", "The inner one.eml"]
    assert found[2].data is not None
    inner = children(MemorySource(b"i", found[2].data), EML)
    assert [child.name for child in inner] == [b"notes.txt", b"The innermost one.eml"]


@pytest.mark.parametrize("page", [1251, 1252])
def test_a_message_without_unicode(page: int) -> None:
    texts = {0x0037: "Протокол вчерашнего совещания", 0x1000: "Привет", 0x0C1A: "Борис"}
    strings = {ident: text.encode("cp1251") for ident, text in texts.items()}
    data = eight_bit_message({**strings, 0x0C1F: b"boris@x.example"}, page)
    text = HANDLER.text(MemorySource(b"m.msg", data), Limits())
    assert text.text == "Привет"
    assert text.metadata["subject"] == "Протокол вчерашнего совещания"
    assert text.metadata["from"] == "Борис <boris@x.example>"


@pytest.mark.parametrize("written", ['"alec milton"', "alec milton"])
def test_a_sender_without_an_address_keeps_his_name(written: str) -> None:
    """Exchange writes such a header; the two words were one, and neither was found."""
    headers = f'From: {written}\r\nTo: "Jo Roe"\r\nCc: ann@x.example\r\n\r\n'.encode()
    data = eight_bit_message({0x0C1A: b"alec milton", 0x1000: b"see you", 0x007D: headers})
    reported = HANDLER.text(MemorySource(b"m.msg", data), Limits()).metadata
    assert [reported[key].strip('"') for key in ("from", "to", "cc")] == ["alec milton", "Jo Roe", "ann@x.example"]


@pytest.mark.parametrize("plain", [" \r\n", "\u00a0\n\n"])
def test_a_blank_body_hides_no_other(plain: str) -> None:
    rtf = Details(properties={RTF_COMPRESSED: compress(rb"{\rtf1\ansi Big words}")})
    assert HANDLER.text(source(MailForm(plain=plain), rtf), Limits()).text.split() == ["Big", "words"]
    web = MailForm(plain=plain, html="<p>from the web</p>")
    assert HANDLER.text(source(web, rtf), Limits()).text.split() == ["from", "the", "web"]
    empty = Details(properties={RTF_COMPRESSED: compress(rb"{\rtf1\ansi\par}")})
    kept = HANDLER.message_hashes(source(MailForm(plain=plain), empty), Limits())
    assert kept == HANDLER.message_hashes(source(MailForm(plain=plain)), Limits())


LONG = "The terms of the contract and what was agreed on in Geneva. " * 200


def test_a_short_plain_body_hides_no_long_one() -> None:
    """Beside "open it in another program" the RTF or HTML body is text too, in messages inside messages as well; another
    form of the same is not doubled."""
    short, rtf = "Open this in Outlook.", compress(b"{\\rtf1\\ansi " + LONG.encode() + b"}")
    details = Details(properties={RTF_COMPRESSED: rtf})
    assert HANDLER.text(source(MailForm(plain=short), details), Limits()).text.count("Geneva") == 200
    assert HANDLER.text(source(MailForm(plain=LONG), details), Limits()).text.count("Geneva") == 200
    web = MailForm(plain=short, html=f"<p>{LONG}</p>")
    text = HANDLER.text(source(web), Limits()).text
    assert (text.count("Geneva"), text.count("Open this")) == (200, 1)
    assert HANDLER.text(source(replace(web, plain=LONG)), Limits()).text.count("Geneva") == 200
    around = MailForm(subject="Fwd", plain="see below", attachments=(MailAttachment(name="", message=web),))
    (inner,) = children(source(around))
    assert EML.text(MemorySource(b"i.eml", inner.data or b""), Limits()).text.count("Geneva") == 200


def test_a_short_rtf_body_with_other_words_is_text_too() -> None:
    for plain, rich, wanted in (
        ("A notice", "Here is the picture", ["A", "notice", "Here", "is", "the", "picture"]),
        ("Here is\r\nthe picture", "Here is the picture", ["Here", "is", "the", "picture"]),
    ):
        details = Details(properties={RTF_COMPRESSED: compress(b"{\\rtf1\\ansi " + rich.encode() + b"}")})
        assert HANDLER.text(source(MailForm(plain=plain), details), Limits()).text.split() == wanted


def test_a_body_in_rtf_only() -> None:
    rich = rb"{\rtf1\ansi Big \b bold\b0\par words \'e4}"
    wrapped = rb"{\rtf1\ansi\fromhtml1 {\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 from the web{\*\htmltag72 </p>}\htmlrtf }}"
    for rtf, wanted in ((rich, ["Big", "bold", "words", "ä"]), (wrapped, ["from", "the", "web"])):
        details = Details(properties={RTF_COMPRESSED: compress(rtf)})
        found = HANDLER.text(source(replace(SAMPLE, plain=None, html=None), details), Limits())
        assert found.text.split() == wanted


def test_what_a_body_in_rtf_shows_beside_its_text() -> None:
    """Notes, the font that is not named, where links lead; of a wrapped page not, since it is an attribute there. Beside a
    plain body that says it all, nothing."""
    link = rb"{\field{\*\fldinst{HYPERLINK \"http://x.example\"}}{\fldrslt{link}}}"
    rich = rb"{\rtf1\ansi\deff1{\fonttbl{\f0 A;}{\f1\fcharset204 B;}}\plain \'cf\'f0 " + link + rb"{\*\footnote note}}"
    page = rb"{\rtf1\ansi\fromhtml1 {\*\htmltag84 <a>}\htmlrtf " + link + rb"\htmlrtf0 {\*\htmltag92 </a>}}"
    for rtf, plain, wanted in (
        (rich, None, ["Пр", "link", "note", "http://x.example"]),
        (page, None, ["link"]),
        (rich, "Пр link <http://x.example> [note]", ["Пр", "link", "<http://x.example>", "[note]"]),
    ):
        details = Details(properties={RTF_COMPRESSED: compress(rtf)})
        assert HANDLER.text(source(MailForm(plain=plain), details), Limits()).text.split() == wanted


def test_an_attachment_over_the_limit_leaves_the_rest() -> None:
    big = MailAttachment(name="big.bin", data=bytes(80_000))
    small = MailAttachment(name="small.bin", data=b"small")
    own = source(MailForm(subject="s", plain="text\n", attachments=(big, small)))
    limits = Limits(parse_bytes=100_000)
    text = HANDLER.text(own, limits)
    assert text.text == "text\n"
    assert (text.error and text.error.code) is ExceptionCode.TOO_LARGE
    found = HANDLER.children(own, limits)
    assert next(found).data == b"small"
    with pytest.raises(DocumentError, match=r"big\.bin"):
        next(found)


def test_nesting_has_an_end() -> None:
    form = MailForm(subject="0", plain="x\n")
    for number in range(1, 40):
        form = MailForm(subject=str(number), plain="x\n", attachments=(MailAttachment(name="", message=form),))
    text = HANDLER.text(source(form), Limits())
    assert (text.error and text.error.code) is ExceptionCode.NESTING_LIMIT


def test_a_real_message(real_files: Path) -> None:
    """Written by Outlook."""
    own = MemorySource(b"piste.msg", (real_files / "ingest-file/piste.msg").read_bytes())
    assert identify(own) == "application/vnd.ms-outlook"
    text = HANDLER.text(own, Limits())
    assert "GMX Magazin" in text.text
    assert text.metadata == {
        "subject": "Ab auf die Piste!",
        "from": '"GMX Magazin" <mailings@gmxnet.de>',
        "to": '"Alle Mitglieder von GMX" <members@gmx.net>',
        "date": "2010-11-28T22:42:18Z",
        "date_original": "Sun, 28 Nov 2010 22:42:18 +0000",
        "message_id": "E5-bad037e6-elaine5029/3/2852-f493@mailings.gmx.net",
        "conversation": "01cb8f4d82ceb5d0bc9e7f15483e84fffc1ca1e53b87",
    }
