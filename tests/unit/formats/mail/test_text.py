"""formats.mail.text: the text of a message as it is hashed."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from formats.mail.text import folded

_BLANKS = [chr(code) for code in range(0x3001) if chr(code).isspace()]


@given(st.lists(st.sampled_from(_BLANKS + [" ", "  ", "\n\n"] * 4) | st.text(max_size=4), max_size=12).map("".join))
@settings(max_examples=300, deadline=None)
def test_folded_text_has_single_blanks(text: str) -> None:
    """Whatever kind of blank it was, in every alphabet."""
    assert folded(text) == " ".join(text.split()).encode("utf-8", "replace")


def test_every_blank_is_one() -> None:
    """Those of Western text and those beyond it."""
    for blank in _BLANKS:
        assert folded(f"{blank}é{blank} {blank}b{blank}") == "é b".encode()
