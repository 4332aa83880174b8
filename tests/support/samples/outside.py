"""A file and a port that nothing may touch, and documents of many formats that ask for them."""

import ctypes
import os
import socket
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path

from pdf_file import CONTENT, HELVETICA, one_page, stream
from unpacking import make_zip

SECRET = "sesame-of-the-outside"
VISIBLE = "visible words"
_OPENED_OR_READ = 0x21  # inotify(7): IN_OPEN | IN_ACCESS
_PAD = "padding " * 300_000  # a part of more than two megabytes is read element by element


@dataclass(frozen=True, slots=True)
class Outside:
    """Where documents point to."""

    path: Path
    port: int

    @property
    def file(self) -> str:
        return self.path.as_uri()

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.port}/{SECRET}"


@contextmanager
def untouched(directory: Path) -> Iterator[Outside]:
    """At the end: AssertionError when the file was opened or somebody connected, at any time in between. Both are
    noted by the kernel as they happen, so there is nothing to wait for."""
    path = directory / "outside.txt"
    path.write_text(SECRET)
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert watch >= 0
    assert libc.inotify_add_watch(watch, bytes(path), _OPENED_OR_READ) >= 0
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        try:
            yield Outside(path, server.getsockname()[1])
            try:
                os.read(watch, 4096)
            except BlockingIOError:
                pass
            else:
                raise AssertionError("the file outside was opened")
            try:
                server.accept()
            except BlockingIOError:
                return
            raise AssertionError("somebody connected")
        finally:
            os.close(watch)


@dataclass(frozen=True, slots=True)
class Payload:
    """What a hostile XML has before its root, and in it."""

    prolog: str = ""
    inside: str = ""


def payloads(outside: Outside) -> dict[str, Payload]:
    """Every way in which XML reaches out or grows."""
    out = {}
    for name, uri in (("file", outside.file), ("http", outside.http)):
        out[f"entity {name}"] = Payload(f'<!DOCTYPE r [<!ENTITY x SYSTEM "{uri}">]>', "&x;")
        out[f"parameter entity {name}"] = Payload(f'<!DOCTYPE r [<!ENTITY % x SYSTEM "{uri}"> %x;]>')
        out[f"outer DTD {name}"] = Payload(f'<!DOCTYPE r SYSTEM "{uri}">')
        out[f"public DTD {name}"] = Payload(f'<!DOCTYPE r PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "{uri}">')
        out[f"style sheet {name}"] = Payload(f'<?xml-stylesheet type="text/xsl" href="{uri}"?>')
        include = f'<i:include xmlns:i="http://www.w3.org/2001/XInclude" href="{uri}" parse="text"/>'
        out[f"inclusion {name}"] = Payload(inside=include)
        schema = f'<s xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:schemaLocation="urn:x {uri}"/>'
        out[f"schema {name}"] = Payload(inside=schema)
    laughs = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(12))
    out["billion laughs"] = Payload(f'<!DOCTYPE r [<!ENTITY l0 "ha">{laughs}]>', "&l12;")
    out["quadratic growth"] = Payload(f'<!DOCTYPE r [<!ENTITY q "{"ha" * 50_000}">]>', "&q;" * 20_000)
    return out


_HEAD = '<?xml version="1.0"?>'
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_O = (
    'xmlns:o="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:t="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:b="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" '
    'xmlns:d="http://purl.org/dc/elements/1.1/"'
)
_DOCX = {
    "[Content_Types].xml": "<Types/>",
    "word/document.xml": f"<w:document {_W}><w:body><w:p/></w:body></w:document>",
}
_XLSX = {
    "[Content_Types].xml": "<Types/>",
    "xl/workbook.xml": '<workbook><sheets><sheet name="S"/></sheets></workbook>',
    "xl/worksheets/sheet1.xml": '<worksheet><sheetData><row><c t="s"><v>0</v></c></row></sheetData></worksheet>',
    "xl/sharedStrings.xml": f"<sst><si><t>{VISIBLE}</t></si></sst>",
}


def _package(parts: dict[str, str]) -> bytes:
    return make_zip({name: content.encode() for name, content in parts.items()})


def _paragraph(p: Payload, root: str, more: str = "") -> str:
    content = f"<w:p><w:r><w:t>{VISIBLE} {p.inside}</w:t></w:r></w:p>"
    body = f"<w:body>{content}{more}</w:body>" if root == "document" else content
    return f"{_HEAD}{p.prolog}<w:{root} {_W}>{body}</w:{root}>"


def _odf(kind: str, content: str, manifest: str = "<m/>", meta: str = "<m/>") -> bytes:
    first = {"mimetype": f"application/vnd.oasis.opendocument.{kind}"}
    body = f"{_HEAD}{content}"
    return make_zip(
        {
            n: c.encode()
            for n, c in {**first, "content.xml": body, "META-INF/manifest.xml": manifest, "meta.xml": meta}.items()
        },
        stored=True,
    )


def _text_document(p: Payload) -> str:
    return f"{p.prolog}<o:document {_O}><o:body><o:text><t:p>{VISIBLE} {p.inside}</t:p></o:text></o:body></o:document>"


