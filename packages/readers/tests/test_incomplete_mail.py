"""Messages and texts that are known not to be all there, or may have been read wrongly, say so; what is whole does not."""

import base64
import struct
from dataclasses import dataclass
from typing import Any

import pytest
from outlook_bytes import attribute, eight_bit_message, winmail
from outlook_forms import mail_store
from unpacking import unpack

from core.records import Limits
from dataset_gen.formats import msg, tnef
from dataset_gen.formats.mapi_mail import RTF_COMPRESSED, Details, compress, message_of
from dataset_gen.languages import fitting, own_texts
from readers.base import MemorySource
from readers.charset import decode
from readers.errors import DocumentError, ExceptionCode
from readers.mail import text as mail_text
from readers.mail_form import MailAttachment, MailForm
from readers.records import TextState
from readers.registry import handler_for
from worker.items.texts import take_text

HEAD = "From: a@b.example\r\nTo: c@d.example\r\nSubject: s\r\nMIME-Version: 1.0\r\n"
RTF = b"{\\rtf1\\ansi The zebra statement is here.\\par " + b"More of the statement. " * 40 + b"}"
RUSSIAN = "Договор поставки подписан сторонами в городе Москве третьего апреля. "
SHORT = "Жду тебя у входа"  # enough to be told, too little to be sure


@dataclass(frozen=True)
class Reported:
    """State, exceptions, text and metadata of an item."""

    state: TextState
    codes: list[str]
    text: str
    metadata: dict[str, Any]


def reported_of(name: str, data: bytes) -> list[Reported]:
    """Of a loose file and of all items in it, in order."""
    found = unpack(name.encode(), data)
    loose, out = MemorySource(name.encode(), data), found.out
    texts = []
    for item in out.items:
        source = loose if item.parent is None else MemorySource(item.name, found.store.kept[item.id])
        texts.append((item, *take_text(item, source, handler_for(item.media_type), Limits(), out)))
    codes = {item.id: sorted(e.code.value for e in out.exceptions if e.item == item.id) for item in out.items}
    return [Reported(row.state, codes[item.id], text, row.metadata) for item, text, row in texts]


def _base64_mail(lines: list[bytes], damage: bytes, kind: str = "text/plain") -> bytes:
    half = len(lines) // 2
    body = b"\r\n".join((*lines[:half], damage, *lines[half:]))
    head = f"{HEAD}Content-Type: {kind}; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    return head.encode() + body


TEXT = b"The first paragraph is here.\n" * 20 + b"The secret merger closes on Friday.\n" * 20
LINES = base64.encodebytes(TEXT).split()
PADDED = b"=\r\n%%%%damaged%%%%"


def _page(data: bytes) -> bytes:
    return (
        b'From: <Saved by a browser>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; boundary="X"\r\n\r\n--X\r\n'
        + data.partition(b"1.0\r\n")[2]
    )


def _rtf(body: bytes) -> Details:
    return Details(properties={RTF_COMPRESSED: body})


def _kind(body: bytes) -> bytes:
    """The same, said to be in a form that there is not."""
    return body[:8] + struct.pack("<I", 0x12345678) + body[12:]


def _plain_rtf(there: int) -> bytes:
    """RTF that is not compressed, of which some is there."""
    return struct.pack("<IIII", len(RTF) + 12, len(RTF), 0x414C454D, 0) + RTF[:there]


def _cut(kind: str, ending: str) -> bytes:
    return (
        f'{HEAD}Content-Type: multipart/mixed; boundary="X"\r\n\r\n--X\r\nContent-Type: {kind}\r\n\r\n{ending}'.encode()
    )


