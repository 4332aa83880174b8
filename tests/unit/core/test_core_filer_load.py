"""Profiles of emulated filers: ours load, impossible ones are refused in one line."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from core.errors import UsageError
from core.filer import FilerModel, load_filer
from core.filer.load import profile_names
from core.operations import Op
from core.settings import read_settings

_DOCS = Path(__file__).parents[3] / "docs"
MINIMAL = 'name = "mine"\n[metadata]\nservice_us.default = 100.0\n'


def _file(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "filer.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_every_profile_of_ours_loads() -> None:
    """What `--filer` offers can be had; `none` is no filer."""
    assert set(profile_names()) == {"titan", "nas-1g", "nas-10g", "cloud-nas", "none"}
    assert load_filer("none") is None
    for name in profile_names()[:-1]:
        model = load_filer(name)
        assert model is not None
        assert (model.name, model.source) == (name, name)
        assert 100 < model.ceiling_calls_per_s < 100_000


def test_titan_has_the_ceilings_of_report_r1() -> None:
    """39,000 filer ops/s to 4 %, not calls, with its units 99 % and 60 % busy then, 3 x 1 GbE, reads under 5 ms, writes at most 25 ms."""
    model = load_filer("titan")
    assert model is not None
    most = model.ceiling_filer_ops_per_s * model.scale
    assert most == pytest.approx(39_000 / 0.99, rel=0.04)
    metadata, data = (busy_at(model, 0.99 * most, unit) for unit in ("metadata", "data"))
    assert (metadata, data) == (pytest.approx(0.99, abs=0.005), pytest.approx(0.60, abs=0.03))
    assert model.link_bytes_per_s == 375e6
    assert model.disk.read_ms < 5
    assert model.disk.write_ms <= 25
    assert model.choice.label == f"EMULATED FILER titan, scale 1/{model.scale:g}"


def test_the_pages_say_what_titan_is() -> None:
    """Calls a second of its mix: the profile was changed once and the page was not."""
    model = load_filer("titan")
    assert model is not None
    calls = round(model.ceiling_calls_per_s, -1)
    assert f"about {calls:,.0f} calls/s of the mix of its busiest seconds" in (_DOCS / "filer.md").read_text()


@pytest.mark.parametrize(("name", "calls"), [("nas-1g", 5_500), ("nas-10g", 55_000)])
def test_a_nas_has_filer_ops_and_the_rate_that_pages_state(name: str, calls: int) -> None:
    model = load_filer(name)
    assert model is not None
    assert model.protocol is not None
    assert model.protocol.origin.startswith("measured")
    assert model.ceiling_calls_per_s == pytest.approx(calls, rel=0.015)
    assert f"{calls:,} calls/s" in model.description
    page = (_DOCS / "filer.md").read_text()
    assert f"about {calls:,} calls/s" in page
    assert f"{model.filer_ops_per_call:.2f} filer ops a call" in page
    at_most = model.ceiling_filer_ops_per_s
    assert busy_at(model, at_most, "metadata") == pytest.approx(1.0)
    assert busy_at(model, at_most, "data") < 1 / 3


def busy_at(model: FilerModel, filer_ops_per_s: float, unit: str) -> float:
    """How busy a unit is with calls of the model's mix."""
    calls_per_s, busy = filer_ops_per_s / model.filer_ops_per_call, 0.0
    moved = {Op.READ: model.sizes.read_bytes, Op.WRITE: model.sizes.write_bytes}
    for op, share in model.mix.items():
        begun = moved[op] / model.protocol.transfer_bytes + 0.5 if op in moved and model.protocol else 0.0
        cost = model.cost(op).metadata_ns if unit == "metadata" else model.cost(op).data_ns
        busy += calls_per_s * share * cost.of(model.sizes.entries, begun) / 1e9
    return busy / (model.metadata if unit == "metadata" else model.data).servers


def test_the_link_of_titan_lets_its_ops_through() -> None:
    """What it states must be reachable: the bytes of calls at its ceiling are far less than its link moves."""
    model = load_filer("titan")
    assert model is not None
    moved = model.mix[Op.READ] * model.sizes.read_bytes + model.mix[Op.WRITE] * model.sizes.write_bytes
    assert model.ceiling_calls_per_s * moved * model.link_ns_per_byte / 1e9 < 0.5