def _page(p: Payload) -> str:
    return f"{p.prolog}<html><head><title>t</title></head><body><p>{VISIBLE} {p.inside}</p></body></html>"


def _mhtml(p: Payload) -> bytes:
    head = "From: <Saved by Blink>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=B\r\n\r\n"
    return f"{head}--B\r\nContent-Type: text/html\r\n\r\n{_page(p)}\r\n--B--\r\n".encode()


def _mail(p: Payload) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "a@example.org", "page"
    mail.set_content(_page(p), subtype="html", cte="base64")
    return mail.as_bytes()


_SHOWN = stream(b"BT /F 9 Tf 9 9 Td (" + VISIBLE.encode() + b") Tj ET")


def form(p: Payload) -> bytes:
    """A PDF with an XFA form."""
    x = 'xmlns:x="http://www.xfa.org/schema/xfa-data/1.0/"'
    data = f"{p.prolog}<x:datasets {x}><x:data><f>{VISIBLE} {p.inside}</f></x:data></x:datasets>"
    packet = stream(zlib.compress(data.encode()), b"/Filter/FlateDecode")
    form = b"/AcroForm<</Fields[]/XFA[(datasets) 6 0 R]>>"
    return one_page(_SHOWN, HELVETICA, packet, entries=CONTENT, catalogue=form)


Carrier = Callable[[Payload], bytes]
CARRIERS: dict[str, Carrier] = {
    "a.xml": lambda p: f"{_HEAD}{p.prolog}<r>{VISIBLE} {p.inside}</r>".encode(),
    "a.svg": lambda p: (
        f'{_HEAD}{p.prolog}<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text>{VISIBLE} {p.inside}</text></svg>'
    ).encode(),
    "a.html": lambda p: _page(p).encode(),
    "a.xhtml": lambda p: (_HEAD + _page(p)).encode(),
    "a.mht": _mhtml,
    "a.eml": _mail,
    "body.docx": lambda p: _package({**_DOCX, "word/document.xml": _paragraph(p, "document")}),
    "large.docx": lambda p: _package(
        {**_DOCX, "word/document.xml": _paragraph(p, "document", f"<w:p><w:r><w:t>{_PAD}</w:t></w:r></w:p>")}
    ),
    "types.docx": lambda p: _package(
        {
            "[Content_Types].xml": f"{_HEAD}{p.prolog}<Types>{p.inside}</Types>",
            "word/document.xml": _paragraph(Payload(), "document"),
        }
    ),
    "notes.docx": lambda p: _package(
        {
            **_DOCX,
            "word/document.xml": _paragraph(Payload(), "document"),
            **{f"word/{part}.xml": _paragraph(p, root) for part, root in (("comments", "comments"), ("header1", "hdr"))},
            "docProps/core.xml": f"{_HEAD}{p.prolog}<c {_O}><d:title>{p.inside}</d:title></c>",
        }
    ),
    "strings.xlsx": lambda p: _package(
        {**_XLSX, "xl/sharedStrings.xml": f"{_HEAD}{p.prolog}<sst><si><t>{VISIBLE} {p.inside}</t></si></sst>"}
    ),
    "sheet.xlsx": lambda p: _package(
        {
            **_XLSX,
            "xl/worksheets/sheet1.xml": f'{_HEAD}{p.prolog}<worksheet><sheetData><row><c t="s"><v>0</v></c>'
            f'<c t="inlineStr"><is><t>{p.inside}</t></is></c></row></sheetData></worksheet>',
        }
    ),
    "a.pptx": lambda p: _package(
        {
            "[Content_Types].xml": "<Types/>",
            "ppt/presentation.xml": "<p/>",
            "ppt/slides/slide1.xml": f'{_HEAD}{p.prolog}<s xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
            f"<a:p><a:r><a:t>{VISIBLE} {p.inside}</a:t></a:r></a:p></s>",
        }
    ),
    "a.odt": lambda p: _odf("text", _text_document(p)),
    "meta.odt": lambda p: _odf(
        "text",
        _text_document(Payload()),
        f"{_HEAD}{p.prolog}<m:manifest {_O}>{p.inside}</m:manifest>",
        f"{_HEAD}{p.prolog}<o:m {_O}><d:title>{p.inside}</d:title></o:m>",
    ),
    "a.ods": lambda p: _odf(
        "spreadsheet",
        f'{p.prolog}<o:d {_O}><o:body><o:spreadsheet><b:table b:name="n"><b:table-row><b:table-cell><t:p>{VISIBLE} {p.inside}'
        "</t:p></b:table-cell></b:table-row></b:table></o:spreadsheet></o:body></o:d>",
    ),
    "form.pdf": form,
}  # fmt: skip


def _relations(kind: str, targets: list[str]) -> str:
    base = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    all_ = "".join(
        f'<Relationship Id="r{n}" Type="{base}/{kind}" Target="{target}" {mode}/>'
        for n, target in enumerate(targets)
        for mode in ('TargetMode="External"', "")
    )
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{all_}</Relationships>'


