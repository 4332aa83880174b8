"""readers.mail.eml: children, text, metadata and hashes of messages."""

import base64
import hashlib
import time
from email.message import EmailMessage
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

import pytest
from as_found import read_by
from hypothesis import given
from hypothesis import strategies as st
from unpacking import make_mail, unpack

from core.records import Limits
from readers.base import Child, MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.mail.base64 import base64_damage, decode_base64, sound_base64
from readers.mail.eml import EmlHandler
from readers.mail.headers import decode_words, field_date, message_ids, parameters
from readers.mail.inline import decode_uu
from readers.mail.parts import Message, charset_around, charset_of_names
from readers.mail.text import body_texts, folded

HANDLER = EmlHandler()
LIMITS = Limits()
read, children = read_by(HANDLER)


def sample(*, newline: bytes = b"\n") -> bytes:
    message = EmailMessage()
    message["From"] = "Ünal Ö <unal@example.org>"
    message["To"] = "b@example.org, c@example.org"
    message["Subject"] = "Prüfung des Vertrags"
    message["Date"] = "Tue, 02 Jan 2024 10:00:00 +0200"
    message["Message-ID"] = "<one@example.org>"
    message["References"] = "<zero@example.org> <minus@example.org>"
    message.set_content("Plain text, größer.\n")
    message.add_alternative("<p>Plain <b>text</b>, größer.</p>", subtype="html")
    message.add_attachment(b"%PDF-1.4 \x00\xff", maintype="application", subtype="pdf", filename="größe.pdf")
    inner = EmailMessage()
    inner["From"] = "x@example.org"
    inner["Subject"] = "inner"
    inner.set_content("inner text")
    message.add_attachment(inner)
    message.add_attachment(b"\x89PNG", maintype="image", subtype="png", disposition="inline")
    return message.as_bytes().replace(b"\n", newline)


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_children_are_all_leaves_but_the_text(newline: bytes) -> None:
    found = children(sample(newline=newline))
    assert [child.name.decode() for child in found] == ["größe.pdf", "part-1", "part-2"]
    assert [child.ordinal for child in found] == [0, 1, 2]
    assert found[0].data == b"%PDF-1.4 \x00\xff"
    assert found[1].media_type == "message/rfc822"
    assert found[1].data is not None
    assert found[1].data.startswith(b"From: x@example.org" + newline)
    assert found[2].data == b"\x89PNG"


def test_an_attached_message_keeps_its_bytes() -> None:
    """A message/rfc822 part is the embedded message byte for byte: its hash is that of the original."""
    inner = b"From: a@b.example\r\nSubject:  odd   spacing\r\nX-Long: a\r\n  b\r\n\r\nBody \xff\r\n\r\n"
    outer = (
        b"From: a@b.example\r\nContent-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\n\r\ntext\r\n--B\r\n"
        b"Content-Type: message/rfc822\r\n\r\n" + inner + b"\r\n--B--\r\n"
    )
    assert [child.data for child in children(outer)] == [inner]


def test_text_and_metadata() -> None:
    text = read(sample())
    assert text.text.strip() == "Plain text, größer."
    assert text.metadata == {
        "subject": "Prüfung des Vertrags",
        "from": "Ünal Ö <unal@example.org>",
        "to": "b@example.org, c@example.org",
        "date": "2024-01-02T08:00:00Z",
        "message_id": "one@example.org",
        "references": 2,
        "reference_ids": ["zero@example.org", "minus@example.org"],
        "date_original": "Tue, 02 Jan 2024 10:00:00 +0200",
        "attachments": ["größe.pdf", "part-1", "part-2"],
    }


