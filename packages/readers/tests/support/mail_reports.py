"""Small inputs after public bug reports of other readers of mail, contacts, calendars and Outlook's formats, and what has to come
out of each. The right outcome is the standard's. docs/dev/reports-tried.md has the results."""

import base64
import struct
from collections.abc import Sequence
from typing import NamedTuple

from outlook_bytes import attribute, eight_bit_message, winmail
from outlook_forms import mail_store

from dataset_gen.formats import msg, tnef
from dataset_gen.formats.mapi_mail import HEADERS, NOTE, Details, compress, message_of
from readers.mail_form import MailAttachment, MailForm


class Case(NamedTuple):
    """One input: the report (`own` for a relative of one), what is special in it, and what must be found: words, the name of a child
    at any depth (`child:`), bytes of a child (`bytes:` in hexadecimal), metadata (`meta:key=value`), an exception (`reported`); and
    words that must not be found (`absent:`)."""

    report: str
    about: str
    name: str
    data: bytes
    wanted: Sequence[str]


CASES: list[Case] = []
_HEAD = (
    "From: Ann Example <ann@example.org>\r\nTo: bob@example.org\r\nDate: Tue, 05 Mar 2024 10:11:12 +0100\r\n"
    "MIME-Version: 1.0\r\nSubject: s\r\n"
)


def outlook(report: str, about: str, name: str, data: bytes, wanted: Sequence[str]) -> None:
    CASES.append(Case(report, about, name, data, wanted))


def eml(report: str, about: str, text: str | bytes, wanted: Sequence[str], name: str = "m.eml") -> None:
    """Add a message, after the usual header where it is text."""
    data = text if isinstance(text, bytes) else (_HEAD + text).replace("\r\n", "\n").replace("\n", "\r\n").encode()
    CASES.append(Case(report, about, name, data, wanted))


def b64(data: str | bytes) -> str:
    return base64.b64encode(data if isinstance(data, bytes) else data.encode()).decode()


def _two_parts(boundary: str) -> str:
    coded = b64("wordincsv")
    return (
        f"--{boundary}\nContent-Type: text/plain\n\nalphabody\n--{boundary}\nContent-Type: text/csv; name=a.csv\n"
        f"Content-Transfer-Encoding: base64\n\n{coded}\n--{boundary}--\n"
    )


