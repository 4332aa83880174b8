"""From calls to filer ops: data that is checked, booked at both units, counted, and printed with where it comes from."""

import itertools
import math
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recording import MemoryRecorder

from core.errors import UsageError
from core.filer import FilerModel, emulation, load_filer
from core.filer.arbiter import MOST, Arbiter
from core.filer.emulation import EmulatedFiler, Pacer
from core.filer.model import PROFILES, copied_filer, load_protocol, profile_names, protocol_names, protocol_of
from core.filer.use import SHARED_MEMORY
from core.operations import Op
from core.records import Phase
from core.settings import read_settings
from experiments.conditions import emulated

MS, SECOND = 1_000_000, 1_000_000_000
_PROTOCOL = """
name = "small"
origin = "assumed: for this test"
transfer_bytes = 1000
data = ["READ", "COMMIT"]
[call]
scan = { READDIR = 2.0, entry = { GETATTR = 0.5 } }
open = { LOOKUP = 3.0 }
read = { GETATTR = 1.0, transfer = { READ = 2.0 } }
close = { COMMIT = 0.5, GETATTR = 1.0 }
"""
_FILER = """
name = "mine"
protocol = "small.toml"
{more}
[metadata]
servers = 1
service_us.default = 1000.0
service_us.GETATTR = 100.0
[data]
servers = 1
service_us.default = 500.0
"""


@pytest.fixture
def path() -> Iterator[Path]:
    """A place for an arbiter in shared memory."""
    place = SHARED_MEMORY / f"edbench-filer-test-{os.getpid()}-{time.monotonic_ns()}"
    yield place
    place.unlink(missing_ok=True)


def _loaded(name_or_path: str | Path, text: str | None = None) -> FilerModel:
    """The profile of that name, or of a file with this text, if any."""
    if text is not None:
        Path(name_or_path).write_text(text)
    model = load_filer(str(name_or_path))
    assert model is not None
    return model


def _model(tmp_path: Path, more: str = "", index: str = "", protocol: str = _PROTOCOL) -> FilerModel:
    (tmp_path / "small.toml").write_text(protocol + index)
    return _loaded(tmp_path / "filer.toml", _FILER.format(more=more))


def _assumptions(model: FilerModel) -> str:
    return " ".join((emulated(model) or {})["assumptions"])


def test_a_call_is_as_many_filer_ops_as_the_protocol_states(tmp_path: Path, path: Path) -> None:
    with Arbiter(path, _model(tmp_path)) as arbiter:
        assert arbiter.book(Op.OPEN, 0, 0) == 3 * MS
        assert arbiter.book(Op.SCAN, 0, 10 * MS, argument=40) == 10 * MS + 2 * MS + 20 * MS // 10
        assert arbiter.book(Op.READ, 1001, 100 * MS) == 100 * MS + MS // 10 + 2 * 2 * MS // 2
        assert arbiter.book(Op.STAT, 0, 200 * MS) == 200 * MS, "what the protocol does not name costs nothing"
        stations = arbiter.snapshot().stations
    assert stations["metadata"].filer_ops == pytest.approx(3 + 2 + 20 + 1)
    assert stations["data"].filer_ops == pytest.approx(4)
    assert (stations["metadata"].calls, stations["data"].calls) == (3, 1)


def test_calls_of_phase_index_may_be_other_filer_ops(tmp_path: Path, path: Path) -> None:
    plain = _model(tmp_path).digest
    model = _model(tmp_path, index="[index_call]\nopen = { LOOKUP = 1.0, READ = 40.0 }")
    assert model.digest != plain
    assert protocol_of(model.protocol.to_plain(), "result", model.protocol.source) == model.protocol
    asked = []
    with Arbiter(path, model) as arbiter:
        filer = EmulatedFiler(arbiter, Pacer())
        for phase in (Phase.EXPAND, Phase.INDEX, Phase.FINALISE):
            filer.works_on(phase)
            for op in (Op.OPEN, Op.SCAN):
                arbiter.book(op, 0, 0)
                stations = arbiter.snapshot().stations
                asked.append((stations["metadata"].filer_ops, stations["data"].filer_ops))
    assert asked == [(3, 0), (5, 0), (6, 40), (8, 40), (11, 40), (13, 40)]


