"""core.ocr: the languages a person names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UsageError
from core.ocr import MOST_LANGUAGES, parse_languages


@pytest.mark.parametrize(
    ("text", "found"),
    [("eng", "eng"), ("deu+eng+deu", "deu+eng"), ("chi_sim+script/Latin", "chi_sim+script/Latin")],
)
def test_names(text: str, found: str) -> None:
    assert parse_languages(text) == found


@pytest.mark.parametrize("text", ["", "eng+", "eng, deu", "../eng", "/etc/x", "script/../x", "-l", "e", "eng\n"])
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(UsageError, match="--ocr-languages") as refused:
        parse_languages(text)
    assert "\n" not in str(refused.value)


def test_not_too_many() -> None:
    with pytest.raises(UsageError, match=str(MOST_LANGUAGES)):
        parse_languages("+".join(f"l{n}a" for n in range(MOST_LANGUAGES + 1)))


@given(st.text(max_size=20))
def test_whatever_is_taken_is_harmless(text: str) -> None:
    try:
        names = parse_languages(text).split("+")
    except UsageError:
        return
    for name in names:
        assert name.replace("_", "a").replace("/", "a", 1).isalnum()
        assert name[0].isalnum()
