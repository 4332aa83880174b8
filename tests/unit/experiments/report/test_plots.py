"""Figures are drawn in the report's style, whatever the settings of the one who draws."""

import matplotlib as mpl
import pytest

from experiments.report.plots import drawing


def test_the_callers_own_settings_do_not_matter_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `matplotlibrc` of somebody's would make every report look otherwise; ours is not left behind either."""
    monkeypatch.setitem(mpl.rcParams, "font.size", 33.0)
    monkeypatch.setitem(mpl.rcParams, "savefig.dpi", 7.0)
    with drawing():
        within = mpl.rcParams["font.size"], mpl.rcParams["text.parse_math"], mpl.rcParams["savefig.dpi"]
    assert within == (9.0, False, mpl.rcParamsDefault["savefig.dpi"])
    assert (mpl.rcParams["font.size"], mpl.rcParams["savefig.dpi"]) == (33.0, 7.0)
