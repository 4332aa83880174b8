"""An emulated site: processors, workers' shares and databases are stations of the filer's own arbiter, on a clock of the test's."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import UsageError
from core.filer import FilerModel, load_filer
from core.filer.arbiter import Arbiter
from core.filer.load import scaled_site, site_names, site_source
from core.filer.places import SHARED_MEMORY
from core.filer.surroundings import Surroundings
from core.operations import Op

MS = 1_000_000
_FILER = """
name = "one"
[data]
servers = 1
service_us.default = 100.0
[disk]
read_ms = 3.0
read_miss = 1.0
"""
_SITE = """
name = "two"
filer = "one.toml"
data_scale = 10
time_scale = 1.0
[processor]
factor = 4.0
[worker]
cores = 1
[[host]]
cores = 2
speed = 2.0
[[database]]
servers = 1
speed = 0.5
transaction_us = 1000.0
row_us = 10.0
filer_ops = 2.0
filer_ops_a_row = 0.5
[[database]]
servers = 1
speed = 1.0
transaction_us = 1000.0
row_us = 10.0
"""


@pytest.fixture
def path() -> Iterator[Path]:
    """A place for an arbiter in shared memory."""
    place = SHARED_MEMORY / f"edbench-filer-test-{os.getpid()}-{time.monotonic_ns()}"
    yield place
    place.unlink(missing_ok=True)


def _model(tmp_path: Path, *changes: tuple[str, str]) -> FilerModel:
    text = _SITE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (tmp_path / "one.toml").write_text(_FILER)
    (tmp_path / "site.toml").write_text(text)
    model = load_filer(site_source(str(tmp_path / "site.toml")))
    assert model is not None
    return model


def test_processor_time_is_served_by_the_workers_share_and_the_hosts_cores(tmp_path: Path, path: Path) -> None:
    """10 ms spent here are 20 ms of an emulated core of twice the speed; two slots of one worker wait for its one core, and a
    third worker for its host's two."""
    with Arbiter(path, _model(tmp_path)) as arbiter:
        now = 100 * MS
        assert arbiter.compute(0, 10 * MS, now) == 90 * MS + 20 * MS
        assert arbiter.compute(0, 10 * MS, now) == 90 * MS + 40 * MS, "the worker has one core"
        assert arbiter.compute(1, 10 * MS, now) == 90 * MS + 40 * MS, "the host's other core is booked, too"
        assert arbiter.snapshot().stations["host 1"].busy_ns == 60 * MS


def test_a_transaction_books_its_database_and_that_the_filer(tmp_path: Path, path: Path) -> None:
    """By transaction and row, at the server's speed; on the filer only where its files lie there."""
    with Arbiter(path, _model(tmp_path)) as arbiter:
        service, ops = 2 * (1000 + 100 * 10) * 1000, 2 + 50
        assert arbiter.transact(0, 100, 0) == service + ops * 100_000
        stations = arbiter.snapshot().stations
        assert stations["database 1"].busy_ns == service
        assert stations["data"].filer_ops == ops
        assert arbiter.transact(1, 100, 0) == (1000 + 1000) * 1000
        assert arbiter.snapshot().stations["data"].filer_ops == ops
        assert arbiter.transact(2, 0, 50 * MS) == 50 * MS + 2 * MS + 2 * 100_000, "servers are given out in turn"


def test_everything_is_stretched_by_the_time_scale(tmp_path: Path, path: Path) -> None:
    """Three times as slow is three times as slow everywhere, delays too, or the shape would be another."""
    model = _model(tmp_path, ("time_scale = 1.0", "time_scale = 3.0"))
    with Arbiter(path, model) as arbiter:
        assert arbiter.book(Op.READ, 0, 0) == 3 * (100_000 + 3 * MS)
        assert arbiter.compute(0, 10 * MS, 10 * MS) == 60 * MS
        assert arbiter.transact(1, 100, 0) == 6 * MS
    assert model.choice.label == "EMULATED SITE two, data 1/10, time x 3"
    assert model.digest != _model(tmp_path).digest


