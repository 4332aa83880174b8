"""Messages, mail stores of text, signatures."""

from collections.abc import Iterable

from shapes.shape import Shape, shapes

_HEAD = b"From: a@b.cd\nTo: e@f.gh\nSubject: s\n"
_MULTI = _HEAD + b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n"
_PLAIN = _HEAD + b"\n"
_UNDECLARED = _HEAD + b"MIME-Version: 1.0\nContent-Type: multipart/mixed\n\n"
_HQX = b"(This file must be converted with BinHex 4.0)\n:#P*PF'pbG#jdH(3!9%9B9(4dH(3!:\n"
_OPEN = b"Content-Type: multipart/mixed; boundary=B\n\n--B\n\nx\n\n"
_UU = b"begin 644 a\n#86%A\n=ybegin line=128 size=1 name=x\n`\nend\n"


def _field(name: bytes, piece: bytes, n: int, head: bytes = b"", tail: bytes = b"") -> bytes:
    return _HEAD + name + b": " + head + piece * n + tail + b"\n\nbody\n"


def _continuations(n: int) -> bytes:
    """RFC 2231: a thousand pieces of each name."""
    pieces = b"".join(b"; f%d*%d*=a%%20" % (i // 1000, i % 1000) for i in range(n))
    return _HEAD + b"Content-Type: text/plain" + pieces + b"\n\nbody\n"


def _long_continuations(n: int) -> bytes:
    pieces = b"".join(b"; f*%d*=%b" % (i, b"a" * n) for i in range(500))
    return _HEAD + b"Content-Type: text/plain" + pieces + b"\n\nbody\n"


def _nested(n: int) -> bytes:
    head = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(60))
    return _HEAD + head + b"Content-Type: text/plain\n\n" + b"--b\n" * n


def _emlx(n: int) -> bytes:
    message = _MULTI + b"--B\n\n" * n
    return b"%d\n" % len(message) + message + b"<?xml version='1.0'?><plist/>"


def _mbox(line: bytes) -> bytes:
    return b"From a@b.cd Thu Jan  1 00:00:00 2026\nSubject: s\n\n" + line


def _length(n: int) -> bytes:
    return n.to_bytes(1, "big") if n < 128 else b"\x84" + n.to_bytes(4, "big")


def _der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return bytes((tag,)) + _length(len(content)) + content


_SIGNED, _DATA = bytes.fromhex("06092a864886f70d010702"), bytes.fromhex("06092a864886f70d010701")


def _signed(content: bytes, *more: bytes) -> bytes:
    inside = _der(0x30, b"\x02\x01\x01", b"\x31\x00", _der(0x30, _DATA, content), *more)
    return _der(0x30, _SIGNED, _der(0xA0, inside))


def _octets(n: int) -> bytes:
    return _signed(_der(0xA0, b"\x24\x80" + b"\x04\x01a" * n + b"\0\0"))


def _open_lengths(n: int) -> bytes:
    return _signed(
        _der(0xA0, _der(0x04, b"Subject: s\n\nx\n")), b"\xa0\x80" * 7 + b"\x05\x00" * n + b"\0\0" * 7, b"\x31\x00"
    )


def _both(lines: Iterable[bytes]) -> bytes:
    """The same lines as plain text and as a page, which is longer by a word in each."""
    plain = b"".join(lines)
    head = b"From: a@b.example\nContent-Type: multipart/alternative; boundary=B\n\n--B\nContent-Type: text/plain; charset=utf-8\n\n"
    page = plain.replace(b"\n", b"<br>more\n")
    return head + plain + b"--B\nContent-Type: text/html; charset=utf-8\n\n" + page + b"\n--B--\n"


SHAPES = [
    *shapes(
        "message/rfc822",
        ("many parts", 1_500, lambda n: _MULTI + b"--B\n\n" * n),
        (
            "many attachments",
            1_000,
            lambda n: (
                _MULTI
                + b"--B\nContent-Disposition: attachment; filename=a\nContent-Transfer-Encoding: base64\n\nQUJD\n" * n
            ),
        ),
        ("multiparts in one another", 4_000, _nested),
        ("lines that are nearly boundaries", 10_000, lambda n: _MULTI + b"--Bx\n" * n),
        ("dashes after a boundary of one dash", 20_000, lambda n: _MULTI.replace(b"=B", b"=-") + b"-" * n),
        ("odd lines in every header", 500, lambda n: _MULTI + b"--B\nX-A: b\nodd\nX Y: odd\nContent-ID: a\n" * n),
        ("odd lines", 5_000, lambda n: _HEAD + b"odd\nX-A: b\n" * n + b"MIME-Version: 1.0\n\nbody\n"),
        (
            "names in eight bits",
            500,
            lambda n: _MULTI + b"--B\nContent-Disposition: attachment; filename=\xd1\xf7\xb8\xf2\n\nQUJD\n" * n,
        ),
        (
            "pairs that are no character",
            5_000,
            lambda n: _field(b"Content-Type", b"text/plain; charset=euc-jp", 1) + b"\xfc\xe2\xfe\xfe" * n,
        ),
        ("carriage returns alone", 1_500, lambda n: (_MULTI + b"--B\n\n" * n).replace(b"\n", b"\r")),
        ("fields", 5_000, lambda n: _HEAD + b"X-A: b\n" * n + b"\nbody\n"),
        ("a folded field", 20_000, lambda n: _field(b"Subject", b"a\n ", n)),
        ("recipients", 5_000, lambda n: _field(b"To", b"a@b.cd, ", n)),
        ("a field of at signs", 5_000, lambda n: _field(b"To", b"<a@", n)),
        ("references", 5_000, lambda n: _field(b"References", b"<a@b> ", n)),
        ("brackets that do not close", 20_000, lambda n: _field(b"Message-ID", b"<", n)),
        ("encoded words", 2_000, lambda n: _field(b"Subject", b"=?utf-8?q?a?= ", n)),
        ("encoded words without an end", 5_000, lambda n: _field(b"Subject", b"=?a?b?", n)),
        ("parameters", 2_000, lambda n: _field(b"Content-Type", b"; a=b", n, b"text/plain")),
        ("parameters in open quotes", 5_000, lambda n: _field(b"Content-Type", b';a="\\', n, b"text/plain")),
        (
            "blanks where a parameter is",
            20_000,
            lambda n: _field(b"Content-Type", b"; " + b" " * 60, n // 60, b"text/plain"),
        ),
        ("continued parameters", 500, _continuations),
        ("long continued parameters", 300, _long_continuations),
        ("a date of words", 5_000, lambda n: _field(b"Date", b"Thu ", n)),
        ("files in the text", 100, lambda n: _PLAIN + _UU * n + b"=yend size=1\n"),
        ("files that begin in the text", 5_000, lambda n: _PLAIN + b"begin 644 a\n" * n),
        ("files that do not end", 1_000, lambda n: _PLAIN + b"begin 644 a\n#86%A\n> begin 644 b\n> #86%A\n" * n),
        ("files in BinHex", 500, lambda n: _PLAIN + _HQX * n),
        ("lines that may be boundaries", 5_000, lambda n: _UNDECLARED + b"--B\n\n" * n),
        (
            "boundaries that are not declared",
            1_000,
            lambda n: _UNDECLARED + b"--B\nContent-ID: a\n\n--C\n\n--C--\n" * n,
        ),
        ("closing boundaries", 5_000, lambda n: _MULTI + b"--B\n\n--B--\n" * n),
        ("comments in one another", 20_000, lambda n: _field(b"Content-Type", b"(", n, b"multipart/mixed", b")" * n)),
        ("quotes and comments", 5_000, lambda n: _field(b"Content-Type", b'("', n, b"multipart/mixed")),
        ("a date of comments", 20_000, lambda n: _field(b"Date", b"(", n)),
        (
            "base64 with padding in each block",
            5_000,
            lambda n: _field(b"Content-Transfer-Encoding", b"base64", 1) + b"QQ==" * n,
        ),
        (
            "padding alone",
            20_000,
            lambda n: _MULTI + b"--B\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n\nQQ" + b"=A" * n,
        ),
        (
            "quoted-printable",
            20_000,
            lambda n: _HEAD + b"Content-Transfer-Encoding: quoted-printable\n\n" + b"=\n=" * n,
        ),
        ("a page beside a plain text", 2_000, lambda n: _both(b"word%d and\n" % k for k in range(n))),
        ("alternatives of HTML", 300, lambda n: _MULTI + b"--B\nContent-Type: text/html\n\n<p>a\n" * n),
        ("blanks in the body", 20_000, lambda n: _PLAIN + b"a \t" * n),
    ),
    *shapes(
        "text/x-uuencode",
        ("files", 100, lambda n: _UU * n + b"=yend size=1\n"),
        ("files that do not end", 1_000, lambda n: b"begin 644 a\n#86%A\n" * n),
    ),
    *shapes("message/x-emlx", ("many parts", 4_000, _emlx)),
    *shapes(
        "application/mbox",
        ("small messages", 1_000, lambda n: _mbox(b"x\n\n") * n),
        ("lines that are nearly From_ lines", 5_000, lambda n: _mbox(b"\nFrom \n" * n)),
        ("From_ lines of at signs", 20, lambda n: _mbox((b"\nFrom " + b"@" * 900 + b" x\n") * n)),
        ("one long message", 200_000, lambda n: _mbox(b"text\n" * n)),
        ("messages that end elsewhere", 1_000, lambda n: _mbox(b"")[:-1] + b"Content-Length: 9999\n\nx\n\n" * n),
        ("multiparts that stay open", 1_000, lambda n: (_mbox(b"")[:-1] + _OPEN) * n),
        (
            "From_ lines in an open multipart",
            1_000,
            lambda n: _mbox(b"")[:-1] + _OPEN + _mbox(b"x\n\n") * n + b"--B--\n",
        ),
    ),
    Shape(
        name="a message over the limit of the window",
        media_type="application/mbox",
        make=lambda n: _mbox(b"\nFrom \n" * n),
        n=20_000,
    ),
    *shapes(
        "application/pkcs7-mime",
        ("content in parts", 5_000, _octets),
        ("open lengths in one another", 5_000, _open_lengths),
    ),
]
