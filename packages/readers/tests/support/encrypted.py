"""Encrypted files as other programs make them, and the plain contents they are made of."""

import base64
import hashlib
import io
import lzma
import os
import random
import shutil
import subprocess
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import msoffcrypto.format.ooxml
import pytest
from cryptography.hazmat.decrepit.ciphers.algorithms import Blowfish
from cryptography.hazmat.decrepit.ciphers.modes import CFB
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from odfdo import Document, Paragraph
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

_OFFICE = Path(__file__).with_name("encrypted_files")
_MANIFEST = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
OFFICE_PASSWORD = "Password1234_"


def old_office(name: str) -> bytes:
    """A file that Microsoft Office encrypted (see SOURCES.md beside it)."""
    return lzma.decompress((_OFFICE / f"{name}.xz").read_bytes())


def archive(directory: Path, name: str, files: Mapping[str, bytes], *options: str) -> bytes:
    """What the program 7z makes of the files; skips where there is none."""
    program = shutil.which("7z") or shutil.which("7zz")
    if program is None:
        pytest.skip("the program 7z is not installed")
    directory.mkdir(parents=True, exist_ok=True)
    for member, data in files.items():
        (directory / member).write_bytes(data)
    line = [program, "a", *options, name, *files]
    subprocess.run(line, cwd=directory, check=True, capture_output=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    return (directory / name).read_bytes()


def pdf(text: str, user: str, owner: str) -> bytes:
    """A page under a user's and an owner's password."""
    out = io.BytesIO()
    page = Canvas(out, encrypt=StandardEncryption(user, owner, strength=128))
    page.drawString(72, 700, text)
    page.showPage()
    page.save()
    return out.getvalue()


def agile(package: bytes, password: str) -> bytes:
    """An Office Open XML package as Office 2010 and later encrypt it, by msoffcrypto-tool."""
    out = io.BytesIO()
    msoffcrypto.format.ooxml.OOXMLFile(io.BytesIO(package)).encrypt(password, out)
    return out.getvalue()


def odt(text: str, password: str, *, blowfish: bool = False) -> bytes:
    """A text document as LibreOffice 3.5 to 24.1 encrypt it, or with Blowfish as older ones and OpenOffice.org do."""
    plain = io.BytesIO()
    document = Document("text")
    document.body.append(Paragraph(text))
    document.save(plain)
    out, rows = io.BytesIO(), []
    with zipfile.ZipFile(plain) as package, zipfile.ZipFile(out, "w") as sealed:
        for name in package.namelist():
            if name == "mimetype":
                sealed.writestr(name, package.read(name))
            elif not name.startswith("META-INF") and not name.endswith("/"):
                data, row = _sealed(name, package.read(name), password, blowfish=blowfish)
                sealed.writestr(name, data)
                rows.append(row)
        sealed.writestr("META-INF/manifest.xml", f'<m:manifest xmlns:m="{_MANIFEST}">{"".join(rows)}</m:manifest>')
    return out.getvalue()


def _sealed(name: str, data: bytes, password: str, *, blowfish: bool) -> tuple[bytes, str]:
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = deflater.compress(data) + deflater.flush()
    dice = random.Random(name)  # the same bytes at every run: tests damage them at places
    salt, vector = dice.randbytes(16), dice.randbytes(8 if blowfish else 16)
    if blowfish:
        key = hashlib.pbkdf2_hmac("sha1", hashlib.sha1(password.encode()).digest(), salt, 1024, 16)
        sealed = Cipher(Blowfish(key), CFB(vector)).encryptor().update(packed)
        names = ("Blowfish CFB", "SHA1", "SHA1/1K", 16, 1024)
        checksum = hashlib.sha1(packed[:1024]).digest()
    else:
        key = hashlib.pbkdf2_hmac("sha1", hashlib.sha256(password.encode()).digest(), salt, 1000, 32)
        padding = 16 - len(packed) % 16
        padded = packed + dice.randbytes(padding - 1) + bytes((padding,))
        sealed = Cipher(algorithms.AES(key), modes.CBC(vector)).encryptor().update(padded)
        names = (
            "http://www.w3.org/2001/04/xmlenc#aes256-cbc",
            "http://www.w3.org/2000/09/xmldsig#sha256",
            f"{_MANIFEST}#sha256-1k",
            32,
            1000,
        )
        checksum = hashlib.sha256(packed[:1024]).digest()
    algorithm, start, check, size, rounds = names
    text = {n: base64.b64encode(v).decode() for n, v in (("salt", salt), ("vector", vector), ("sum", checksum))}
    return sealed, (
        f'<m:file-entry m:full-path="{name}" m:media-type="" m:size="{len(data)}">'
        f'<m:encryption-data m:checksum-type="{check}" m:checksum="{text["sum"]}">'
        f'<m:algorithm m:algorithm-name="{algorithm}" m:initialisation-vector="{text["vector"]}"/>'
        f'<m:start-key-generation m:start-key-generation-name="{start}"/>'
        f'<m:key-derivation m:key-derivation-name="PBKDF2" m:key-size="{size}" m:iteration-count="{rounds}"'
        f' m:salt="{text["salt"]}"/></m:encryption-data></m:file-entry>'
    )