def test_both_units_are_asked_and_neither_loses_its_ceiling(tmp_path: Path, path: Path) -> None:
    with Arbiter(path, _model(tmp_path)) as arbiter:
        ends = [arbiter.book(Op.CLOSE, 0, 0) for _ in range(100)]
        assert ends[0] == 100_000 + 250_000
        assert ends[-1] == 100 * 250_000
        assert arbiter.snapshot().stations["data"].busy_ns == 100 * 250_000


def test_each_filer_op_waits_for_its_round_trip(tmp_path: Path, path: Path) -> None:
    model = _model(tmp_path, "[client]\nround_trip_us = 1000.0")
    with Arbiter(path, model) as arbiter:
        assert arbiter.book(Op.OPEN, 0, 0) == 3 * MS + 3 * MS
        assert arbiter.book(Op.OPEN, 0, 0) == 6 * MS + 3 * MS
        assert arbiter.waited_ns == 3 * MS


def test_filers_that_expand_otherwise_are_not_the_same(tmp_path: Path) -> None:
    changes = ("LOOKUP = 3.0", "LOOKUP = 4.0"), ("transfer_bytes = 1000", "transfer_bytes = 1001")
    digests = {_model(tmp_path).digest, _model(tmp_path, "[client]\nround_trip_us = 1.0").digest,
               _model(tmp_path, "[client]\ncache_bytes = 4096").digest}  # fmt: skip
    digests |= {_model(tmp_path, protocol=_PROTOCOL.replace(*change)).digest for change in changes}
    assert len(digests) == 5


def test_ours_say_how_they_are_known() -> None:
    """NFS was measured; nobody knows R1's protocol, and that is said in the disclosure with what is assumed instead."""
    origins = {name: load_protocol(name).origin.split()[0].rstrip(":") for name in protocol_names()}
    assert origins == {"r1": "assumed", "cifs": "assumed", "nfs-v3": "measured", "nfs-v4.2": "measured"}
    reported = _assumptions(_loaded("titan"))
    assert "assumed: R1 names no protocol" in reported
    assert "client cache: none" in reported
    assert "measured: a Linux NFSv3 client" in _assumptions(_loaded("nas-1g"))


def test_a_filer_of_calls_reports_it(tmp_path: Path) -> None:
    assert "every call counts as one filer op" in _assumptions(_loaded(tmp_path / "calls.toml", MINIMAL))


def test_what_the_server_counted_is_next_to_it_and_is_reported(tmp_path: Path) -> None:
    nas = PROFILES / "nas-1g.toml"
    alike = (
        f'name = "mine"\nprotocol = "nfs-v4.2"\n[mix]\n{nas.read_text().partition("[mix]")[2].partition(chr(10))[2]}'
    )
    model = _loaded(tmp_path / "compounds.toml", alike)
    assert model.server_ops_per_call is not None
    reported = (
        f"{model.filer_ops_per_call:.3g} for a call",
        f"{model.server_ops_per_call:.3g} as the server counts them",
    )
    assert all(one in _assumptions(model) for one in reported)
    page = " ".join((Path(__file__).parents[3] / "docs/filer.md").read_text().split())
    assert f"{model.server_ops_per_call:.2f} a call with `nfs-v4.2`, of {model.filer_ops_per_call:.2f} requests" in page
    plain = _model(tmp_path)
    counted = _model(tmp_path, index="[server]\nopen = { PUTFH = 9.0 }\n")
    assert (plain.server_ops_per_call, counted.digest) == (None, plain.digest)
    assert protocol_of(counted.protocol.to_plain(), "result", counted.protocol.source) == counted.protocol


