"""Entries of the signatures of a PDF (ISO 32000-1, 12.8.1, table 252): who signed, where, why, and how to reach them.

PDFium gives the reason and which bytes are signed. The rest is in the dictionary around the signature's own bytes,
which is in no object stream, for the signed bytes are all but those.
"""

from __future__ import annotations

import codecs
import ctypes
import re
from collections.abc import Iterator

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from readers.documents.pdf.pages import utf16

_MOST = 1_000  # signatures
_DICTIONARY = 10_000  # bytes in front of the signature, and behind it, in which its dictionary begins and ends
_KEY = re.compile(rb"/(?:Name|Location|ContactInfo)\s*(?:\(|<(?!<))")
_ESCAPED = re.compile(rb"\\([0-7]{1,3}|\r\n|[\x00-\xff])")
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f", b"\n": b"", b"\r": b"", b"\r\n": b""}


def said(document: pdfium.PdfDocument, data: bytes) -> Iterator[str]:
    """Each text of each signature. Of an encrypted document only the reasons: PDFium does not decrypt the others for us."""
    encrypted = raw.FPDF_GetSecurityHandlerRevision(document.raw) >= 0
    for index in range(min(raw.FPDF_GetSignatureCount(document.raw), _MOST)):
        signature = raw.FPDF_GetSignatureObject(document.raw, index)
        if reason := _reason(signature):
            yield reason
        if not encrypted:
            yield from filter(None, _texts(_dictionary(signature, data)))


def _reason(signature: raw.FPDF_SIGNATURE) -> str:
    length = raw.FPDFSignatureObj_GetReason(signature, None, 0)
    if length <= 2:
        return ""
    buffer = ctypes.create_string_buffer(length)
    raw.FPDFSignatureObj_GetReason(signature, buffer, length)
    return utf16(buffer.raw).strip()


def _dictionary(signature: raw.FPDF_SIGNATURE, data: bytes) -> bytes:
    """The bytes around the signature's bytes in its object; b"" where its byte range leads nowhere."""
    places = (ctypes.c_int * 4)()
    if raw.FPDFSignatureObj_GetByteRange(signature, places, 4) != 4:
        return b""
    before, behind = places[1], places[2]
    if not 0 < before < behind < len(data):
        return b""
    start = data.rfind(b"obj", max(0, before - _DICTIONARY), before)
    end = data.find(b"endobj", behind, behind + _DICTIONARY)
    return data[start:before] + data[behind:end] if start >= 0 and end >= 0 else b""


def _texts(dictionary: bytes) -> Iterator[str]:
    for found in _KEY.finditer(dictionary):
        at = found.end()
        if found[0].endswith(b"<"):
            digits = re.sub(rb"[^0-9A-Fa-f]", b"", dictionary[at:].partition(b">")[0])
            yield _decoded(bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode("ascii")))
        else:
            yield _decoded(_ESCAPED.sub(_character, dictionary[at : _closing(dictionary, at)]))


def _closing(data: bytes, at: int) -> int:
    """Where the string that begins here ends: parentheses in it are balanced or escaped (7.3.4.2)."""
    depth = 1
    while at < len(data):
        if data[at] == 0x5C:
            at += 1
        elif data[at] in b"()":
            depth += 1 if data[at] == 0x28 else -1
            if not depth:
                return at
        at += 1
    return at


def _character(escape: re.Match[bytes]) -> bytes:
    told = escape[1]
    return bytes((int(told, 8) & 0xFF,)) if told[:1].isdigit() and told < b"8" else _ESCAPES.get(told, told)


def _decoded(text: bytes) -> str:
    """A text string (7.9.2.2): UTF-16 or UTF-8 behind a mark, else PDFDocEncoding, whose letters are Latin-1's."""
    if text.startswith(codecs.BOM_UTF16_BE):
        return text[2:].decode("utf-16-be", "replace").strip()
    if text.startswith(codecs.BOM_UTF8):
        return text[3:].decode("utf-8", "replace").strip()
    return text.decode("cp1252", "replace").strip()
