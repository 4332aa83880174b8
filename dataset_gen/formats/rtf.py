"""Rich Text Format (specification 1.9.1): text, a table, pictures, now and then a packaged file."""

from __future__ import annotations

import codecs
import struct

from dataset_gen.formats import ole_package
from dataset_gen.formats.mapi_mail import RTF_UNICODE, rtf_escapes
from dataset_gen.formats.ooxml import split_size
from dataset_gen.made import Made, Order, branch, placed
from dataset_gen.material.people import file_stem
from dataset_gen.material.text import prose
from dataset_gen.rng import Dice
from readers.records import Kind

MEDIA_TYPE = "application/rtf"
_HEAD = (
    rb"{\rtf1\ansi\ansicpg1252\deff0\uc1{\fonttbl{\f0\fswiss\fcharset0 Calibri;}{\f1\froman\fcharset238 Cambria CE;}}"
    rb"{\colortbl;\red0\green0\blue0;}{\stylesheet{\s0 Normal;}}{\*\generator Edbench;}"
)
_BYTES = {"ja": 8, "ru": 6}  # for each character, where most are beyond windows-1252
_LINE = 64  # bytes in a line of digits
_ROW = r"\trowd\cellx2400\cellx4800\cellx9000\intbl %s\cell %d\cell %s\cell\row "


def _by_code_page(error: UnicodeError) -> tuple[str, int]:
    """Characters beyond ASCII as bytes of windows-1252 where it has them."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    try:
        return "".join(f"\\'{byte:02x}" for byte in text.encode("cp1252")), error.end
    except UnicodeEncodeError:
        return rtf_escapes(text), error.end


codecs.register_error("edbench.rtf-page", _by_code_page)


def _hex(data: bytes) -> bytes:
    return data.hex("\n", -_LINE).encode("ascii")


def _object(name: str, data: bytes, style: str) -> bytes:
    """Return an embedded OLE 1.0 object of class Package ([MS-OLEDS] 2.2.5) and its visible part."""
    native = ole_package.native(name, data)  # begins with its length
    whole = struct.pack("<II", 0x0501, 2) + ole_package.ansi("Package") + bytes(8) + native
    shown = name.encode("ascii", style)
    return b"{\\object\\objemb{\\*\\objclass Package}{\\*\\objdata\n%b}{\\result{\\f0 %b}}}\\par\n" % (
        _hex(whole),
        shown,
    )


def _information(dice: Dice, title: str) -> str:
    when = rf"\yr20{dice.between(10, 23)}\mo{dice.between(1, 12)}\dy{dice.between(1, 28)}\hr9\min{dice.below(60)}"
    return rf"{{\info{{\title {title}}}{{\author Author {dice.below(400)}}}{{\creatim{when}}}}}" + "\n"


def _table(dice: Dice) -> str:
    words = prose().plain
    rows = (_ROW % (dice.pick(words)[:-1], dice.below(1_000_000), dice.pick(words)[:-1]) for _ in range(6))
    return "\n".join(rows) + "\\pard\n"


def build(order: Order) -> Made:
    """Paragraphs and a table; big ones have pictures, a few a packaged file."""
    dice = order.dice
    style = RTF_UNICODE if dice.chance(0.5) else "edbench.rtf-page"
    text, pictures = split_size(order, text_most=60_000, picture=160_000)
    title = prose().title(dice, any_script=True)
    inner: list[tuple[str, Made]] = []
    carried: list[bytes] = []
    if text > 16_000 and dice.chance(0.08):
        ext = "xlsx" if dice.chance(0.5) else "txt"
        made = order.child(ext, 900, text // 5)
        name = f"{file_stem(dice)[:50]}.{ext}"
        inner.append((name, made))
        carried.append(_object(name, made.data, style))
        text -= 2 * len(made.data)
    for number, size in enumerate(pictures):
        made = order.child("jpg", number, size // 2)
        inner.append((f"picture-{len(inner)}.jpg", made))
        carried.append(b"{\\*\\shppict{\\pict\\picwgoal9000\\pichgoal6000\\jpegblip\n" + _hex(made.data) + b"}}\\par\n")
    words = _words(order, title, text).encode("ascii", style)
    footer = b"{\\footer\\pard Page footer\\par}\n" if dice.chance(0.2) else b""
    data = b"".join(
        (
            _HEAD,
            _information(dice, title).encode("ascii", style),
            b"\\pard\\plain\\f0\\fs22 ",
            words,
            *carried,
            footer,
            b"}\n",
        )
    )
    children = placed(Kind.EMBEDDED_OBJECT, inner)
    return branch(data, MEDIA_TYPE, own=(data,), children=children, characters=dice.characters, terms=order.terms)


def _words(order: Order, title: str, size: int) -> str:
    """Terms, title, paragraphs and now and then a table."""
    dice = order.dice
    table = _table(dice) if size > 3000 and dice.chance(0.3) else ""
    characters = max(size - 500, 60) // _BYTES.get(dice.language, 1)
    paragraphs = prose().paragraphs(dice, characters, any_script=True)
    lines = [*(f"{term}." for term in order.terms), "{\\b " + title + "}", *paragraphs]
    return "\\par\n".join(lines) + "\\par\n" + table