@pytest.mark.parametrize(
    ("old", "new", "shows"),
    [
        ("3.0", "-3.0", "call.open.LOOKUP is -3"),
        ("3.0", "inf", "call.open.LOOKUP is inf"),
        ("3.0", "1e9", "call.open.LOOKUP"),
        ("LOOKUP = 3.0", '"a b" = 3.0', "a filer op has a name"),
        ("open =", "opens =", "call.opens is not known"),
        ("[call]", "[index_call]\nopens = {}\n[call]", "index_call.opens is not known"),
        ("[call]", "[index_call]\nopen = { READ = -1.0 }\n[call]", "index_call.open.READ is -1"),
        ("assumed:", "surely:", "origin must state"),
        ("transfer_bytes = 1000", "transfer_bytes = 0", "transfer_bytes"),
        ('"COMMIT"]', '"COMMITS"]', "data names COMMITS"),
        ('data = ["READ", "COMMIT"]', "data = 4", "list of texts"),
        ("entry = { GETATTR = 0.5 }", "entry = 4", "must be a table"),
        ('name = "small"', "", "name"),
    ],
)
def test_impossible_expansions_are_refused_in_one_line(tmp_path: Path, old: str, new: str, shows: str) -> None:
    file = tmp_path / "small.toml"
    file.write_text(_PROTOCOL.replace(old, new))
    with pytest.raises(UsageError) as caught:
        load_protocol("small.toml", tmp_path)
    assert shows in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_protocol_that_is_not_there_is_reported_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="r1"):
        load_protocol("smb9")


def test_storage_reports_to_the_filer_what_a_call_found(tmp_path: Path, path: Path) -> None:
    from core.storage.layer import Storage

    class Now:
        def wait_until(self, end_ns: int) -> int:
            return end_ns

    directory = tmp_path / "d"
    directory.mkdir()
    for n in range(20):
        (directory / f"{n}").touch()
    with Arbiter(path, _model(tmp_path)) as arbiter:
        storage = Storage(MemoryRecorder(), filer=EmulatedFiler(arbiter, Now()))  # type: ignore[arg-type]
        storage.scan(bytes(directory))
        assert arbiter.snapshot().stations["metadata"].filer_ops == pytest.approx(2 + 10)


_CACHING = """
name = "mine"
[data]
service_us.default = 1000.0
[link]
bytes_per_s = 1e9
[client]
cache_bytes = {size}
reread_us = 7.0
"""


@pytest.fixture
def caching(tmp_path: Path, path: Path) -> Iterator[Arbiter]:
    """A filer whose clients cache 10,000 bytes."""
    with Arbiter(path, _loaded(tmp_path / "filer.toml", _CACHING.format(size=10_000))) as arbiter:
        yield arbiter


def _read(arbiter: Arbiter, file: bytes, size: int = 1000, offset: int = 0) -> int:
    """Bytes over the link for a read, at 1 GB/s."""
    before = _moved(arbiter)
    arbiter.book(Op.READ, size, 0, file, offset)
    return _moved(arbiter) - before


def _moved(arbiter: Arbiter) -> int:
    return arbiter.snapshot().stations["link"].busy_ns


def test_what_was_read_or_written_is_not_fetched_again(caching: Arbiter) -> None:
    """A second read costs what a re-read costs, whatever is queued at the filer."""
    caching.book(Op.READ, 4000, 0, b"/a", 0)
    caching.book(Op.WRITE, 2000, 0, b"/b", 0)
    before = _moved(caching)
    assert caching.book(Op.READ, 4000, 0, b"/a", 0) == 7_000
    assert caching.book(Op.READ, 2000, 0, b"/b", 0) == 7_000
    assert _moved(caching) == before == 6000
    counts = caching.snapshot()
    assert (counts.cached_calls, counts.cached_bytes, counts.stations["data"].calls) == (2, 6000, 2)


def test_only_what_is_missing_goes_over_the_wire(caching: Arbiter) -> None:
    assert [_read(caching, b"/a", 1000), _read(caching, b"/a", 5000), _read(caching, b"/a", 500, 4500)] == [
        1000,
        4000,
        0,
    ]


def test_a_full_cache_lets_go_of_what_was_used_longest_ago(caching: Arbiter) -> None:
    for file in (b"/old", b"/used", *(b"/f%d" % n for n in range(7)), b"/used", *(b"/f%d" % n for n in range(7, 12))):
        _read(caching, file)
    assert (_read(caching, b"/used"), _read(caching, b"/old")) == (0, 1000)