def test_a_site_of_ours_may_be_run_faster(tmp_path: Path) -> None:
    """Half the time is half of every service and delay, and a file of one's own says its scales itself."""
    usual, fast = load_filer(scaled_site("r1", 2000)), load_filer(scaled_site("r1", 2000, 0.5))
    assert usual is not None
    assert fast is not None
    assert (fast.choice.label, fast.scale) == ("EMULATED SITE r1, data 1/2000, time x 0.5", usual.scale / 2)
    assert fast.client.round_trip_us == usual.client.round_trip_us / 2
    assert load_filer(fast.source) == fast, "workers are told the source"
    with pytest.raises(UsageError, match=r"time_scale is 0\.01; it must be from 0\.1"):
        scaled_site("r1", 2000, 0.01)
    _model(tmp_path)
    with pytest.raises(UsageError, match=r"its time_scale must be that of --time-scale, 0\.5"):
        scaled_site(str(tmp_path / "site.toml"), 10, 0.5)


class _Clock:
    """In place of a pacer and of the processors' clock."""

    def __init__(self) -> None:
        self.used, self.waited_for, self.costs, self.late = 0.0, [0], 0.0, 0

    def seconds(self) -> float:
        return self.used

    def wait_until(self, end_ns: int) -> int:
        self.waited_for.append(end_ns)
        self.used += self.costs
        return end_ns + self.late


def test_a_slot_pays_for_its_work_and_not_for_the_emulation(tmp_path: Path, path: Path) -> None:
    """What it used before the task, and what waiting costs, is nobody's; little work adds up until it counts."""
    clock = _Clock()
    with Arbiter(path, _model(tmp_path)) as arbiter:
        clock.used = 5.0
        around = Surroundings(arbiter, clock, 0, clock.seconds)  # type: ignore[arg-type]
        clock.used = 6.0
        around.begin()
        clock.costs = 0.5
        clock.used += 0.010
        assert around.settle(1_000 * MS) == pytest.approx(1_010 * MS, abs=1000)
        clock.used += 0.25  # a booking, a record
        around.resume()
        for _ in range(5):
            clock.used += 0.000_05
            around.settle(2_000 * MS)
            around.resume()
        served = arbiter.snapshot().stations["host 1"].busy_ns
        assert served == pytest.approx(2 * (10 + 0.2) * MS, rel=0.01)


def test_what_waits_late_for_processors_or_a_database_is_told(tmp_path: Path, path: Path) -> None:
    """The call that follows begins as much later and looks punctual, so that nobody else could tell."""
    clock = _Clock()
    with Arbiter(path, _model(tmp_path)) as arbiter:
        around = Surroundings(arbiter, clock, 0, clock.seconds)  # type: ignore[arg-type]
        clock.late = 3 * MS
        clock.used += 0.010
        assert around.settle(1_000 * MS) == pytest.approx(1_013 * MS, abs=1000)
        found = arbiter.snapshot()
        assert found.site_booked_ns == pytest.approx(20 * MS, abs=1000)
        assert found.site_late_ns == 3 * MS
        around.resume()
        around.transaction(1, 100)
        found = arbiter.snapshot()
        assert found.site_booked_ns == pytest.approx(22 * MS, abs=1000)
        assert found.site_late_ns == 6 * MS


def test_sites_of_ours_load() -> None:
    """What --site offers can be had, and says that it is a site."""
    assert set(site_names()) == {"r1", "laptop-nas", "small-office"}
    for name in site_names():
        model = load_filer(site_source(name))
        assert model is not None
        assert model.site is not None
        assert model.choice.label.startswith(f"EMULATED SITE {name}, data 1/")
        assert load_filer(model.source) == model


