"""Text of metafiles; the first byte says which kind."""

from metafiles import emf, emr, emr_font, emr_text, plus, plus_string, small, wide, wmf, wmr, wmr_ext_text, wmr_font
from reading import handler

_READERS = [handler("image/emf"), handler("image/wmf")]
_EMF = emf(wide("text"), emr_font(1, 204), emr(37, b"\1\0\0\0"), emr_text(b"\xcf\xf0", 2, kind=83), small(b"a", 0x200))
SEEDS = [
    b"\0" + _EMF,
    b"\0" + emf(plus(plus_string("text"))),
    b"\1" + wmf(wmr_font(204), wmr(0x12D, b"\0\0"), wmr_ext_text(b"text", options=2, far=(1, 2, 3, 4))),
]


def read(data: bytes) -> None:
    if data:
        _READERS[data[0] % 2](data[1:])
