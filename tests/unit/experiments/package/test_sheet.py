"""What an operator says of a filer: filled in, printed, and held by the package."""

import csv
from pathlib import Path

import pytest

from core.errors import UsageError
from experiments.package.check import check, describe
from experiments.package.manifest import MANIFEST, seal
from experiments.report.sheet import FILE, TEMPLATE, parse_sheet

FILLED = TEMPLATE.replace('name = ""', 'name = "Filer <1>"').replace("0.0", "50_000.0").replace(
    'currency = ""', 'currency = "EUR"'
)  # fmt: skip


def test_a_sheet_is_printed_with_figures_for_the_price(copied: Path) -> None:
    """2 GB in 40 s and 20 calls a second for 50,000 EUR; the package checks again, and not when the price is lowered."""
    made = copied
    page = describe(made, FILLED)
    assert "Filer &lt;1&gt;" in page.read_text()
    with (made / "series" / "price.csv").open() as file:
        first, second = csv.DictReader(file)
    assert float(first["calls_per_s"]) == pytest.approx(20.0, rel=0.01)
    assert float(first["calls_per_s_for_1000"]) == pytest.approx(0.4, rel=0.01)
    assert float(first["gb_per_hour_for_1000"]) == pytest.approx(180 / 50, rel=0.01)
    assert float(second["gb_per_hour_for_1000"]) == pytest.approx(360 / 50, rel=0.01)
    assert check(made).differences == ()
    (made / FILE).write_text(FILLED.replace("50_000", "5_000"))
    seal(made)
    assert "series/price.csv: differs from the file computed from the result" in check(made).differences


def test_what_does_not_check_is_not_described(copied: Path) -> None:
    made = copied
    (made / "report.html").write_text("better")
    before = (made / MANIFEST).read_bytes()
    with pytest.raises(UsageError, match="fails its check, so the sheet is not added"):
        describe(made, FILLED)
    assert (made / MANIFEST).read_bytes() == before
    assert not (made / FILE).exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEMPLATE, "name is empty; enter"),
        ('name = "f"\nprice = 5.0\n', "has no currency"),
        ('name = "f"\nprice = -5.0\ncurrency = "EUR"\n', "is negative"),
        ('name = "f"\nspeed = 5\n', "unknown field sheet.speed"),
        ("name = 5\n", "Expected `str`, got `int`"),
        ("name =\n", "sheet.toml: Invalid value"),
    ],
)
def test_what_is_no_sheet_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_sheet(text)