def test_a_file_larger_than_the_cache_and_the_middle_of_one_are_not_in_it(caching: Arbiter) -> None:
    for _ in range(2):
        assert sum(_read(caching, b"/large", 1000, offset) for offset in range(0, 30_000, 1000)) == 30_000
        assert _read(caching, b"/a", 1000, 5000) == 1000


def test_names_move_and_go(caching: Arbiter) -> None:
    caching.book(Op.WRITE, 2000, 0, b"/a.tmp", 0)
    caching.book(Op.RENAME, 0, 0, b"/a", 0, b"/a.tmp")
    assert _read(caching, b"/a", 2000) == 0
    caching.book(Op.REMOVE, 0, 0, b"/a")
    assert _read(caching, b"/a", 2000) == 2000


def test_without_a_cache_every_read_is_the_filers(tmp_path: Path, path: Path) -> None:
    with Arbiter(path, _loaded(tmp_path / "filer.toml", _CACHING.format(size=0))) as arbiter:
        assert [_read(arbiter, b"/a"), _read(arbiter, b"/a")] == [1000, 1000]


_DIRECTORIES = """
name = "mine"
scale = 2.0
[metadata]
servers = 2
service_us.default = 0.0
service_us.create = 10.0
[directory]
entry_us = {entry}
"""


Took = Callable[..., int]


@pytest.fixture
def growing(tmp_path: Path, path: Path) -> Iterator[Arbiter]:
    """A filer whose directories cost more with each entry."""
    with Arbiter(path, _loaded(tmp_path / "filer.toml", _DIRECTORIES.format(entry=3.0))) as arbiter:
        yield arbiter


@pytest.fixture
def took(growing: Arbiter) -> Took:
    """Nanoseconds of a call that waits for no other: each comes a second after the last."""
    seconds = itertools.count(SECOND, SECOND)

    def book(op: Op, path: bytes, other: bytes = b"") -> int:
        now = next(seconds)
        return growing.book(op, 0, now, path, 0, other) - now

    return book


def test_each_entry_makes_the_next_one_slower(growing: Arbiter, took: Took) -> None:
    assert [took(Op.CREATE, b"/a/%d" % n) for n in range(4)] == [20_000, 26_000, 32_000, 38_000]
    assert took(Op.CREATE, b"/b/0") == 20_000
    assert took(Op.STAT, b"/a/0") == 0
    assert growing.snapshot().stations["metadata"].busy_ns == 20_000 * 5 + 6_000 * 6


def test_what_is_gone_or_moved_counts_no_more(took: Took) -> None:
    for op in (Op.CREATE, Op.MKDIR, Op.CREATE, Op.REMOVE):
        took(op, b"/a/x")
    assert took(Op.RENAME, b"/b/y", b"/a/x") == 0
    assert [took(Op.CREATE, b"/a/z"), took(Op.CREATE, b"/b/z")] == [20_000 + 6_000] * 2