eml(
    "jstedfast/MimeKit#278",
    "a folded line of one blank behind the boundary parameter",
    "Content-Type: multipart/mixed;\n boundary=--boundary_0_8a\n \nX: y\n\n" + _two_parts("--boundary_0_8a"),
    ["alphabody", "wordincsv", "child:a.csv"],
)
eml(
    "own (RFC 2046, 5.2.3)",
    "the address of a reference to a file elsewhere",
    'Content-Type: multipart/mixed; boundary=bb\n\n--bb\nContent-Type: message/external-body; access-type=URL;\n URL="http://far.example"\n\nContent-Type: image/png\n\n--bb--\n',
    ["http://far.example"],
)
eml(
    "own (RFC 2045, 6.7; RFC 2047, 4.2)",
    "a soft break padded before two carriage returns, a question mark in an encoded word",
    _HEAD.encode()
    + b"Content-Transfer-Encoding: quoted-printable\r\nKeywords: =?utf-8?Q?who?_w=C3=B6rd?=\r\n\r\nsoft= \r\r\nbreak=3D\r\n",
    ["softbreak", "who? wörd"],
)
outlook(
    "own ([MS-OXTNEF])",
    "a file in the text of a winmail.dat",
    "winmail.dat",
    winmail(attribute(0x0002800C, b"see\r\nbegin 644 f.txt\r\n#86)C\r\n`\r\nend\r\n\0")),
    ["see", "abc", "child:f.txt"],
)
_FROM = "From a@b.c Tue Mar  5 10:11:12 2024\n"
_JOINED = (
    "Subject: two\nFrom: x@y.z\nContent-Type: multipart/mixed; boundary=bb\n\n--bb\nContent-Type: text/plain; name=a.txt\n"
    "Content-Transfer-Encoding: base64\n" + b64("longattword " * 600) + "\n--bb--\n"
)
eml(
    "jstedfast/MimeKit#1189",
    "mbox: a part without a blank line behind its header, base64 on one long line",
    f"{_FROM}{_JOINED}\n{_FROM}Subject: three\nFrom: x@y.z\n\nlastword\n".encode(),
    ["longattword", "lastword", "child:a.txt"],
    name="m.mbox",
)
eml(
    "jhillyerd/enmime#156",
    "a multipart that is not closed (reported)",
    'Content-Type: multipart/related;boundary=dummy\n\n--dummy\nContent-Type: text/xml;charset="UTF-8"\nContent-ID: A\n\n<ACORD>xmlword</ACORD>\n\n--dummy\nContent-Type: application/octet-stream; name=d.txt\nContent-Transfer-Encoding: base64\n\n'
    + b64("dummyword")
    + "\n",
    ["xmlword", "dummyword", "child:d.txt"],
)
eml(
    "apache/james-mime4j#71",
    "an inner boundary that continues the outer one",
    'Content-Type: multipart/mixed;\n boundary="--b.1"\n\n----b.1\nContent-Type: multipart/alternative;\n boundary="--b.1-1"\n\n----b.1-1\nContent-Type: text/plain\n\nsometext\n----b.1-1\nContent-Type: text/html\n\n<p>sometext</p>\n----b.1-1--\n----b.1\nContent-Type: text/plain;\n name="test.txt"\nContent-Disposition: Attachment;\n filename="test.txt"\n\npdfword\n----b.1--\n',
    ["sometext", "pdfword", "child:test.txt"],
)
eml(
    "nylas/sync-engine#174",
    "an encoded word broken over an address",
    _HEAD.replace(
        "From: Ann Example <ann@example.org>",
        "From: =?Subject?Q?Atenci=F3n=20al=20cliente=20 <soporte@ovh.es>,\r\n\t?=@robot.ovh.net",
    ).encode()
    + b"\r\nbody\r\n",
    ["soporte@ovh.es"],
)
eml(
    "python/cpython#128110",
    "no blank between encoded words of one name",
    _HEAD.replace("Ann Example", "=?utf-8?Q?B=C3=A9nard?= =?utf-8?Q?eau?=").encode() + b"\r\nbody\r\n",
    ["Bénardeau"],
)
eml(
    "sunholo-data/ailang#678",
    "an encoded file name with a comma",
    'Content-Type: multipart/mixed; boundary=bb\n\n--bb\nContent-Type: text/plain\nContent-Disposition: attachment; filename="=?iso-8859-1?Q?Eksempelvej_12B=2C_2000_K=F8ge?=.txt"\n\nx\n--bb--\n',
    ["x", "child:Eksempelvej 12B, 2000 Køge.txt"],
)
eml(
    "nodemailer/mailparser#159",
    "Content-Type without a type",
    'Content-Type: multipart/mixed; boundary=bb\n\n--bb\n\nbody\n--bb\nContent-Type: ; name="test.csv"\nContent-Disposition: attachment\n\nattword\n--bb--\n',
    ["attword", "child:test.csv"],
)
eml(
    "wneessen/go-mail#457",
    "further parameters behind the file name",
    'Content-Type: multipart/mixed; boundary=bb\n\n--bb\nContent-Type: text/plain\nContent-Disposition: attachment; filename="my.txt";\n\tsize=1043; creation-date="Tue,  18 Mar 2025 09:29:11 GMT"\n\nattword\n--bb--\n',
    ["attword", "child:my.txt"],
)
eml(
    "nodemailer/mailparser#370",
    "the charset in the page alone",
    (
        _HEAD
        + 'Content-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<html><head><meta http-equiv=3D"Content-Type" content=3D"text/html; charset=\r\n=3Diso-8859-1"></head><body>S=F8rensen=E5rhus</body></html>\r\n'
    ).encode(),
    ["Sørensenårhus"],
)
eml(
    "nodemailer/mailparser#161",
    "GBK in eight bits",
    (
        _HEAD + 'Content-Type: text/plain; charset="gbk"; format=flowed\r\nContent-Transfer-Encoding: 8bit\r\n\r\n'
    ).encode()
    + "测试邮件发给你".encode("gbk"),
    ["测试邮件发给你"],
)
eml(
    "zbateson/mail-mime-parser#103",
    "bytes of an attachment that declares a charset",
    "Content-Type: multipart/mixed; boundary=bb\n\n--bb\nContent-Type: application/octet-stream; charset=utf-8; name=a.bin\nContent-Transfer-Encoding: base64\n\n"
    + b64(b"\xff\xfe%PDF\xe9")
    + "\n--bb--\n",
    ["bytes:" + (b"\xff\xfe%PDF\xe9").hex(), "child:a.bin"],
)
_INNER = "From: x@y.z\nSubject: innersubject\n\ninnerword\n"
eml(
    "nodemailer/mailparser#371, aspineux/pyzmail#2, GOVCERT-LU/eml_parser#31",
    "the name of an attached message",
    'Content-Type: multipart/mixed; boundary=bb\n\n--bb\nContent-Type: message/rfc822; name="189844630"\nContent-Disposition: inline; filename="189844630"\n\n'
    + _INNER
    + "--bb--\n",
    ["innerword", "innersubject", "child:189844630"],
)
eml(
    "SpamScope/mail-parser#123",
    "a feedback report in base64 with a name",
    'Content-Type: multipart/report; boundary=bb\n\n--bb\n\nbody\n--bb\nContent-type: message/feedback-report; name="ATT00001";\n x-mac-creator="4F50494D"\nContent-disposition: attachment;\n\tfilename="ATT00001"\nContent-transfer-encoding: base64\n\n\n'
    + b64("Feedback-Type: auth-failure\r\nUser-Agent: NtesDmarcReporter/1.0\r\n")
    + "\n--bb--\n",
    ["NtesDmarcReporter", "child:ATT00001"],
)
eml(
    "OISF/suricata#2246",
    "a quote at the end of an unquoted boundary",
    'Content-Type: multipart/mixed; boundary=bb"\n\n' + _two_parts("bb"),
    ["alphabody", "wordincsv", "child:a.csv"],
)
eml(
    "own (RFC 2231, 3)",
    "continued file name that begins at 1",
    "Content-Type: multipart/mixed; boundary=bb\n\n--bb\nContent-Type: text/plain\nContent-Disposition: attachment; filename*1=one; filename*2=two.txt\n\nx\n--bb--\n",
    ["x", "child:onetwo.txt"],
)
_PARTS, _CODED = _two_parts("bb"), b64("wordinatt of a text that is long enough to be seen")
_BODY, _ATTACHED = (
    "Content-Transfer-Encoding: {}\n\n",
    "Content-Type: multipart/mixed; boundary=bb\n\n--bb\n{}\n--bb--\n",
)
for about, text, wanted in (
    (
        "a delimiter with a vertical tab",
        _ATTACHED.format("") + _PARTS.replace("--bb\n", "--bb\v\n"),
        ["alphabody", "child:a.csv"],
    ),
    (
        "a delimiter with a zero",
        _ATTACHED.format("") + _PARTS.replace("--bb\n", "--bb\0\n"),
        ["alphabody", "child:a.csv"],
    ),
    (
        "delimiters with a word (reported)",
        _ATTACHED[:44] + _PARTS.replace("--bb\n", "--bb word\n"),
        ["alphabody", "reported"],
    ),
    ("a boundary at a page", "Content-Type: text/html; boundary=bb\n\n" + _PARTS, ["alphabody", "wordincsv"]),
    ("a multipart that declares a text", "Content-Type: text/plain\n\n" + _PARTS, ["alphabody", "wordincsv"]),
    ("words before its first part", "\nThis is an S/MIME signed message\n\n" + _PARTS, ["alphabody", "wordincsv"]),
    (
        "base64 that declares quoted-printable (reported)",
        _BODY.format("quoted-printable") + _CODED,
        ["wordinatt", "reported"],
    ),
    (
        "an attachment in base64 that declares nothing (its bytes stay, reported)",
        _ATTACHED.format("Content-Type: text/csv; name=a.csv\n\n" + _CODED),
        ["bytes:" + _CODED.encode().hex(), "reported"],
    ),
    (
        "commands within words (RFC 1896)",
        "Content-Type: text/enriched\n\n<x-y><Param>no</Param>wo<bold>rd</bold></x-y> 1 << 2",
        ["word 1 < 2", "absent:bold", "absent:no"],
    ),
    (
        "commands within words (RFC 1341)",
        "Content-Type: text/richtext\n\n<comment>no</comment>wo<bold>rd<nl>a<lt>b",
        ["word\na<b", "absent:no"],
    ),
    (
        "a list's words after base64",
        _BODY.format("base64") + b64("bodyword ones") + "\nfooter of the list",
        ["bodyword ones", "footer of the list"],
    ),
    (
        "a charset whose escapes nothing here reads (reported as a guess)",
        "Content-Type: text/plain; charset=iso-2022-cn\n\n\x1b$)A\x0e:OM,\x0f word",
        ["word", "meta:charset=utf-8"],
    ),
):
    eml("own", about, text, wanted)


