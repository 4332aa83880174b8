"""readers.mail.boundary: multiparts whose boundary is written in another way, or not at all."""

import base64

import pytest
from as_found import Found
from hypothesis import given
from hypothesis import strategies as st

from core.records import Limits
from readers.base import MemorySource
from readers.errors import ExceptionCode
from readers.identification.identify import identify
from readers.mail.eml import EmlHandler
from readers.mail.parts import MAX_DEPTH

HANDLER = EmlHandler()
HEAD = "From: a@b.example\r\nMIME-Version: 1.0\r\nSubject: x\r\n"
BODY = (
    "--bb\r\nContent-Type: text/plain\r\n\r\nalphabody\r\n--bb\r\nContent-Type: text/csv; name=a.csv\r\n"
    "Content-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=a.csv\r\n\r\nd29yZGluY3N2LHk=\r\n--bb--\r\n"
)


def read(data: bytes) -> tuple[str, list[tuple[bytes, bytes | None]], list[ExceptionCode]]:
    """Text, children, and what was reported."""
    text, found = HANDLER.text(MemorySource(b"m.eml", data), Limits()), Found(HANDLER, data)
    errors = [text.error, *(child.error for child in found.children), found.error]
    children = [(child.name, child.data) for child in found.children]
    return text.text.strip(), children, [error.code for error in errors if error]


@pytest.mark.parametrize(
    "declared",
    [
        "multipart/mixed; (c) boundary=bb",
        "multipart/mixed (a (nested) c); boundary=bb (c)",
        "(c) multipart/mixed; boundary (c) = (c) bb",
        'multipart/mixed; boundary="bb" (c); charset=utf-8',
        "multipart / mixed; boundary=bb",
        "multipart/mixed, boundary=bb",
        "multipart/mixed boundary=bb",
        "multipart/mixed; boundary=bb, charset=utf-8",
        "multipart/mixed; charset=utf-8 boundary=bb",
        'multipart/mixed;\r\n\tcharset="utf-8\r\n\tboundary=bb',
        "multipart/mixed; boundary='bb'",
        'multipart/mixed; boundary=\\"bb\\"',
        'multipart/mixed; boundary="b\r\n\tb"',
        'multipart/mixed; boundary="bb',
        "multipart/mixed; boundary==bb",
        "multipart/mixed; boundary: bb",
        "multipart/mixed; boundary=--bb",
        "multipart/mixed; boundary=<bb>",
        "multipart/mixed; boundary=other",
        "multipart/mixed; boundary=",
        "multipart/mixed; boundary*=us-ascii''bb",
        "multipart/mixed; boundary*0=b; boundary*1=b",
        "multipart/mixed;",
        "multipart/mixed",
        "multipart/",
        "multipart",
        '"multipart/mixed"; boundary=bb',
        "Multipart/Mixed; BOUNDARY=bb; boundary=other",
    ],
)
def test_forms_of_the_header(declared: str) -> None:
    data = f"{HEAD}Content-Type: {declared}\r\n\r\n{BODY}".encode()
    assert read(data) == ("alphabody", [(b"a.csv", b"wordincsv,y")], [])


@pytest.mark.parametrize("newline", ["\n", "\r", "\r\r\n"])
def test_line_ends(newline: str) -> None:
    data = f"{HEAD}Content-Type: multipart/mixed; boundary=bb\r\n\r\n{BODY}".replace("\r\n", newline).encode()
    assert read(data) == ("alphabody", [(b"a.csv", b"wordincsv,y")], [])
    body = BODY.replace("\r\n", "\r")
    data = f"{HEAD}Content-Type: multipart/mixed; boundary=bb\r\n\r\n{body}".encode()
    assert read(data) == ("alphabody", [(b"a.csv", b"wordincsv,y")], [])