def references(outside: Outside) -> dict[str, bytes]:
    """Documents that name the file and the address in the ways of their own formats."""
    targets = [outside.file, outside.http, str(outside.path), "../" * 20 + str(outside.path).lstrip("/")]
    kinds = ("attachedTemplate", "image", "oleObject", "package", "hyperlink", "frame", "subDocument", "aFChunk")
    page = "".join(
        f'<link rel=stylesheet href="{t}"><img src="{t}" srcset="{t} 2x"><iframe src="{t}"></iframe><script src="{t}"></script>'
        f'<object data="{t}"></object><embed src="{t}"><video src="{t}" poster="{t}"></video><input type=image src="{t}">'
        f'<style>@import url("{t}"); p {{background: url({t})}}</style><meta http-equiv=refresh content="0;url={t}">'
        for t in targets
    )
    html = f"<!doctype html><base href='{outside.http}'><body background='{outside.http}'>{page}<p>{VISIBLE}</p>"
    svg = "".join(f'<image href="{t}"/><use xlink:href="{t}#a"/><a href="{t}"/>' for t in targets)
    rtf = "".join(rf'{{\field{{\*\fldinst INCLUDETEXT "{t}"}}}}{{\*\template {t}}}{{\field{{\*\fldinst INCLUDEPICTURE "{t}"}}}}' for t in targets)  # fmt: skip
    linked = "".join(f'<t:a x:href="{t}">{VISIBLE}</t:a><t:section-source x:href="{t}"/>' for t in targets)
    path = str(outside.path).encode()
    far = b"<</Length 0/F(" + path + b")>>\nstream\n\nendstream"
    spec = b"<</Type/Filespec/F(" + path + b")/UF(" + path + b")>>"
    action = b"<</S/GoToR/F " + spec + b"/Next[<</S/URI/URI(" + outside.http.encode() + b")>>]>>"
    names = b"/OpenAction " + action + b"/Names<</EmbeddedFiles<</Names[(x) 6 0 R]>>>>"
    contents = CONTENT.replace(b"4 0 R", b"[4 0 R 7 0 R]")
    card = "".join(f"PHOTO;VALUE=uri:{t}\r\nLOGO:{t}\r\nSOURCE:{t}\r\n" for t in targets)
    event = "".join(f"ATTACH:{t}\r\nATTACH;FMTTYPE=text/plain:{t}\r\nIMAGE;VALUE=URI:{t}\r\n" for t in targets)
    body = (
        f"Content-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\nContent-Type: text/plain\r\n\r\n{VISIBLE}\r\n"
        + "".join(
            f'--B\r\nContent-Type: message/external-body; access-type={kind}; name="{t}"; url="{t}"\r\n\r\nContent-Type: text/plain\r\n\r\n\r\n'
            for t in targets
            for kind in ("local-file", "URL", "anon-ftp")
        )
    )
    return {
        "a.html": html.encode(),
        "a.svg": f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"><text>{VISIBLE}</text>{svg}</svg>'.encode(),
        "a.rtf": (r"{\rtf1\ansi " + rtf + VISIBLE + "}").encode(),
        "a.docx": _package(
            {
                **_DOCX,
                "word/document.xml": _paragraph(Payload(), "document"),
                **{f"{place}_rels/{part}.rels": "".join(_relations(k, targets) for k in kinds[:1]) for place, part in (("", ""), ("word/", "settings.xml"))},
                "word/_rels/document.xml.rels": _relations("image", targets).replace(
                    "</Relationships>", "".join(_relations(k, targets).partition(">")[2].removesuffix("</Relationships>") for k in kinds) + "</Relationships>"
                ),
            }
        ),
        "a.xlsx": _package(
            {
                **_XLSX,
                "xl/externalLinks/externalLink1.xml": "<externalLink><externalBook/></externalLink>",
                "xl/externalLinks/_rels/externalLink1.xml.rels": _relations("externalLinkPath", targets),
                "xl/worksheets/_rels/sheet1.xml.rels": _relations("oleObject", targets),
            }
        ),
        "a.odt": _odf(
            "text",
            f'<o:d {_O} xmlns:x="http://www.w3.org/1999/xlink"><o:body><o:text><t:p>{VISIBLE} {linked}</t:p></o:text></o:body></o:d>',
        ),
        "a.pdf": one_page(_SHOWN, HELVETICA, spec, far, entries=contents, catalogue=names),
        "a.vcf": f"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:{VISIBLE}\r\n{card}END:VCARD\r\n".encode(),
        "a.ics": f"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:{VISIBLE}\r\n{event}END:VEVENT\r\nEND:VCALENDAR\r\n".encode(),
        "a.eml": f"From: a@example.org\r\nSubject: s\r\nMIME-Version: 1.0\r\n{body}--B--\r\n".encode(),
        "page.eml": b"From: a@example.org\r\nSubject: s\r\nContent-Type: text/html\r\n\r\n" + html.encode(),
    }  # fmt: skip