def test_the_scale_factor_divides_the_ceilings(tmp_path: Path) -> None:
    text = 'name = "mine"\nscale = {}\n[metadata]\nservice_us.default = 100.0\n[link]\nbytes_per_s = 1e6\n[mix]\nstat = 1.0\n'
    one, two = (load_filer(_file(tmp_path, text.format(k))) for k in (1.0, 2.0))
    assert one is not None
    assert two is not None
    assert one.ceiling_calls_per_s == pytest.approx(10_000)
    assert two.ceiling_calls_per_s == pytest.approx(5_000)
    assert [m.cost(Op.STAT).metadata_ns.each for m in (one, two)] == [100_000, 200_000]
    assert (one.link_ns_per_byte, two.link_ns_per_byte) == (1_000, 2_000)
    assert one.digest != two.digest
    nothing = load_filer(_file(tmp_path, 'name = "mine"\n'))
    assert nothing is not None
    assert math.isinf(nothing.ceiling_calls_per_s)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (MINIMAL + "servers = 0\n", "servers"),
        (MINIMAL + "servers = true\n", "servers"),
        (MINIMAL + "servers = 1000000\n", "from 1 to 64"),
        (MINIMAL + "service_us.stat = -1.0\n", "service_us.stat"),
        (MINIMAL + "service_us.stat = nan\n", "must be a number"),
        (MINIMAL + "service_us.stat = inf\n", "must be a number"),
        (MINIMAL + 'service_us.stat = "1"\n', "must be a number"),
        (MINIMAL + "service_us.read = 1.0\n", "there is no metadata.service_us.read"),
        (MINIMAL + "[link]\nbytes_per_s = 0\n", "link.bytes_per_s"),
        (MINIMAL + "[link]\nbytes_per_s = -5\n", "link.bytes_per_s"),
        (MINIMAL + "[disk]\nread_miss = 1.5\n", "disk.read_miss"),
        (MINIMAL + "[disk]\nread_ms = 1e9\n", "disk.read_ms"),
        (MINIMAL + "[disk]\nseek = 1\n", "there is no disk.seek"),
        (MINIMAL + "[mix]\nread = 0.4\n", "sum to 0.4"),
        ("scale = 0.0\n" + MINIMAL, "scale"),
        ("scale = -4\n" + MINIMAL, "scale"),
        ("speed = 4\n" + MINIMAL, "there is no speed"),
        (MINIMAL + "[client]\ncache_bytes = -1\n", "client.cache_bytes"),
        (MINIMAL + "[client]\ncache_bytes = 1.5\n", "whole number"),
        (MINIMAL + "[client]\nround_trip_us = nan\n", "client.round_trip_us"),
        (MINIMAL + "[sizes]\nentries = -2\n", "sizes.entries"),
        ('protocol = "smb9"\n' + MINIMAL, "protocol 'smb9'"),
        ('protocol = "r1"\n' + MINIMAL + "service_us.DATA = 4.0\n", "there is no metadata.service_us.DATA"),
        ("name = 4\n", "name"),
        ('name = ""\n', "name"),
        ('name = "titan"\n', "another"),
        ('name = "a"\nmetadata = 4\n', "must be a table"),
        ("name = \n", "must be TOML"),
        (b"\xff\xfe", "must be TOML"),
        ("#" * 70_000, "more than 65536 bytes"),
    ],
)
def test_impossible_numbers_are_refused_in_one_line(tmp_path: Path, text: str | bytes, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_filer(_file(tmp_path, text))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["titanic", "", "no/such/file.toml", "/"])
def test_a_filer_that_is_not_there_is_told_with_those_that_are(name: str) -> None:
    with pytest.raises(UsageError, match="titan"):
        load_filer(name)


def test_settings_hold_a_name_that_means_the_same_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _file(tmp_path, MINIMAL)
    monkeypatch.chdir(tmp_path)
    settings = read_settings({"EDBENCH_FILER": "filer.toml"})
    assert settings.filer == str(tmp_path / "filer.toml")
    assert read_settings(settings.environment()).filer == settings.filer
    assert read_settings({}).filer == "none"
    with pytest.raises(UsageError, match="titan"):
        read_settings({"EDBENCH_FILER": "titanic"})