def test_a_header_that_is_lost() -> None:
    """A body that begins as a multipart is one; so is a file of nothing else."""
    assert read(f"{HEAD}\r\n{BODY}".encode()) == ("alphabody", [(b"a.csv", b"wordincsv,y")], [])
    assert identify(MemorySource(b"x", BODY.encode())) == "message/rfc822"
    assert read(BODY.encode()) == ("alphabody", [(b"a.csv", b"wordincsv,y")], [])


def test_a_multipart_with_the_boundary_of_the_one_around_it() -> None:
    inner = f"--bb\r\nContent-Type: multipart/alternative; boundary=bb\r\n\r\n{BODY}"
    data = f"{HEAD}Content-Type: multipart/mixed; boundary=bb\r\n\r\n{inner}--bb\r\n\r\nlastword\r\n--bb--\r\n".encode()
    text, children, _ = read(data)
    assert "alphabody" in text
    assert "lastword" in text
    assert children == [(b"a.csv", b"wordincsv,y")]


@pytest.mark.parametrize(
    "body",
    [
        "only text\r\n",
        "only text\r\n--bb--\r\n",
        " --bb\r\n\r\nindented\r\n",
        "-- \r\nsignature\r\n------\r\n\r\nx\r\n",
    ],
)
@pytest.mark.parametrize("declared", ["multipart/mixed", "multipart/mixed; boundary=bb"])
def test_what_cannot_be_split_is_text_and_reported(declared: str, body: str) -> None:
    text, children, codes = read(f"{HEAD}Content-Type: {declared}\r\n\r\n{body}".encode())
    assert text.split() == [word for word in body.split() if word != "--bb--"] or text.split() == body.split()
    assert children == []
    assert codes
    inside = f"--o\r\nContent-Type: {declared}\r\n\r\n{body}\r\n--o--\r\n"
    text, _, codes = read(f"{HEAD}Content-Type: multipart/mixed; boundary=o\r\n\r\n{inside}".encode())
    assert body.split()[0] in text
    assert codes == [ExceptionCode.CORRUPT]


def test_too_deep() -> None:
    data = "".join(f"Content-Type: multipart/mixed; boundary=b{n}x\n\n--b{n}x\n" for n in range(MAX_DEPTH + 2))
    text, _, codes = read(f"{HEAD}{data}\n\ninnermost\n".replace("\r", "").encode())
    assert "innermost" in text
    assert codes


_SPACE = st.sampled_from(["", " ", "\t", "\r\n ", " (c) ", "(a(b)c)"])
_BOUNDARIES = st.sampled_from(["bb", "=_Part_1.2", "----=_Next", "a'b(c)+_,-./:=?", "b b", "0" * 70])


@given(
    _BOUNDARIES, st.lists(_SPACE, min_size=8, max_size=8), st.booleans(), st.sampled_from(["", ";", "; charset=utf-8"])
)
def test_legal_forms(boundary: str, blanks: list[str], before: bool, more: str) -> None:
    """Comments and blanks wherever RFC 2045 allows them, quoted where a boundary needs it."""
    a, b, c, d, e, f, g, h = blanks
    other = f"{a}x-o{b}={c}1{d};" if before else ""
    declared = f'multipart/mixed{e};{other}{f}boundary{g}={h}"{boundary}"{a}{more}'
    body = BODY.replace("--bb", f"--{boundary}")
    assert read(f"{HEAD}Content-Type: {declared}\r\n\r\n{body}".encode()) == (
        "alphabody",
        [(b"a.csv", b"wordincsv,y")],
        [],
    )


@given(st.text(alphabet="multiparxed/;=bndcy\"'() \\,\t", max_size=40))
def test_whatever_is_declared_the_words_come_out(noise: str) -> None:
    data = f"{HEAD}Content-Type: multipart/mixed{noise}\r\n\r\n{BODY}".encode()
    text, children, codes = read(data)
    assert codes or (text, children) == ("alphabody", [(b"a.csv", b"wordincsv,y")])