NONE = MailForm(subject="s")
PACKED = compress(RTF)
INCOMPLETE = [
    ("body.eml", _base64_mail(LINES, PADDED), "corrupt"),
    ("page.eml", _base64_mail(LINES, PADDED, "text/html"), "corrupt"),
    ("one.eml", _base64_mail(LINES, b"QUJ"), "corrupt"),
    ("a.mht", _page(_base64_mail(LINES, PADDED, "text/html")) + b"\r\n--X--\r\n", "corrupt"),
    ("cut.eml", _cut("text/plain", "The first half of the statem"), "truncated"),
    ("cut.mht", _page(b"1.0\r\nContent-Type: text/html\r\n\r\n<p>The first half"), "truncated"),
    ("winmail.dat", tnef.write(message_of(NONE, _rtf(_plain_rtf(300)))), "truncated"),
    ("cut.msg", msg.write_item(message_of(NONE, _rtf(PACKED[:-60]))), "truncated"),
    ("group.msg", msg.write_item(message_of(NONE, _rtf(compress(RTF[:-1])))), "truncated"),
    ("page.msg", msg.write_item(message_of(NONE, _rtf(compress(b"{\\rtf1\\ansi\\ansicpg9999 \\'cf\\'f0}")))), "unsupported"),
    ("kind.msg", msg.write_item(message_of(MailForm(plain="see"), _rtf(_kind(PACKED)))), "corrupt"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data", "code"), INCOMPLETE, ids=[name for name, *_ in INCOMPLETE])
def test_a_text_that_is_not_all_there_is_partial(name: str, data: bytes, code: str) -> None:
    """There is some, and the exception says why it is not all."""
    one = reported_of(name, data)[0]
    assert one.text.strip()
    assert (one.state, one.codes) == (TextState.PARTIAL, [code])


@pytest.mark.parametrize("rtf", [_kind(PACKED), PACKED[:10]])
def test_a_body_of_which_nothing_can_be_read_has_failed(rtf: bytes) -> None:
    for write in (msg.write_item, tnef.write):
        (one,) = reported_of("winmail.dat", write(message_of(NONE, _rtf(rtf))))
        assert (one.state, one.codes, one.text.strip()) == (TextState.FAILED, ["corrupt"], "")
    one = reported_of("a.pst", mail_store((("Inbox",), NONE), details=_rtf(rtf)))[1]
    assert (one.state, one.codes) == (TextState.FAILED, ["corrupt"])


def test_messages_of_a_store_and_in_messages_say_it_too() -> None:
    store, one = reported_of("a.pst", mail_store((("Inbox",), NONE), details=_rtf(_plain_rtf(300))))
    assert (store.codes, one.state, one.codes) == ([], TextState.PARTIAL, ["truncated"])
    assert "zebra" in one.text
    assert "text_state" not in one.metadata
    inner = message_of(NONE, _rtf(_plain_rtf(300)))
    outer = message_of(MailForm(plain="see", attachments=(MailAttachment(name="", message=NONE),)))
    outer.attachments[0].message = inner
    for name, data in (("a.msg", msg.write_item(outer)), ("winmail.dat", tnef.write(outer))):
        around, inside = reported_of(name, data)
        assert (around.state, around.codes) == (TextState.OK, [])
        assert (inside.state, inside.codes) == (TextState.PARTIAL, ["truncated"])


WHOLE = [
    ("body.eml", _base64_mail(LINES, LINES[0])),
    ("footer.eml", _base64_mail(LINES, b"") + b"\r\n-- \r\nyour mailing list\r\n"),
    ("closed.eml", _cut("text/plain", "All of the statement.\r\n--X--\r\n")),
    ("a.msg", msg.write_item(message_of(NONE, _rtf(PACKED)))),
    ("plain.msg", msg.write_item(message_of(NONE, _rtf(_plain_rtf(len(RTF)))))),
    ("nul.msg", msg.write_item(message_of(NONE, _rtf(compress(RTF + b"\r\n\0"))))),
    ("winmail.dat", tnef.write(message_of(NONE, _rtf(PACKED)))),
]


@pytest.mark.parametrize(("name", "data"), WHOLE, ids=[name for name, _ in WHOLE])
def test_a_text_that_is_all_there_is_not(name: str, data: bytes) -> None:
    one = reported_of(name, data)[0]
    assert (one.state, one.codes) == (TextState.OK, [])


def test_a_cut_attachment_is_not_the_texts_loss() -> None:
    text = (
        b"The whole statement.\r\n--X\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment\r\n\r\n%PDF-1"
    )
    one = reported_of("a.eml", _cut("text/plain", "") + text)[0]
    assert (one.state, one.codes) == (TextState.OK, ["truncated"])


def test_a_page_that_cannot_be_parsed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(markup: str) -> str:
        raise DocumentError(ExceptionCode.CORRUPT, "the HTML cannot be parsed")

    monkeypatch.setattr(mail_text, "html_text", fails)
    parts = "text\r\n--X\r\nContent-Type: text/html\r\n\r\n<p>page\r\n--X--\r\n"
    one = reported_of("a.eml", _cut("text/plain", parts))[0]
    assert (one.state, one.codes, one.text.strip()) == (TextState.PARTIAL, ["corrupt"], "text")


KOI8 = SHORT.encode("koi8-r")
DOUBTFUL = [
    ("a.txt", KOI8),
    ("winmail.dat", winmail(attribute(0x0002800C, KOI8 + b"\0"))),
    ("a.msg", eight_bit_message({0x1000: KOI8})),
    ("header.eml", b"Subject: " + KOI8 + b"\r\n\r\nplain\r\n"),
    ("a.html", b"<meta charset=iso-8859-1><p>" + KOI8),
    ("a.eml", b"Content-Type: text/plain; charset=iso-8859-1\r\n\r\n" + KOI8),
    ("page.msg", eight_bit_message({0x1000: KOI8}, 1252)),
]
FEW = "قين.\nأدخل ".encode("cp720")  # which could be anything
CONTRADICTED = [
    ("a.eml", b"Content-Type: text/plain; charset=iso-8859-1\r\n\r\n" + FEW),
    ("a.rtf", b"{\\rtf1\\ansi " + b"".join(b"\\'%02x" % byte for byte in KOI8) + b"}"),
]


@pytest.mark.parametrize(("name", "data"), DOUBTFUL, ids=[name for name, _ in DOUBTFUL])
def test_what_had_to_be_guessed_is_called_so(name: str, data: bytes) -> None:
    one = reported_of(name, data)[0]
    assert SHORT in (one.text + str(one.metadata.get("subject")))
    assert one.state is TextState.GUESSED
    assert (one.metadata["charset_source"], one.metadata["charset_confidence"] < 100) == ("detected", True)


@pytest.mark.parametrize(("name", "data"), CONTRADICTED, ids=[name for name, _ in CONTRADICTED])
def test_a_declaration_that_reads_badly_is_a_guess(name: str, data: bytes) -> None:
    """Nothing else is sure, and so it is believed; it was `ok`."""
    one = reported_of(name, data)[0]
    assert (one.state, one.metadata["charset_source"]) == (TextState.GUESSED, "declared")


@pytest.mark.parametrize("message", [SHORT, SHORT.upper(), "ДОГОВОР ПОСТАВКИ 5", "ИТОГО", (9 * RUSSIAN).upper()])
@pytest.mark.parametrize("codec", ["koi8-r", "cp1251", "cp866"])
def test_a_right_declaration_is_none(message: str, codec: str) -> None:
    """Capitals alone are no reason for doubt."""
    one = reported_of("a.eml", f"Content-Type: text/plain; charset={codec}\r\n\r\n".encode() + message.encode(codec))[0]
    assert (one.state, one.text) == (TextState.OK, message)


XML = '<?xml version="1.0" encoding="ISO-8859-1"?>\n<a><b>'
TRUE_XML = [
    (XML.encode() + (5 * RUSSIAN).encode() + b"</b></a>", 5 * RUSSIAN),
    (XML.encode() + (5 * RUSSIAN).encode("cp1251") + b"</b></a>", 5 * RUSSIAN),
    (XML.encode() + "“never” – €500".encode("cp1252") + b"</b></a>", "“never” – €500"),
    (f"{XML}{RUSSIAN}</b></a>".replace("ISO-8859-1", "koi8-r").encode("koi8-r"), RUSSIAN),
    (f"{XML}Größe</b></a>".replace("ISO-8859-1", "ibm037").encode("cp037"), "Größe"),
    (f"{XML}Größe</b></a>".encode("utf-16"), "Größe"),
    (f"<a>{RUSSIAN}</a>".encode("cp1251"), RUSSIAN),
]


@pytest.mark.parametrize(("data", "wanted"), TRUE_XML)
def test_xml_is_read_as_its_bytes_are(data: bytes, wanted: str) -> None:
    out = handler_for("application/xml").text(MemorySource(b"a.xml", data), Limits())
    assert out.text == wanted.strip()
    assert "well_formed" not in out.metadata


def test_xml_that_is_not_well_formed_is_read_as_it_declares() -> None:
    data = '<?xml version="1.0" encoding="koi8-r"?><a><b>Да</a>'.encode("koi8-r")
    out = handler_for("application/xml").text(MemorySource(b"a.xml", data), Limits())
    assert (out.text.endswith("<b>Да</a>"), out.metadata["well_formed"]) == (True, False)
    large = handler_for("application/xml").text(MemorySource(b"a.xml", data), Limits(parse_bytes=10))
    assert large.text == out.text


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (("iso-8859-1", "Договор поставки".encode()), "Договор поставки"),
        (("gb2312", "供货期限".encode()), "供货期限"),
        (("utf-8", "Договор поставки подписан".encode("cp1251")), "Договор поставки подписан"),
        (("utf-8", "Жд".encode()[:-1]), "Ж\ufffd"),  # cut inside a character
        (("iso-8859-1", "Größe".encode("latin-1")), "Größe"),
        (("windows-1251", "ДОГОВОР".encode("cp1251")), "ДОГОВОР"),
        (("iso-2022-jp", "契約".encode("iso2022_jp")), "契約"),
        (("gb2312", "联通".encode("gb2312")), "联通"),
    ],
)
def test_encoded_words_are_read_as_their_bytes_are(word: tuple[str, bytes], message: str) -> None:
    label, data = word
    coded = base64.b64encode(data).decode()
    name = "".join(f"%{byte:02x}" for byte in data)
    mail = f"Subject: =?{label}?B?{coded}?=\r\nContent-Disposition: attachment; filename*={label}''{name}\r\n\r\nx"
    out = handler_for("message/rfc822").text(MemorySource(b"a.eml", mail.encode()), Limits())
    assert (out.metadata["subject"], out.metadata["attachments"]) == (message, [message])


@pytest.mark.parametrize("label", ["gb2312", "big5", "shift_jis", "euc-kr"])
@pytest.mark.parametrize("message", ["供货期限为九十天", "合同", "поставка"])
def test_utf_8_is_no_double_byte_text(label: str, message: str) -> None:
    """An even number of its characters is text in GB 18030 too, of rare ones."""
    page = f"<meta charset={label}><p>{message}".encode()
    out = handler_for("text/html").text(MemorySource(b"a.html", page), Limits())
    assert (out.text, out.metadata["charset"]) == (message, "utf-8")


@pytest.mark.parametrize(
    ("language", "charset"), [("zh_Hans", "gb2312"), ("zh_Hant", "big5"), ("ja", "shift_jis"), ("ko", "johab")]
)
def test_short_double_byte_text_is_no_utf_8(language: str, charset: str) -> None:
    text = fitting(own_texts()[language], charset)[:500]
    pieces = (text[at : at + size] for size in range(1, 9) for at in range(len(text) - size))
    wrong = [piece for piece in pieces if decode(piece.encode(charset), charset)[0] != piece]
    assert wrong == []