def vcf(report: str, about: str, text: str, wanted: Sequence[str], name: str = "c.vcf") -> None:
    """Add a vCard or a calendar."""
    eml(report, about, text.replace("\n", "\r\n").encode(), wanted, name)


_CARD_21, _CARD_30, _END = "BEGIN:VCARD\nVERSION:2.1\n", "BEGIN:VCARD\nVERSION:3.0\n", "END:VCARD\n"
vcf(
    "mangstadt/ez-vcard#59",
    "vCard 2.1: folded with several blanks",
    _CARD_21
    + "PHOTO;ENCODING=BASE64;TYPE=JPEG:\n    "
    + b64(b"\xff\xd8\xff\xe0photo")[:8]
    + "\n    "
    + b64(b"\xff\xd8\xff\xe0photo")[8:]
    + "\n\nFN:nextword\n"
    + _END,
    ["nextword", "bytes:" + b"\xff\xd8\xff\xe0photo".hex()],
)
vcf(
    "mangstadt/ez-vcard#112",
    "vCard 2.1: QUOTED-PRINTABLE without ENCODING=",
    _CARD_21 + "FN;CHARSET=UTF-8;QUOTED-PRINTABLE:J=C3=BCrgen=\n M=C3=BCller\n" + _END,
    ["Jürgen", "Müller"],
)
vcf("mangstadt/biweekly#12", "blanks of the value behind a fold", _CARD_30 + "NOTE:one\n  two\n" + _END, ["one two"])
vcf(
    "DanielHabenicht/ngx-vcard#377",
    "PHOTO inside a PHOTO value",
    _CARD_21 + "FN:Swapnil Patil\nPHOTO:PHOTO;TYPE=PNG;ENCODING=B:" + b64(b"\x89PNG\r\n\x1a\npng") + "\n" + _END,
    ["Swapnil Patil"],
)
_SHORT = b64(b"\xff\xd8\xff\xe0photo")
vcf(
    "own (Outlook)",
    "a picture in a property of Outlook's own",
    _CARD_21 + f"FN:Ann\nX-MS-CARDPICTURE;TYPE=JPEG;ENCODING=BASE64:\n {_SHORT}\n\n" + _END,
    ["Ann", "bytes:" + b"\xff\xd8\xff\xe0photo".hex(), f"absent:{_SHORT}"],
)
vcf("own (RFC 2426, 5)", "a note in base64", _CARD_30 + f"NOTE;ENCODING=b:{b64('noteword')}\n" + _END, ["noteword"])
vcf("own", "base64 that is none (reported)", _CARD_30 + "NOTE;ENCODING=b:wörd here\n" + _END, ["wörd here", "reported"])
_EVENT = "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\n"
_EVENT_END = "SUMMARY:summaryword\nEND:VEVENT\nEND:VCALENDAR\n"