def test_r1_is_the_reports_test_bed() -> None:
    """Five hosts of 44 cores, workers of two, unequal database servers of 8 and 2 cores, all on the filer."""
    model = load_filer(site_source("r1"))
    assert model is not None
    site = model.site
    assert site is not None
    assert (len(site.hosts), sum(host.cores for host in site.hosts), site.worker_cores) == (5, 44, 2)
    assert [one.servers for one in site.databases] == [8, 2]
    assert all(one.filer_ops_a_row for one in site.databases)
    assert model.ceiling_filer_ops_per_s == pytest.approx(39_000 / 0.99, rel=0.04)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"one.toml"', '"gone.toml"', "gone.toml"),
        ('"one.toml"', '"none"', "filer is 'none'"),
        ('filer = "one.toml"\n', "", "a site names its filer"),
        ("factor = 4.0", "factor = -4.0", "processor.factor"),
        ("cores = 1", "cores = 0", "worker.cores"),
        ("cores = 2", "cores = 2000", "host[1].cores"),
        ("speed = 2.0", "speed = 0.0", "host[1].speed"),
        ("servers = 1", "servers = 1.5", "database[1].servers"),
        ("row_us = 10.0", "row_us = nan", "database[1].row_us"),
        ("[[host]]", "[[hosts]]", "there is no hosts"),
        ("data_scale = 10", "data_scale = 0", "data_scale"),
        ("time_scale = 1.0", "time_scale = 0.05", "time_scale"),
        ('name = "two"', 'name = "r1"', "give another"),
        ("[[host]]\ncores = 2\nspeed = 2.0", "", "host must be tables"),
        ("cores = 2", "cores = -1", "host[1].cores"),
        ("cores = 2", "cores = 0", "host[1].cores"),
        ("cores = 2", 'cores = "two\\nfour"', "host[1].cores"),
        ("cores = 2", f"cores = 0x{'f' * 6_000}", "of more than 300 digits"),
        ("cores = 2", f"cores = {'9' * 6_000}", "must be TOML"),
        ("cores = 2\n", f"cores = {'[' * 20_000}\n", "must be TOML"),
        ("speed = 2.0", "speed = inf", "host[1].speed is inf"),
        ("speed = 2.0", "sped = 2.0", "there is no host[1].sped"),
        ("speed = 2.0", '"sp\\need" = 2.0', "there is no host[1].sp?eed"),
        ("servers = 1", "servers = 0", "database[1].servers"),
        ("speed = 0.5", "speed = -0.5", "database[1].speed"),
        ("transaction_us = 1000.0", "transaction_us = -1.0", "database[1].transaction_us"),
        ("transaction_us = 1000.0", f"transaction_us = 1{'0' * 400}", "database[1].transaction_us"),
        ("transaction_us = 1000.0", "transaction_us = true", "database[1].transaction_us"),
        ("filer_ops_a_row = 0.5", "filer_ops_a_row = -0.5", "database[1].filer_ops_a_row"),
        ("filer_ops = 2.0", "filer_op = 2.0", "there is no database[1].filer_op"),
        ("factor = 4.0", "factor = nan", "processor.factor"),
        ("factor = 4.0", "faktor = 4.0", "there is no processor.faktor"),
        ("[worker]\ncores", "[worker]\nslots = 4\ncores", "there is no worker.slots"),
        ("data_scale = 10", "data_scale = -10", "data_scale"),
        ("data_scale = 10", "data_scale = inf", "data_scale"),
        ("time_scale = 1.0", "time_scale = 0", "time_scale"),
        ("time_scale = 1.0", "time_scale = 1.0\nspeed = 3", "there is no speed"),
        ("time_scale = 1.0", "time_scale = 1.0\nclient.round_trip_us = -1.0", "client.round_trip_us"),
        ('"one.toml"', "7", "filer must be a text"),
        ('"one.toml"', '""', "filer is ''"),
        ('"one.toml"', '"."', "is a directory"),
        ('"one.toml"', '"site.toml"', "not a site"),
        ('"one.toml"', '"site/r1"', "not a site"),
        ('"one.toml"', '"one\\u0000.toml"', "null byte"),
    ],
)
def test_impossible_sites_are_refused_in_one_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    """Before anything starts, with the key."""
    with pytest.raises(UsageError) as caught:
        _model(tmp_path, (old, new))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("left", ["", "database = []", "database = 3", "[database]\nservers = 1", "database = [1]"])
def test_a_site_without_a_database_is_refused(tmp_path: Path, left: str) -> None:
    """Whatever stands in place of its tables."""
    kept, _, _ = _SITE.partition("[[database]]")
    before, host, hosts = kept.partition("[processor]")
    (tmp_path / "one.toml").write_text(_FILER)
    (tmp_path / "site.toml").write_text(f"{kept}{left}" if left.startswith("[") else f"{before}{left}\n{host}{hosts}")
    with pytest.raises(UsageError, match=r"^site .*: database must be tables"):
        site_source(str(tmp_path / "site.toml"))


def test_a_site_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="laptop-nas"):
        site_source("r2")
