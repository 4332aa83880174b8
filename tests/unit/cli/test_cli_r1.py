"""`edbench bench r1`: what is asked for is looked at before anything takes time, and done as it was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli import r1
from cli.main import USAGE, main
from core.filer.load import load_filer, scaled_site
from core.filer.site import MOST_TIMES
from experiments.workloads.discovery.r1.parameters import POINTS

_FILE = """
name = "mine"
filer = "nas-10g"
data_scale = 500.0
time_scale = 2.0
[worker]
cores = 4
[[host]]
cores = 8
[[database]]
servers = 8
transaction_us = 300.0
row_us = 15.0
"""


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever measures the speed of this machine, which takes seconds, fails."""

    def measure(processors: int) -> float:
        raise AssertionError("the speed was measured")

    monkeypatch.setattr("core.filer.machine.speed_at_work", measure)


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--site", "nowhere"], "nowhere"),
        (["--site", "titan"], "titan"),
        (["--time-scale", "fast"], "--time-scale is 'fast'"),
        (["--time-scale", "0"], "--time-scale is '0'"),
        (["--time-scale", "1e7"], "--time-scale is '1e7'"),
        (["--site", "FILE", "--scale", "1/1000"], "its data_scale must be that of --scale, 1000"),
        (["--site", "FILE", "--time-scale", "3"], "its time_scale must be that of --time-scale, 3"),
    ],
)
def test_bad_input_costs_no_time(
    argv: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, and the machine's speed is not measured first."""
    (tmp_path / "site.toml").write_text(_FILE)
    words = [str(tmp_path / "site.toml") if word == "FILE" else word for word in argv]
    assert main(["bench", "r1", *words], {"EDBENCH_STORAGE": str(tmp_path / "storage")}) == USAGE
    said = capsys.readouterr().err
    assert says in said
    assert len(said.splitlines()) == 1


def test_the_largest_time_scale_is_one() -> None:
    """It was seven digits where six were read, and then no site at all."""
    model = load_filer(scaled_site("r1", 500, MOST_TIMES))
    assert model is not None
    assert model.site is not None
    assert model.site.time_scale == MOST_TIMES


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--corpus", "c"], "--corpus requires --hosts"),
        (["--workers", "1,2"], "--workers requires --hosts"),
        (["--listen", "10.0.0.1"], "--listen requires --hosts"),
        (["--hosts", "2"], "--hosts requires --listen"),
        (["--hosts", "2", "--listen", "127.0.0.2"], "--hosts requires --corpus"),
        (["--hosts", "2", "--listen", "127.0.0.2", "--scale", "1/5"], "--scale belongs to the emulated site"),
        (["--hosts", "2", "--listen", "127.0.0.2", "--time-scale", "2"], "--time-scale belongs to the emulated site"),
        (["--hosts", "2", "--listen", "127.0.0.2", "--corpus", "c", "--workers", "3"], "two numbers"),
        (["--hosts", "2", "--listen", "127.0.0.2", "--corpus", "c", "--workers", "30,10"], "two numbers"),
    ],
)
def test_what_is_of_the_site_and_what_of_hosts(
    argv: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rows are run on one or the other; what does not belong to it is refused before anything starts."""
    assert main(["bench", "r1", *argv], {"EDBENCH_STORAGE": str(tmp_path / "storage")}) == USAGE
    said = capsys.readouterr().err
    assert says in said
    assert len(said.splitlines()) == 1


def test_the_rows_of_other_sizes_are_r1s() -> None:
    """Databases and workers: few and many on one, many on two."""
    assert tuple(r1.rows("10,30")) == POINTS
    assert r1.rows("1,3") == [(1, 1), (1, 3), (2, 3)]


@pytest.mark.parametrize(("said", "streams", "tasks"), [(None, 5, 5), (0, None, 120), (10, 10, 10)])
def test_streams_are_as_they_were_asked_for(said: int | None, streams: int | None, tasks: int | None) -> None:
    """Not at all is as fitted, 0 is no limit: a task for each slot."""
    found = r1.order_options(500, said)
    assert (found.index_streams, found.index_tasks) == (streams, tasks)