def ics(report: str, about: str, lines: str, wanted: Sequence[str]) -> None:
    """Lines of one event."""
    vcf(report, about, _EVENT + lines + _EVENT_END, [*wanted, "summaryword"], name="c.ics")


ics(
    "kewisch/ical.js#109",
    "a line end inside a quoted parameter",
    'X-FOO;BAR="quoted\nparams";FOO=baz:realvalue\n',
    ["realvalue"],
)
ics(
    "kewisch/ical.js#1015",
    "a quote inside a quoted parameter",
    'ATTENDEE;CN=Bob;X-RESPONSE-COMMENT="I "may" come":mailto:bob@example.org\n',
    ["bob@example.org"],
)
ics(
    "kewisch/ical.js#454", "a quoted TZID", 'DTSTART;TZID="Eastern":20201008T100000\n', ["2020-10-08T10:00:00[Eastern]"]
)
ics(
    "kewisch/ical.js#612",
    "a quoted parameter, = and ; in the value",
    'X-ALT-DESC;FMTTYPE="text/html":Here is HTMLword with signs like =;\nSUMMARY;LANGUAGE=el:IMPACTS conference\n',
    ["HTMLword", "IMPACTS conference"],
)
ics(
    "peterbraden/ical.js#141",
    "a semicolon of an entity in a quoted parameter",
    'ATTENDEE;CN="Test";X-RESPONSE-COMMENT="test&quot;quoted&quot;string:with-colon":MAILTO:test@example.com\n',
    ["test@example.com"],
)