def test_what_threads_are_made_of() -> None:
    many = b" ".join(b"<%d@x>" % n for n in range(5_000))
    ids = read(b"References: " + many + b"\n\nx").metadata["reference_ids"]
    assert (len(ids), ids[0], ids[1], ids[-1]) == (100, "0@x", "4901@x", "4999@x")
    for nbytes, shown in ((22, True), (27, True), (21, False), (24, False), (0, False)):
        field = b"Thread-Index: " + base64.b64encode(b"\1" * nbytes)
        metadata = read(b"From: a@b.example\n" + field + b"\n\nx").metadata
        assert metadata.get("conversation") == ("01" * nbytes if shown else None)
    odd = read(b"Thread-Index: not base64 !\n\nx")
    assert "conversation" not in odd.metadata


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
@pytest.mark.parametrize("written", ["Tue, 2 Jan 2024 10:00:00", "Tue, 2 Jan 2024 10:00:00 -0000"])
def test_a_date_without_zone_is_the_same_on_every_machine(
    zone: str, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its date has no zone, unless it says with `-0000` that it is in UTC. The hash that duplicates are found by takes it
    as UTC in every job."""
    given, utc = (f"From: a@b.example\nDate: {date}\n\nx".encode() for date in (written, "2 Jan 2024 10:00:00 +0000"))
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        text = read(given)
        hashes = [HANDLER.message_hashes(MemorySource(b"", data), LIMITS) for data in (given, utc)]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert text.metadata["date"] == ("2024-01-02T10:00:00Z" if "-0000" in written else "2024-01-02T10:00:00")
    assert text.metadata["date_original"] == written
    assert hashes[0] is not None
    assert hashes[0] == hashes[1]


def test_html_counts_when_there_is_no_plain_text() -> None:
    data = b"From: a@b.example\nContent-Type: text/html; charset=iso-8859-1\n\n<p>Gr\xfc\xdfe</p><script>x()</script>"
    assert read(data).text == "Grüße"
    blank = (
        b"From: a@b.example\nContent-Type: multipart/alternative; boundary=B\n\n--B\n\n \n--B\n"
        b"Content-Type: text/html\n\n<b>rich</b>\n--B--\n"
    )
    assert read(blank).text == "rich"


def test_a_missing_closing_boundary_is_truncation() -> None:
    """What is there stays, then `truncated`; a closed outer multipart makes an unclosed inner one merely sloppy."""
    whole = sample()
    cut = whole[: whole.rindex(b"--")]
    found: list[Child] = []
    with pytest.raises(DocumentError, match=r"^truncated:"):
        found.extend(HANDLER.children(MemorySource(b"", cut[: cut.rindex(b"--")]), LIMITS))
    assert len(found) == 3
    sloppy = (
        b"From: a@b.example\nContent-Type: multipart/mixed; boundary=O\n\n--O\nContent-Type: multipart/mixed; "
        b"boundary=I\n\n--I\nContent-Type: image/gif\n\nGIF\n--O\nContent-Type: image/png\n\nPNG\n--O--\n"
    )
    assert [child.data for child in children(sloppy)] == [b"GIF", b"PNG"]


def test_no_header_at_all_is_corrupt() -> None:
    with pytest.raises(DocumentError, match=r"^corrupt:"):
        children(b"\x00\x01\x02 not a message")


def test_too_large_is_refused() -> None:
    source = MemorySource(b"", sample())
    small = Limits(parse_bytes=100)
    with pytest.raises(DocumentError, match=r"^too_large:"):
        HANDLER.text(source, small)
    hashes = HANDLER.message_hashes(source, small)
    assert hashes is not None
    assert hashes.message_id_hash == hashlib.md5(b"<one@example.org>").digest()


def test_message_id_hash_is_the_edrm_one() -> None:
    """MD5 of the Message-ID in its angle brackets, as in the worked example that Relativity's documentation gives; the same
    where the brackets are missing; None when there is no Message-ID."""
    known = b"CALckR-a8UDkRjO4xJyjd_s0GPxQWw@mail.gmail.com"
    for field in (b"<%s>" % known, b"  <%s> " % known, known, b"\n <%s>" % known):
        hashes = HANDLER.message_hashes(MemorySource(b"", b"Message-ID: %s\n\nx" % field), LIMITS)
        assert hashes is not None
        assert (hashes.message_id_hash or b"").hex() == "1de319c276884bd0c9e2f1621ada26cc"
    hashes = HANDLER.message_hashes(MemorySource(b"", sample()), LIMITS)
    assert hashes is not None
    assert hashes.message_id_hash == hashlib.md5(b"<one@example.org>").digest()
    none = HANDLER.message_hashes(MemorySource(b"", b"From: a@b.example\n\nx"), LIMITS)
    assert none is not None
    assert none.message_id_hash is None


def test_content_hash_knows_copies_and_differences() -> None:
    def content(data: bytes) -> bytes:
        hashes = HANDLER.message_hashes(MemorySource(b"", data), LIMITS)
        assert hashes is not None
        return hashes.content_hash

    original = content(sample())
    assert content(b"Received: from elsewhere\n" + sample()) == original
    for old, new in ((b"b@example", b"d@example"), (b"<zero", b"<nought"), (b"10:00:00", b"10:00:01")):
        assert (content(sample().replace(old, new)) == original) is (old == b"<zero")
    plain = b"From: a@b.example\n\nsome  text\nhere\n"
    coded = b"From: A@b.example\nContent-Transfer-Encoding: base64\n\n" + base64.b64encode(b"some text here")
    assert content(plain) == content(coded)
    assert content(plain) != content(plain.replace(b"text", b"test"))
    page = b"From: a@b.example\nContent-Type: text/html\n\n<img src='data:image/png;base64,iVBO'>"
    assert content(page) != content(page.replace(b"iVBO", b"iVBP"))
    undated = [content(b"Date: %s\n" % date + plain) for date in (b"the third", b"the  third", b"the fourth")]
    assert (undated[0] == undated[1], undated[0] == undated[2]) == (True, False), "dates that cannot be read"


def test_digest_parts_are_messages() -> None:
    """Parts of a multipart/digest are messages by default (RFC 2046, 5.1.5)."""
    data = (
        b"From: a@b.example\nContent-Type: multipart/digest; boundary=B\n\n--B\n\nFrom: c@d.example\n\none\n--B\n\n"
        b"From: e@f.example\n\ntwo\n--B--\n"
    )
    found = children(data)
    assert [child.media_type for child in found] == ["message/rfc822"] * 2
    assert found[0].data == b"From: c@d.example\n\none"


def test_a_whole_message_that_is_one_file() -> None:
    data = (
        b"From: a@b.example\nContent-Type: application/pdf; name=x.pdf\nContent-Transfer-Encoding: base64\n\nJVBERg==\n"
    )
    assert [(child.name, child.data) for child in children(data)] == [(b"x.pdf", b"%PDF")]
    assert read(data).text == ""


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (b'Content-Disposition: attachment; filename="a b.txt"', "a b.txt"),
        (b"Content-Disposition: attachment; filename=a b.txt", "a b.txt"),
        (b"Content-Disposition: attachment; filename*=utf-8''%e2%82%ac%20rates", "€ rates"),
        (b"Content-Disposition: attachment; filename*0*=utf-8''%e2%82; filename*1*=%ac; filename*2=.x", "€.x"),
        (b'Content-Disposition: attachment; filename="=?utf-8?B?4oKsLng=?="', "€.x"),
        (b'Content-Disposition: attachment; filename="=?utf-8?Q?=E2=82?=\n =?utf-8?Q?=AC.x?="', "€.x"),
        (b'Content-Disposition: attachment; filename="\xe2\x82\xac.x"', "€.x"),
        (b'Content-Disposition: attachment; filename="q\\"uote"', 'q"uote'),
        (b'Content-Disposition: attachment\nContent-Type: image/x; name="n;ame.x"', "n;ame.x"),
        (b"Content-Disposition: attachment; filename*=nonsense''%ff", "ÿ"),
        (b"Content-Disposition: attachment", "part-0"),
    ],
)
def test_file_names(header: bytes, name: str) -> None:
    """RFC 2231, RFC 2047, 8-bit and sloppy file names."""
    data = b"From: a@b.example\nContent-Type: multipart/mixed; boundary=B\n\n--B\n" + header + b"\n\nx\n--B--\n"
    assert [child.name.decode() for child in children(data)] == [name]


@pytest.mark.parametrize(
    ("raw", "decoded"),
    [
        (b"aGVsbG8=", b"hello"),
        (b"aGVs\r\nbG8=\r\n", b"hello"),
        (b"aGVsbG8", b"hello"),
        (b"aG!Vs*bG8=", b"hello"),
        (b"aGVsbG8=aGVsbG8=", b"hellohello"),
        (b"aGVsbG8=\n-- \nA footer of the list.\n", b"hello"),
        (b"aGVsbG8h=\n", b"hello!"),
        (b"a", b""),
        (b"", b""),
    ],
)
def test_base64_with_junk(raw: bytes, decoded: bytes) -> None:
    assert decode_base64(raw) == decoded


@given(st.integers(60, 3000), st.data())
def test_a_changed_character_of_base64_is_seen(size: int, data: st.DataObject) -> None:
    coded = base64.encodebytes(bytes(i * 7 & 0xFF for i in range(size)))
    at = data.draw(st.integers(0, len(coded) // 77 * 77 - 1).filter(lambda n: n % 77 < 75))
    changed = coded[:at] + data.draw(st.sampled_from((b"=", b"!", b"\xff"))) + coded[at + 1 :]
    assert base64_damage(coded) is None
    assert base64_damage(changed) is not None


@pytest.mark.parametrize(
    ("coded", "message"),
    [
        (b"QUJDREVG", None),
        (b"QUJD\r\n REVG\n", None),
        (b"QUI=\n-- \nyour mailing list\n", None),
        (b"QUI", None),
        (b"", None),
        (b"QUJD\x00\xff!!REVG", "4 characters in it are not base64"),
        (b"QUJDR", "ends in the middle"),
        (b"QUJD=REVG", "where none is allowed"),
        (b"QUI=QUJDRA==QUI", None),
        (b"QUI=QUJDR", "where none is allowed"),
        (b"QUI=,QUJD", "continues after the padding"),
        (b"QUI=\n" + b"QUJD" * 19 + b"\n!!\n", "continues after the padding"),
        (b"QUJD" * 9 + b"QUI=" + b"QUJD" * 9 + b"\nQUJD\n", "where none is allowed"),
        (
            b"QUI=\n-- \n"
            + b"_" * 47
            + b"\nhttps://lists.example/mailman/listinfo/a-list-with-a-name-of-some-length\n",
            None,
        ),
    ],
)
def test_a_damaged_attachment_is_named_and_keeps_what_can_be_read(coded: bytes, message: str | None) -> None:
    head = b"From: a@b.example\nContent-Type: application/pdf; name=x.pdf\nContent-Transfer-Encoding: base64\n\n"
    (child,) = children(head + coded)
    assert child.data == decode_base64(coded)
    assert (child.error is None) == (message is None)
    if child.error is not None:
        assert child.error.code is ExceptionCode.CORRUPT
        assert message is not None
        assert message in child.error.detail


def test_the_exception_is_the_attachments_and_not_the_messages() -> None:
    mail = make_mail("s", attachments={"a.bin": bytes(60), "b.bin": bytes(range(60))})
    found = unpack(b"m.eml", mail.replace(b"AAAAAAAA", b"AAA\x01\x02\x03AA", 1))
    assert found.codes("m.eml", "a.bin") == ["corrupt"]
    assert found.codes("m.eml", "b.bin") == found.codes("m.eml") == []
    assert found.count("m.eml") == (None, 2, 0, False)


def test_uuencode() -> None:
    """The encoding of old attachments, with a line that is longer than its count."""
    assert decode_uu(b"begin 644 a.txt\n%:&5L;&\\\n`\nend\n") == (b"hello", None)
    assert decode_uu(b"begin 644 a\n%:&5L;&\\   junk!!\n`\nend\n") == (b"hello", None)


def test_encoded_words_and_dates_never_raise() -> None:
    assert decode_words("=?utf-8?Q?caf=C3=A9?= =?utf-8?Q?_bar?= end") == "café bar end"
    assert decode_words("=?x-unknown?B?!!!?= =?utf-8?Q?=ff?=").endswith(("\ufffd", "ÿ"))
    assert field_date(b"Thu, 99 Foo 99999 99:99") == ""
    assert field_date(b"Thu, 1 Jan 1970 00:00:00 GMT") == "1970-01-01T00:00:00Z"
    assert message_ids("no brackets@x") == ["no brackets@x"]
    assert parameters("x; a*99999999999=1; =; ;; b=").get("b") == ""


def test_deep_nesting_is_bounded() -> None:
    data = b"From: a@b.example\n"
    for i in range(1000):
        data += b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i)
    data += b"\ninnermost"
    with pytest.raises(DocumentError, match=r"^truncated:"):
        children(data)
    assert "innermost" in read(data).text


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0", exclude_categories=("Cs", "Cc")), max_size=40)


@given(TEXTS, st.lists(st.tuples(TEXTS, st.binary(max_size=200)), max_size=4), st.booleans())
def test_what_the_standard_library_writes_is_read_back(
    subject: str, files: list[tuple[str, bytes]], embed: bool
) -> None:
    outer = MIMEMultipart()
    outer["From"] = "a@example.org"
    outer["Subject"] = subject
    outer.attach(MIMEText("body", "plain", "utf-8"))
    for name, data in files:
        part = EmailMessage()
        part.set_content(data, maintype="application", subtype="octet-stream", filename=name or "x")
        del part["MIME-Version"]
        outer.attach(part)
    inner = MIMEText("inner", "plain", "us-ascii")
    if embed:
        outer.attach(MIMEMessage(inner))
    raw = outer.as_bytes()
    found = children(raw)
    assert [child.data for child in found[: len(files)]] == [data for _, data in files]
    if embed:
        assert found[-1].data == inner.as_bytes()
    assert len(found) == len(files) + embed
    text = read(raw)
    assert text.metadata.get("subject", "").split() == subject.split()


def test_one_part_of_a_message_sent_in_several() -> None:
    """RFC 2046, 5.2.2: the others are needed, and it says which one this is; what it holds stays as a child."""
    data = b'From: a@b.example\nContent-Type: message/partial; id="x"; number=2; total=3\n\nmiddle of something\n'
    error = read(data).error
    assert error is not None
    assert error.code is ExceptionCode.UNSUPPORTED
    assert "part 2 of 3" in error.detail
    assert [child.data for child in children(data)] == [b"middle of something\n"]


def test_a_memorandum_keeps_its_lines() -> None:
    memo = b"From: John\nTo: Mary\nSubject: X\nX-Colour: red\nStatus: RO\nClient: Acme\n Holdings\nMatter: Zeppelin takeover\n\nBody text.\n"
    text = read(memo)
    assert text.text == "Client: Acme Holdings\nMatter: Zeppelin takeover\nBody text.\n"
    sent = read(b"Message-ID: <1@x>\n" + memo)
    assert sent.text == "Body text.\n"


def test_a_message_without_a_header_keeps_its_words() -> None:
    text = EmlHandler().text(MemorySource(b"m.eml", b"no field\nbut words\n"), Limits())
    assert text.text == "no field\nbut words\n"
    assert (text.error and text.error.code) is ExceptionCode.CORRUPT


def test_an_encrypted_text_is_reported() -> None:
    for mark, encrypted in ((b"", True), (b"> ", False)):
        body = b"Hi\n" + mark + b"-----BEGIN PGP MESSAGE-----\n\nhQEMA\n-----END PGP MESSAGE-----\n"
        text = EmlHandler().text(MemorySource(b"m.eml", b"From: a@b.c\nTo: d@e.f\n\n" + body), Limits())
        assert (text.error is not None and text.error.code is ExceptionCode.ENCRYPTED) == encrypted


RUSSIAN = "Добрый день, коллеги, документы во вложении"


def _mail(names: list[str], charset: str, *, body: bytes, label: str = "", subject: bytes = b"t") -> bytes:
    declared = f"; charset={label}".encode() if label else b""
    parts = [b"Content-Type: text/plain" + declared + b"\n\n" + body]
    for name in names:
        raw = name.encode(charset)
        parts.append(
            b'Content-Type: a/b; name="%b"\nContent-Disposition: attachment; filename="%b"\n\ndata' % (raw, raw)
        )
    head = b"From: a@b.c\nSubject: " + subject + b"\nContent-Type: multipart/mixed; boundary=B\n\n--B\n"
    return head + b"\n--B\n".join(parts) + b"\n--B--\n"


def _names(data: bytes) -> list[str]:
    return [child.name.decode() for child in HANDLER.children(MemorySource(b"m.eml", data), Limits())]


@pytest.mark.parametrize(
    ("label", "body", "subject"),
    [
        ("windows-1251", RUSSIAN.encode("cp1251"), b"t"),
        ("windows-1251", b"see the attachment", b"t"),
        ("", RUSSIAN.encode("cp1251"), b"t"),
        ("", b"see the attachment", RUSSIAN.encode("cp1251")),
        ("iso-8859-1", b"see the attachment", RUSSIAN.encode("cp1251")),
    ],
)
def test_a_short_name_is_read_in_what_the_message_is_in(label: str, body: bytes, subject: bytes) -> None:
    data = _mail(["Счёт.txt", "plain.txt"], "cp1251", body=body, label=label, subject=subject)
    assert _names(data) == ["Счёт.txt", "plain.txt"]
    assert HANDLER.text(MemorySource(b"m.eml", data), Limits()).metadata["attachments"] == ["Счёт.txt", "plain.txt"]
    assert _names(_mail(["Счёт.txt"], "utf-8", body=body, label=label, subject=subject)) == ["Счёт.txt"]


def test_names_are_evidence_for_each_other() -> None:
    """Where nothing else does, all of them are looked at together."""
    names = ["Отчёт за третий квартал.doc", "Договор поставки оборудования.pdf", "Счёт.xls"]
    assert _names(_mail(names, "koi8-r", body=b"see the attachment")) == names


def test_a_header_is_read_in_what_the_text_below_it_is_in() -> None:
    data = _mail([], "cp1251", body=RUSSIAN.encode("cp1251"), label="windows-1251", subject="Счёт".encode("cp1251"))
    assert HANDLER.text(MemorySource(b"m.eml", data), Limits()).metadata["subject"] == "Счёт"


def test_texts_without_evidence() -> None:
    assert (
        charset_around([(b"abc", "iso-8859-1"), (b"abc", "us-ascii"), ("ä".encode(), "utf-8"), (b"abc", "nonsense")])
        == ""
    )
    assert charset_around([(b"abc", "koi8-r"), (RUSSIAN.encode("cp1251"), "")]) == "cp1251"
    assert charset_of_names([b"abc", b"\xe4\xc3"]) == ""


_BLANKS = [chr(code) for code in range(0x3001) if chr(code).isspace()]


@given(st.lists(st.sampled_from(_BLANKS + [" ", "  ", "\n\n"] * 4) | st.text(max_size=4), max_size=12).map("".join))
def test_folded_text_has_single_blanks(text: str) -> None:
    assert folded(text) == " ".join(text.split()).encode("utf-8", "replace")


def test_every_blank_is_one() -> None:
    for blank in _BLANKS:
        assert folded(f"{blank}é{blank} {blank}b{blank}") == "é b".encode()


def _both(plain: str, html: str) -> list[str]:
    """The lines of a message with these two forms of its body."""
    message = EmailMessage()
    message["From"] = "a@example.org"
    message.set_content(plain)
    message.add_alternative(html, subtype="html")
    text = EmlHandler().text(MemorySource(b"m.eml", message.as_bytes()), Limits()).text
    return [line for line in text.split("\n") if line]


@pytest.mark.parametrize(
    ("plain", "html"),
    [
        (
            "Dear Ann,\n\nthe *contract* is\nready.\n-- \nBob\n",
            "<p>Dear Ann,</p><p>the <b>contract</b> is ready.</p><p>Bob</p>",
        ),
        (
            "“Größe” – it’s 5 €\n",
            "<style>p {color: red}</style><p>&quot;Gr&ouml;&szlig;e&quot; &#8212; it&rsquo;s&nbsp;5 &euro;",
        ),
        ("abcdef\n", "<p title='other words'>ab<b>cd</b>ef</p><!-- a remark --><script>more()</script>"),
        ("これは文書\nです。\n", "<p>これは<i>文書です</i></p>"),
        ("see this\n", "<html><head><meta x=1>\n<title>another word</title></head><body><p>see this</p></body></html>"),
        ("a\u00d7b c\u00a0d\u00ad \u00e9\u00bf\n", "<p>a b\u3000c</p><p>d \u2014 \u00e9</p>"),
        ("> not able\n> to come\n", "<p>&gt; not&nbsp;able<br>&gt; to&nbsp;come</p>"),
        ("see\nhttps://example.org/x\n", '<a href="https://example.org/y?tracked">see</a> https://example.org/x'),
    ],
)
def test_a_page_with_the_same_words_is_read_once(plain: str, html: str) -> None:
    assert _both(plain, html) == [line for line in plain.split("\n") if line]


@pytest.mark.parametrize(
    ("html", "more"),
    [
        ("<p>plain words</p><p>and a secret</p>", ["and a secret"]),
        ("<p>plain</p><p>the word<b>s</b> of xmp</p>", ["the words of xmp"]),
        ("<xMp><hidden></xMp>", ["<hidden>"]),
        ("<head></head><p>plain</p><title>late</title> words", ["late"]),
        ("<p>plain if 1 < n and n > 0</p>", ["plain if 1 < n and n > 0"]),
        ("<p>plain words</p><style>x{}</style>late", ["late"]),
        ("<p>plain &amp;gt; words</p>", ["plain &gt; words"]),
        ("<p>plain&gt;words&gt;too</p>", ["plain>words>too"]),
    ],
)
def test_words_of_the_page_alone_are_found(html: str, more: list[str]) -> None:
    assert _both("plain words\n", html) == ["plain words", *more]


def test_a_page_with_many_more_words_is_whole() -> None:
    lines = [f"line {number} of the page" for number in range(30)]
    html = "".join(f"<p>{line}</p>" for line in ["see line", *lines])
    assert _both("see line\n", html) == ["see line", "see line", *lines]


def test_blanks_that_were_added_for_a_line_break_go() -> None:
    """RFC 3676: delsp=yes; quotes as deep as the line before are joined, a signature's mark is not."""
    body = "a wor \r\nd1 two \r\n\r\n> quo \r\n> ted \r\nown\r\n-- \r\nsig"
    for parameter, expected in (("; delsp=yes", "a word1 two\n> quoted\nown\r\n-- \r\nsig"), ("", body)):
        data = f"Content-Type: text/plain; format=flowed{parameter}\r\n\r\n{body}".encode()
        assert list(body_texts(Message(data).root)) == [expected]


@given(
    st.lists(
        st.sampled_from(
            (b"QUJD", b"QUI=", b"QQ==", b"A", b"=", b"==", b"===", b"\r\n", b" ", b"\t", b"!", b"-", b"\xff")
        ),
        max_size=7,
    ).map(b"".join)
)
def test_sound_base64_is_what_the_lenient_reader_reads(raw: bytes) -> None:
    sound = sound_base64(raw)
    if sound is not None:
        assert sound == decode_base64(raw)
        assert base64_damage(raw) is None


@given(st.binary(max_size=300))
def test_what_an_encoder_writes_is_sound(data: bytes) -> None:
    assert sound_base64(base64.encodebytes(data).replace(b"\n", b"\r\n")) == data


def test_an_encoded_multipart_without_parts_is_empty() -> None:
    """Its content is replaced by what it stands for (RFC 2045 forbids it), and what was decoded before is forgotten."""
    inside = base64.encodebytes(b"--b--\nepilogue")
    data = b"Content-Type: multipart/mixed; boundary=b\nContent-Transfer-Encoding: base64\n\n" + inside
    assert Message(data).root.content() == b""
    assert Message(data).child_parts() == []
