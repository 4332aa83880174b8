"""Sites of a simulation: what is shipped loads, and what is wrong is refused in one line."""

from __future__ import annotations

from importlib import resources

import pytest

from core.errors import UsageError
from simulate.site import load_site, read_site, site_names

R1 = resources.files("simulate").joinpath("sites", "r1.toml").read_text(encoding="utf-8")


def test_every_shipped_site_loads() -> None:
    """Promise: `edbench simulate NAME` works for each."""
    assert "r1" in site_names()
    for name in site_names():
        assert load_site(name).name == name


def test_the_site_of_report_r1_is_as_stated() -> None:
    """Promise: hosts, SQL servers, workers and network are the report's and no parameters."""
    site = load_site("r1")
    assert [(host.cores, host.ghz, host.memory_gb) for host in site.hosts] == [(16, 2.33, 64), (16, 2.33, 24), (4, 2.0, 8), (4, 2.0, 8), (4, 2.5, 16)]  # fmt: skip
    assert [(server.cores, server.ghz) for server in site.databases] == [(8, 3.16), (2, 2.0)]
    assert (site.slots, site.worker_cores, site.worker_memory_gb, site.bytes_per_s) == (4, 2, 2, 375e6)


@pytest.mark.parametrize(
    ("old", "new", "shows"),
    [
        ("cores = 16", "cores = 0", "cores is 0"),
        ("cores = 16", "cores = 1.5", "whole number"),
        ("[network]", "[networks]", "networks"),
        ('name = "cifs"', 'name = "none"', "none"),
        ("rpm = 15000", "rpm = nan", "rpm"),
        ('jobs = "custodian"', 'jobs = "each"', "one of"),
        ("[filer.fsa]", "[filer.fsa", "TOML"),
    ],
)
def test_a_wrong_site_is_refused(old: str, new: str, shows: str) -> None:
    """Promise: the key, the value, and what to do, in one line."""
    with pytest.raises(UsageError, match=shows) as refused:
        read_site(R1.replace(old, new, 1), "mine.toml")
    assert "\n" not in str(refused.value)


def test_a_site_that_is_not_there_is_named() -> None:
    """Promise: a misspelt name lists the shipped sites."""
    with pytest.raises(UsageError, match="r1"):
        load_site("r2")