def _old_stream(page: int, subject: bytes, title: bytes, body: bytes = b"") -> bytes:
    """A stream of TNEF without properties."""
    return winmail(
        attribute(0x00069007, struct.pack("<II", page, 0)),
        attribute(0x00018004, subject + b"\0"),
        attribute(0x0002800C, body + b"\0") if body else b"",
        attribute(0x00069002, struct.pack("<HIHHI", 1, 0xFFFFFFFF, 32, 32, 0), 2),
        attribute(0x00018010, title + b"\0", 2),
        attribute(0x0006800F, b"tnefword\n", 2),
    )


def _form(**fields: object) -> MailForm:
    usual = {"subject": "s", "sender": ("Ann", "ann@example.org"), "plain": "bodyword\n"}
    return MailForm(**(usual | fields))  # type: ignore[arg-type]


def _file(name: str, data: bytes = b"attword\n") -> MailAttachment:
    return MailAttachment(name=name, data=data, media_type="text/plain")


def _store(form: MailForm, details: Details = NOTE) -> bytes:
    return mail_store((("Inbox",), form), details=details)


outlook(
    "verdammelt/tnef#12",
    "a title in code page 936",
    "winmail.dat",
    _old_stream(936, "主题测试".encode("gbk"), "测试.txt".encode("gbk")),
    ["tnefword", "主题测试", "child:测试.txt"],
)
outlook(
    "verdammelt/tnef#28",
    "a title in code page 950",
    "winmail.dat",
    _old_stream(950, "主題測試".encode("big5"), "測試文件.txt".encode("big5")),
    ["tnefword", "child:測試文件.txt"],
)
outlook(
    "koodaamo/tnefparse#7, verdammelt/tnef#46",
    "names and body in code page 1252",
    "winmail.dat",
    _old_stream(1252, "Été".encode("cp1252"), "déjà.txt".encode("cp1252"), "Où est l’élève".encode("cp1252")),
    ["tnefword", "Été", "élève", "child:déjà.txt"],
)
outlook(
    "roundcube/roundcubemail#5646",
    "a Hebrew long name in UTF-16",
    "winmail.dat",
    tnef.write(message_of(_form(attachments=(_file("קובץ לדוגמה.txt"),)))),
    ["attword", "child:קובץ לדוגמה.txt"],
)
t = bytearray(
    tnef.write(message_of(_form(attachments=(_file("one.txt", b"firstatt\n"), _file("two.txt", b"secondatt\n")))))
)
outlook(
    "Coffey-Labs/ihasmail#205",
    "a stream that breaks off (reported, what was read stays)",
    "winmail.dat",
    bytes(t[: t.index(b"secondatt")]),
    ["firstatt", "child:one.txt"],
)
outlook(
    "own ([MS-OXTNEF] 2.1.3.1)",
    "bytes behind the last attribute",
    "winmail.dat",
    bytes(t) + b"\r\n\r\ntrailing words of a list\r\n",
    ["firstatt", "secondatt", "child:one.txt", "child:two.txt"],
)
outlook(
    "verdammelt/tnef#20",
    "properties in UTF-16 alone",
    "winmail.dat",
    tnef.write(message_of(_form(subject="Пример", attachments=(_file("Filename Dez. 2016 - Kopie.txt"),)))),
    ["attword", "Пример", "child:Filename Dez. 2016 - Kopie.txt"],
)
rtf = compress(rb"{\rtf1\ansi\ansicpg1252 rtfword only}")
m = message_of(_form(plain=None, attachments=(MailAttachment(name="", message=_form(subject="inner", plain=None)),)))
m.attachments[0].message.properties[0x10090102] = rtf
outlook(
    "TeamMsgExtractor/msg-extractor#210",
    "an attached message with an RTF body alone",
    "m.msg",
    msg.write_item(m),
    ["rtfword only"],
)
m = message_of(_form(plain=None))
m.properties[0x10130102] = "<html><body>Sm\u00f8rrebr\u00f8d</body></html>".encode("cp1252")
m.properties[0x3FDE0003] = 1252
outlook("hrbrmstr/msgxtractr#4", "an HTML body in code page 1252", "m.msg", msg.write_item(m), ["Smørrebrød"])
outlook(
    "TeamMsgExtractor/msg-extractor#57",
    "attachments and no body",
    "m.msg",
    msg.write_item(message_of(_form(plain=None, attachments=(_file("only.txt"),)))),
    ["attword", "child:only.txt"],
)
_EIGHT_BITS = {
    0x001A: "IPM.Note",
    0x0037: "Договор",
    0x1000: "Добрый день, это письмо о договоре поставки оборудования",
}
outlook(
    "TeamMsgExtractor/msg-extractor#344",
    "strings of eight bits without a code page",
    "m.msg",
    eight_bit_message({ident: text.encode("cp1251") for ident, text in _EIGHT_BITS.items()}),
    ["договоре поставки", "Договор"],
)
outlook(
    "HiraokaHyperTools/msgreader#7",
    "recipients by kind",
    "m.msg",
    msg.write_item(message_of(_form(to=(("To", "to@x.org"),), cc=(("Cc", "cc@x.org"),), bcc=(("Bcc", "bcc@x.org"),)))),
    ["meta:to=to@x.org", "meta:cc=cc@x.org", "meta:bcc=bcc@x.org"],
)
m = message_of(_form(to=(("Kris", "kris@x.org"),)))
r = m.recipients[0]
for tag in list(r):
    if tag >> 16 in (0x3003, 0x3002, 0x39FE):
        r.pop(tag)