def test_more_directories_than_are_known(took: Took) -> None:
    for name in (*(b"/large/%d" % n for n in range(50)), *(b"/%d/x" % n for n in range(MOST // 8))):
        took(Op.CREATE, name)
    assert took(Op.CREATE, b"/large/50") == 20_000 + 50 * 6_000


def test_it_is_another_filer_and_reports_it(tmp_path: Path) -> None:
    texts = (_DIRECTORIES.format(entry=entry) for entry in (1.0, 2.0, 0.0))
    slow, slower, none = (_loaded(tmp_path / "filer.toml", text) for text in texts)
    assert len({slow.digest, slower.digest, none.digest}) == 3
    assert "directories: each entry adds 1 us" in _assumptions(slow)
    assert "directories" not in _assumptions(none)
    with pytest.raises(UsageError, match=r"directory\.entry_us is -1"):
        _loaded(tmp_path / "filer.toml", _DIRECTORIES.format(entry=-1))


_DOCS = Path(__file__).parents[3] / "docs"
MINIMAL = 'name = "mine"\n[metadata]\nservice_us.default = 100.0\n'


def test_every_profile_of_ours_loads() -> None:
    """What `--filer` offers can be had; `none` is no filer."""
    assert set(profile_names()) == {"titan", "nas-1g", "nas-10g", "cloud-nas", "none"}
    assert load_filer("none") is None
    for name in profile_names()[:-1]:
        model = _loaded(name)
        assert (model.name, model.source) == (name, name)
        assert 100 < model.ceiling_calls_per_s < 100_000


def test_titan_has_the_ceilings_of_report_r1() -> None:
    """39,000 filer ops/s to 4 %, not calls, with its units 99 % and 60 % busy then, 3 x 1 GbE, reads under 5 ms, writes at most 25 ms."""
    model = _loaded("titan")
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
    model = _loaded("titan")
    calls = round(model.ceiling_calls_per_s, -1)
    assert f"about {calls:,.0f} calls/s of the mix of its busiest seconds" in (_DOCS / "filer.md").read_text()


@pytest.mark.parametrize(("name", "calls"), [("nas-1g", 5_500), ("nas-10g", 55_000)])
def test_a_nas_has_filer_ops_and_the_rate_that_pages_state(name: str, calls: int) -> None:
    model = _loaded(name)
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
    model = _loaded("titan")
    moved = model.mix[Op.READ] * model.sizes.read_bytes + model.mix[Op.WRITE] * model.sizes.write_bytes
    assert model.ceiling_calls_per_s * moved * model.link_ns_per_byte / 1e9 < 0.5


def test_the_scale_factor_divides_the_ceilings(tmp_path: Path) -> None:
    text = 'name = "mine"\nscale = {}\n[metadata]\nservice_us.default = 100.0\n[link]\nbytes_per_s = 1e6\n[mix]\nstat = 1.0\n'
    one, two = (_loaded(tmp_path / "filer.toml", text.format(k)) for k in (1.0, 2.0))
    assert one.ceiling_calls_per_s == pytest.approx(10_000)
    assert two.ceiling_calls_per_s == pytest.approx(5_000)
    assert [m.cost(Op.STAT).metadata_ns.each for m in (one, two)] == [100_000, 200_000]
    assert (one.link_ns_per_byte, two.link_ns_per_byte) == (1_000, 2_000)
    assert one.digest != two.digest
    assert math.isinf(_loaded(tmp_path / "filer.toml", 'name = "mine"\n').ceiling_calls_per_s)


@pytest.mark.parametrize(
    ("text", "shows"),
    [
        (MINIMAL + "servers = 0\n", "servers"),
        (MINIMAL + "servers = true\n", "servers"),
        (MINIMAL + "servers = 1000000\n", "between 1 and 64"),
        (MINIMAL + "service_us.stat = -1.0\n", "service_us.stat"),
        (MINIMAL + "service_us.stat = nan\n", "service_us.stat is nan"),
        (MINIMAL + "service_us.stat = inf\n", "service_us.stat is inf"),
        (MINIMAL + 'service_us.stat = "1"\n', "must be a number"),
        (MINIMAL + "service_us.read = 1.0\n", "metadata.service_us.read is not known"),
        (MINIMAL + "[link]\nbytes_per_s = 0\n", "link.bytes_per_s"),
        (MINIMAL + "[link]\nbytes_per_s = -5\n", "link.bytes_per_s"),
        (MINIMAL + "[disk]\nread_miss = 1.5\n", "disk.read_miss"),
        (MINIMAL + "[disk]\nread_ms = 1e9\n", "disk.read_ms"),
        (MINIMAL + "[disk]\nseek = 1\n", "disk.seek is not known"),
        (MINIMAL + "[mix]\nread = 0.4\n", "sum to 0.4"),
        ("scale = 0.0\n" + MINIMAL, "scale"),
        ("scale = -4\n" + MINIMAL, "scale"),
        ("speed = 4\n" + MINIMAL, "speed is not known"),
        (MINIMAL + "[client]\ncache_bytes = -1\n", "client.cache_bytes"),
        (MINIMAL + "[client]\ncache_bytes = 1.5\n", "whole number"),
        (MINIMAL + "[client]\nround_trip_us = nan\n", "client.round_trip_us"),
        (MINIMAL + "[sizes]\nentries = -2\n", "sizes.entries"),
        ('protocol = "smb9"\n' + MINIMAL, "protocol 'smb9'"),
        ('protocol = "r1"\n' + MINIMAL + "service_us.DATA = 4.0\n", "metadata.service_us.DATA is not known"),
        ("name = 4\n", "name"),
        ('name = ""\n', "name"),
        ('name = "titan"\n', "another"),
        ('name = "a"\nmetadata = 4\n', "must be a table"),
        ("name = \n", "must be TOML"),
        (b"\xff\xfe", "must be TOML"),
        ("#" * 70_000, "more than 65536 bytes"),
    ],
)
def test_impossible_numbers_are_refused_in_one_line(tmp_path: Path, text: str | bytes, shows: str) -> None:
    (tmp_path / "filer.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as caught:
        load_filer(str(tmp_path / "filer.toml"))
    assert shows in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["titanic", "", "no/such/file.toml", "/"])
def test_a_filer_that_is_not_there_is_reported_with_those_that_are(name: str) -> None:
    with pytest.raises(UsageError, match="titan"):
        load_filer(name)


def test_settings_hold_a_name_that_means_the_same_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "filer.toml").write_text(MINIMAL)
    monkeypatch.chdir(tmp_path)
    settings = read_settings({"EDBENCH_FILER": "filer.toml"})
    assert settings.filer == str(tmp_path / "filer.toml")
    assert read_settings(settings.environment()).filer == settings.filer
    assert read_settings({}).filer == "none"
    with pytest.raises(UsageError, match="titan"):
        read_settings({"EDBENCH_FILER": "titanic"})


class _Machine:
    """A clock on which reading costs 100 ns and a sleep ends as late as the machine is busy."""

    def __init__(self, late: int) -> None:
        self.now = 7 * SECOND
        self.late = late
        self.spun = 0

    def monotonic_ns(self) -> int:
        self.now += 100
        self.spun += 100
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += round(seconds * 1e9) + self.late


@given(
    measured=st.integers(0, 2_000_000),
    late=st.integers(0, 2_000_000),
    waits=st.lists(st.integers(-1_000, 5_000_000), min_size=1, max_size=20),
)
def test_no_wait_ends_early(measured: int, late: int, waits: list[int]) -> None:
    """Promise: whatever the machine was like when it was measured and is like now, every call lasts its time; and the
    excess is the lateness of one sleep."""
    with pytest.MonkeyPatch.context() as patch:
        machine = _Machine(measured)
        patch.setattr(emulation, "time", machine)
        pacer = emulation.Pacer()
        machine.late = late
        for wait in waits:
            end = machine.now + wait
            ended = pacer.wait_until(end)
            assert ended >= end
            assert ended - max(end, end - wait) <= late + 1_000


def test_a_measurement_on_a_busy_machine_is_corrected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise: measured while others had the processors, it is right again after a call or two, and hardly anything
    is spun away."""
    machine = _Machine(480_000)
    monkeypatch.setattr(emulation, "time", machine)
    pacer = emulation.Pacer()
    assert pacer.overshoot_ns == 480_100  # with the reading of the clock
    machine.late = 55_000
    pacer.wait_until(machine.now + 2_000_000)
    assert pacer.overshoot_ns < 56_000
    machine.spun = 0
    for _ in range(100):
        end = machine.now + 300_000
        assert end <= pacer.wait_until(end) < end + 1_000
    assert machine.spun < 100 * 11_000


def test_a_copy_of_a_filer_is_the_same_filer(tmp_path: Path) -> None:
    original, copy = _model(tmp_path), tmp_path / "run"
    copy.mkdir()
    copied = _loaded(copied_filer(tmp_path / "filer.toml", copy))
    assert (copied.source, copied.digest) == (str(copy / "filer.toml"), original.digest)
