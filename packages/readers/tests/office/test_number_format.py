"""Numbers as the formats of cells show them, behind the plain value where that has other words."""

from __future__ import annotations

import time
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.office.cell_formats import Styles, number_text, style_of
from readers.office.number_format import NumberFormat

START = datetime(1899, 12, 30)
PHONE = "[<=9999999]###\\-####;\\(###\\)\\ ###\\-####"
ACCOUNT = '_-* #,##0.00\\ "€"_-;\\-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-'


def shown(code: str, value: str, number: str = "164") -> str:
    return number_text(value, style_of(number, code), START)


@pytest.mark.parametrize(
    ("code", "value", "text"),
    [
        ("000\\-00\\-0000", "78051120", "78051120 078-05-1120"),
        ("00000", "1234", "1234 01234"),
        ('"INV"0000', "42", "42 INV INV0042"),
        ("\\A0", "5", "5 A5"),
        (PHONE, "2025550143", "2025550143 (202) 555-0143"),
        (PHONE, "5550143", "5550143 555-0143"),
        ("[>100]0.0;0.00", "7", "7 7.00"),
        ("[>100]0.0;0.00", "107", "107 107.0"),
        ("[>5]0.0;[<2]0.00", "3", "3"),
        ("#,##0.00", "1234567.5", "1234567.5 1,234,567.50"),
        ("$#,##0.00", "-1234.5", "-1234.5 -$1,234.50"),
        ("#,##0_);[Red](#,##0)", "-1234567", "-1234567 (1,234,567)"),
        (ACCOUNT, "-1234.5", "-1234.5 -1,234.50 €"),
        (ACCOUNT, "0", "0"),
        ("[$USD-409]#,##0.00", "7", "7 USD 7.00"),
        ("0.00", "2.675", "2.675 2.68"),
        ("0.00", "1.0049999999999999", "1.005 1.01"),
        ("0.0#", "12.256", "12.256 12.26"),
        ("0.0??", "12.2", "12.2"),
        (".00", "0.5", "0.5 .50"),
        ("0%", "0.125", "12.5% 13%"),
        ("0%;0", "-0.5", "-50% 1"),
        ("0.0,", "12345", "12345 12.3"),
        ('0.0,,"M"', "1234567", "1234567 1.2M"),
        ("0,000", "5", "5 0,005"),
        ("00\\:00", "930", "930 09:30"),
        ('0"."00', "512", "512 5.12"),
        ("0000 0000 0000 0000", "1234567812345670", "1234567812345670 1234 5678 1234 5670"),
        ('"paid";"due";"none"', "-3", "-3 due"),
        ("[h]:mm", "1.5", "36:00:00"),
        ("[mm]:ss", "1.5", "2160:00"),
        ("[h]:mm", "0.5", "12:00:00"),
    ],
)
def test_numbers_are_found_as_they_are_shown(code: str, value: str, text: str) -> None:
    """Sections, conditions, places, thousands, scales, percentages, literals of either form (ECMA-376 part 1, 18.8.31)."""
    assert shown(code, value) == text


@pytest.mark.parametrize(
    ("code", "value", "text"),
    [
        ("General", "1234.5", "1234.5"),
        ("[Red]General", "5", "5"),
        ("@", "5", "5"),
        ("0", "12", "12"),
        ("0.00", "12.34", "12.34"),
        ("#,##0.00", "12.34", "12.34"),
        ("0.00%", "0.125", "12.5%"),
        ("(0)", "5", "5"),
        ("+0;-0;0", "-4", "-4"),
        ("$0.00", "5.25", "5.25"),
        ('0" units"', "3", "3 units"),
        (";;;", "42", "42"),
        ("# ?/?", "0.5", "0.5"),
        ("0.00E+00", "12345", "12345"),
        ("yyyy-mm-dd;@", "38819", "2006-04-12"),
        ("0.00", "1e30", "1e30"),
        ("0.00", "inf", "inf"),
        ("0" * 65, "1", "1"),
        ("0" + "%" * 99, "1", f"{100:d}%"),
    ],
)
def test_where_nothing_is_gained_the_plain_value_stands_alone(code: str, value: str, text: str) -> None:
    """No other words: signs, brackets, colours; and what cannot be rendered, or would be of no end."""
    assert shown(code, value) == text


@pytest.mark.parametrize(
    ("number", "value", "text"),
    [
        ("3", "1234", "1234 1,234"),
        ("4", "1234.5", "1234.5 1,234.50"),
        ("2", "1.005", "1.005 1.01"),
        ("9", "0.125", "12.5% 13%"),
        ("37", "-1234", "-1234 (1,234)"),
        ("44", "1234.5", "1234.5 1,234.50"),
        ("46", "1.5", "36:00:00"),
        ("1", "12.5", "12.5 13"),
        ("0", "1234567.25", "1234567.25"),
    ],
)
def test_formats_that_a_workbook_need_not_tell(number: str, value: str, text: str) -> None:
    assert shown("", value, number) == text


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ('"Ref-"@', "Ref-42 x"),
        ('0;0;0;"INV"@', "42 x INV42 x"),
        ('0;0;0;@"kg"', "42 x 42 xkg"),
        ('General;General;General;@" Co"', "42 x Co"),
    ],
)
def test_a_section_for_texts(code: str, text: str) -> None:
    """What it puts around them; where that makes another word of one, the text stands by itself too."""
    form = NumberFormat(code)
    assert form.has_text
    assert form.text("42 x") == text


def test_ordinary_texts_have_no_section() -> None:
    """`@`, and one with blanks around it, show the text."""
    assert not any(NumberFormat(code).has_text for code in ("@", ACCOUNT, "0;0;;@", "0.00", ';;;"x"'))


@given(st.text('0#?,.%;@-\\"_*[]<>=$ xEGh1é', max_size=40), st.floats(allow_nan=True, allow_infinity=True))
def test_any_code_is_taken(code: str, number: float) -> None:
    text = f"{number:.15g}"
    told = NumberFormat(code).number(number, text)
    assert told == text or told.startswith(text + " ")


def test_codes_without_end_are_bounded() -> None:
    """Thousands of different formats, each asked for in turn by very many cells; beyond 1,000 none is rendered."""
    styles = Styles()
    for number in range(5_000):
        styles.take(str(number + 164), f'{"#" * 60}"{number}"0')
    began = time.process_time()
    told = [number_text("7", styles[at % 5_000], START) for at in range(50_000)]
    assert time.process_time() - began < 20
    assert told[0] == "7 07"
    assert told[4_999] == "7"