r[0x3002001F] = "EX"
r[0x3003001F] = "/o=Org/ou=Site/cn=Recipients/cn=kris"
r[0x39FE001F] = "kris@x.org"
outlook(
    "Sicos1977/MSGReader#525",
    "an Exchange address beside the SMTP one",
    "m.msg",
    msg.write_item(m),
    ["meta:to=kris@x.org"],
)
outlook(
    "bbottema/outlook-message-parser#31",
    "a bracket in an attachment's name",
    "m.msg",
    msg.write_item(message_of(_form(attachments=(_file("Attachment[1.txt"),)))),
    ["attword", "child:Attachment[1.txt"],
)
m = message_of(_form(subject="nulsubject"))
m.properties[0x0037001F] = "nulsubject\0\0"
outlook(
    "HiraokaHyperTools/msgreader#56",
    "NULs at the end of strings",
    "m.msg",
    msg.write_item(m),
    ["nulsubject", "absent:\0"],
)
_SIGNED = b"Content-Type: multipart/signed; boundary=bb\r\n\r\n--bb\r\nContent-Transfer-Encoding: base64\r\n\r\nc2lnbmVkd29yZAo=\r\n--bb--\r\n"
m = message_of(_form(attachments=(_file("signed.p7m", _SIGNED),)))
m.properties[0x001A001F] = "IPM.Note.SMIME.MultipartSigned"
outlook("own ([MS-OXOSMIME], MSG)", "a clear-signed entity", "m.msg", msg.write_item(m), ["signedword"])
outlook(
    "pst-format/libpst#14, libyal/libpff#128",
    "a file in a message in a message",
    "m.pst",
    _store(
        _form(
            attachments=(
                MailAttachment(
                    name="",
                    message=_form(
                        subject="inner", plain="innerword\n", attachments=(_file("deep.txt", b"deepword\n"),)
                    ),
                ),
            )
        )
    ),
    ["innerword", "deepword", "child:deep.txt"],
)
big = b"".join(b"line %d of a large file\n" % i for i in range(26000))
outlook(
    "rjohnsondev/java-libpst#47, libyal/libpff#80",
    "an attachment of 650 KB",
    "m.pst",
    _store(_form(attachments=(_file("large.txt", big),))),
    ["line 25999 of", "child:large.txt"],
)
outlook(
    "libyal/libpff#146",
    "recipients of every kind",
    "m.pst",
    _store(_form(to=(("To", "to@x.org"),), cc=(("Cc", "cc@x.org"),), bcc=(("Bcc", "bcc@x.org"),))),
    ["meta:to=to@x.org", "meta:cc=cc@x.org", "meta:bcc=bcc@x.org"],
)
outlook(
    "libyal/libpff#101", "addresses where there is no header", "m.pst", _store(_form()), ["meta:from=ann@example.org"]
)
outlook(
    "cjmach/pstconv#37",
    "a report of non-delivery with an attachment",
    "m.pst",
    _store(
        _form(attachments=(MailAttachment(name="", message=_form(subject="undelivered", plain="returnedword\n")),)),
        Details(message_class="REPORT.IPM.Note.NDR"),
    ),
    ["returnedword"],
)
outlook(
    "own ([MS-OXOSMIME], PST)",
    "a clear-signed entity",
    "m.pst",
    _store(
        _form(attachments=(_file("smime.p7m", _SIGNED),)),
        Details(message_class="IPM.Note.SMIME.MultipartSigned"),
    ),
    ["signedword"],
)
outlook(
    "own (dates)",
    "a date that only the header has, with a colon in its offset",
    "m.pst",
    _store(
        MailForm(subject="s", plain="x\n"),
        Details(properties={HEADERS: "Date: Tue, 05 Mar 2024 10:11:12 +01:00\r\nFrom: a@b.c\r\n\r\n"}),
    ),
    ["meta:date=2024-03-05T09:11:12Z"],
)
m = message_of(_form(attachments=(_file("lost.txt"), _file("kept.txt", b"keptword\n"))))
del m.attachments[0].properties[0x37010102]
outlook(
    "libyal/libpff#51, MSG",
    "an attachment by value without its data (reported)",
    "m.msg",
    msg.write_item(m),
    ["keptword", "reported", "child:kept.txt"],
)
t2 = message_of(_form(attachments=(_file("lost.txt"),)))
del t2.attachments[0].properties[0x37010102]
outlook("own ([MS-OXTNEF])", "an attachment without data (reported)", "winmail.dat", tnef.write(t2), ["reported"])
m = message_of(_form(plain=None, html=None))
m.properties[0x10090102] = compress(
    rb"{\rtf1\ansi\ansicpg1251\deff0{\fonttbl{\f0\fcharset204 A;}}\f0 \'cf\'f0\'e8\'e2\'e5\'f2}"
)
outlook("own ([MS-OXRTFCP])", "an RTF body in code page 1251", "m.msg", msg.write_item(m), ["Привет"])
outlook(
    "own (RFC 2557)",
    "a web archive whose lines end in two carriage returns; a file in a data: URI of its page",
    "m.mhtml",
    b"From: <Saved by Blink>\nContent-Type: multipart/related; boundary=bb\n\n--bb\nContent-Type: text/html\n\n"
    b"<p>mhtword<img src='data:text/plain;base64,ZHV3b3Jk'>\n--bb--\n".replace(b"\n", b"\r\r\n"),
    ["mhtword", "duword", "child:text-0.plain"],
)
eml(
    "own (RFC 2397)",
    "a file in a data: URI of the body, after decoding",
    "Content-Type: text/html\nContent-Transfer-Encoding: base64\n\n"
    + b64("<img src=data:text/plain;base64,ZHV3b3Jk>hello"),
    ["hello", "duword", "child:text-0.plain"],
)
eml(
    "own (POSIX 1003.1)",
    "uuencode without a name, of a mode with its type in a web page (reported)",
    "Content-Type: multipart/mixed; boundary=bb\n\n--bb\n\nbegin 644\n#86)C\n`\nend\n--bb\nContent-Type: text/html\n\n<pre>begin 100644 f.txt\n--bb--\n",
    ["abc", "reported"],
)
outlook(
    "own (X.690, 8.7.3)",
    "a signed message in parts within parts",
    "m.p7m",
    bytes.fromhex("308006092a864886f70d010702a08030800201013100308006092a864886f70d010701a080248024800417")
    + b"Subject: signedword\r\n\r\n\0\0\0\0\0\0\0\x001\0\0\0\0\0\0\0",
    ["signedword"],
)