def test_a_file_name_with_a_parenthesis_is_no_comment() -> None:
    """People send `a (1).pdf`, quoted or not."""
    part = "--bb\n\nx\n--bb\nContent-Type: application/pdf; name=a (1).pdf\n\nx\n--bb--\n"
    assert read(f"{HEAD}Content-Type: multipart/mixed; boundary=bb\n\n{part}".encode())[1] == [(b"a (1).pdf", b"x")]
    part = part.replace("application/pdf; name=a (1).pdf", 'application/pdf name="b (2).pdf"')
    assert read(f"{HEAD}Content-Type: multipart/mixed; boundary=bb\n\n{part}".encode())[1] == [(b"b (2).pdf", b"x")]


@pytest.mark.parametrize(
    ("label", "encoded"),
    [
        *((label, base64.b64encode(b"word caf\xc3\xa9")) for label in ('"base64"', "base-64", "base 64", "b64", "BASE64;", "base64 (c)", "x-base64", "'base64'", "mime/base64", "bas64")),
        *((label, b"word=20caf=C3=\r\n=A9") for label in ('"quoted-printable"', "quoted_printable", "quoted printable", "quotedprintable", "qp", "Quoted-Printable;", "quote-printable", "quoted")),
        *((label, b"word caf\xc3\xa9") for label in ("8bits", "8-bit", "'binary'", "none", "7BIT (c)", '"8bit"', "8 bit")),
    ],
)  # fmt: skip
def test_labels_of_transfer_encodings(label: str, encoded: bytes) -> None:
    head = f"Content-Transfer-Encoding: {label}\r\n".encode()
    data = HEAD.encode() + b"Content-Type: text/plain; charset=utf-8\r\n" + head + b"\r\n" + encoded
    assert read(data) == ("word café", [], [])
    file = b"--bb\r\nContent-Type: x/y; name=a\r\n" + head + b"\r\n" + encoded + b"\r\n--bb--"
    data = HEAD.encode() + b"Content-Type: multipart/mixed; boundary=bb\r\n\r\n" + file
    assert read(data) == ("", [(b"a", b"word caf\xc3\xa9")], [])


@pytest.mark.parametrize("label", ["x-gzip64", "utf-8", "base", "rot13", "x-own"])
def test_a_label_that_nobody_knows_is_reported(label: str) -> None:
    """Its bytes are left as they are (RFC 2045, 6.4)."""
    head = f"Content-Transfer-Encoding: {label}\r\n".encode()
    data = HEAD.encode() + head + b"\r\nd29yZA=="
    text, _, codes = read(data)
    assert codes or text == "word"


def test_soft_line_breaks_with_blanks_behind() -> None:
    """RFC 2045, 6.7 (3): blanks at the end of a line were added on the way. One in front of the line end is no other character."""
    head = HEAD.encode() + b"Content-Transfer-Encoding: quoted-printable\r\n\r\n"
    for end in (b"=  \r\n", b"=\t\n", b"= \t \r\n", b"=\r\n", b"=\n"):
        assert read(head + b"word" + end + b"inatt a=20=\r\nb = c =3D d=" + end.rstrip(b"\r\n=")) == (
            "wordinatt a b = c = d",
            [],
            [],
        )


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_message_in_wide_characters(codec: str) -> None:
    data = f"{HEAD}Content-Type: multipart/mixed; boundary=bb\r\n\r\n{BODY}".replace("alphabody", "alphabody ü")
    assert identify(MemorySource(b"x", data.encode(codec))) == "message/rfc822"
    assert read(data.encode(codec)) == ("alphabody ü", [(b"a.csv", b"wordincsv,y")], [])


def test_fields_that_are_there_twice() -> None:
    data = f"{HEAD}Content-Type: text/plain\r\nContent-Type: multipart/mixed; boundary=bb\r\n\r\n{BODY}"
    assert read(data.encode()) == ("alphabody", [(b"a.csv", b"wordincsv,y")], [])
    head = f"{HEAD}Content-Transfer-Encoding: 7bit\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    assert read(f"{head}d29yZA==\r\n".encode())[0] == "word"
    assert read(f"{head}two words.\r\n".encode())[0] == "two words."
