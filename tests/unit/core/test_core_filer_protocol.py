"""From calls to filer ops: data that is checked, booked at both units, counted, and printed with where it comes from."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import UsageError
from core.filer import FilerModel, load_filer
from core.filer.arbiter import Arbiter
from core.filer.emulation import EmulatedFiler, Pacer
from core.filer.load import PROFILES
from core.filer.model import load_protocol, protocol_names, protocol_of
from core.filer.use import SHARED_MEMORY
from core.operations import MemoryRecorder, Op
from core.records import Phase
from experiments.conditions import emulated

MS = 1_000_000
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


def _model(tmp_path: Path, more: str = "", index: str = "") -> FilerModel:
    (tmp_path / "small.toml").write_text(_PROTOCOL + index)
    (tmp_path / "filer.toml").write_text(_FILER.format(more=more))
    model = load_filer(str(tmp_path / "filer.toml"))
    assert model is not None
    return model


def test_a_call_is_as_many_filer_ops_as_the_protocol_says(tmp_path: Path, path: Path) -> None:
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
    assert model.protocol is not None
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
    for old, new in changes:
        (tmp_path / "small.toml").write_text(_PROTOCOL.replace(old, new))
        model = load_filer(str(tmp_path / "filer.toml"))
        assert model is not None
        digests.add(model.digest)
    assert len(digests) == 5


def test_ours_say_how_they_are_known() -> None:
    """NFS was measured; nobody knows R1's protocol, and that is said in the disclosure with what is assumed instead."""
    origins = {name: load_protocol(name).origin.split()[0].rstrip(":") for name in protocol_names()}
    assert origins == {"r1": "assumed", "cifs": "assumed", "nfs-v3": "measured", "nfs-v4.2": "measured"}
    titan = load_filer("titan")
    told = " ".join((emulated(titan) or {})["assumptions"])
    assert "assumed: R1 names no protocol" in told
    assert "client cache: none" in told
    assert "measured: a Linux NFSv3 client" in " ".join((emulated(load_filer("nas-1g")) or {})["assumptions"])


def test_a_filer_of_calls_says_so(tmp_path: Path) -> None:
    (tmp_path / "calls.toml").write_text('name = "calls"\n[metadata]\nservice_us.default = 100.0\n')
    told = " ".join((emulated(load_filer(str(tmp_path / "calls.toml"))) or {})["assumptions"])
    assert "every call counts as one filer op" in told


def test_what_the_server_counted_stands_beside_and_is_told(tmp_path: Path) -> None:
    nas = PROFILES / "nas-1g.toml"
    alike = (
        f'name = "mine"\nprotocol = "nfs-v4.2"\n[mix]\n{nas.read_text().partition("[mix]")[2].partition(chr(10))[2]}'
    )
    (tmp_path / "compounds.toml").write_text(alike)
    model = load_filer(str(tmp_path / "compounds.toml"))
    assert model is not None
    assert model.server_ops_per_call is not None
    told = f"{model.filer_ops_per_call:.3g} for a call", f"{model.server_ops_per_call:.3g} as the server counts them"
    assert all(one in " ".join((emulated(model) or {})["assumptions"]) for one in told)
    page = " ".join((Path(__file__).parents[3] / "docs/filer.md").read_text().split())
    assert f"{model.server_ops_per_call:.2f} a call with `nfs-v4.2`, of {model.filer_ops_per_call:.2f} requests" in page
    plain = _model(tmp_path)
    (tmp_path / "small.toml").write_text(f"{_PROTOCOL}[server]\nopen = {{ PUTFH = 9.0 }}\n")
    counted = load_filer(str(tmp_path / "filer.toml"))
    assert counted is not None
    assert counted.protocol is not None
    assert (plain.server_ops_per_call, counted.digest) == (None, plain.digest)
    assert protocol_of(counted.protocol.to_plain(), "result", counted.protocol.source) == counted.protocol


def test_plain_data_and_back(tmp_path: Path) -> None:
    protocol = _model(tmp_path).protocol
    assert protocol is not None
    assert protocol_of(protocol.to_plain(), "result", protocol.source) == protocol


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("3.0", "-3.0", "call.open.LOOKUP is -3"),
        ("3.0", "inf", "must be a number"),
        ("3.0", "1e9", "call.open.LOOKUP"),
        ("LOOKUP = 3.0", '"a b" = 3.0', "a filer op has a name"),
        ("open =", "opens =", "there is no call.opens"),
        ("[call]", "[index_call]\nopens = {}\n[call]", "there is no index_call.opens"),
        ("[call]", "[index_call]\nopen = { READ = -1.0 }\n[call]", "index_call.open.READ is -1"),
        ("assumed:", "surely:", "origin must say"),
        ("transfer_bytes = 1000", "transfer_bytes = 0", "transfer_bytes"),
        ('"COMMIT"]', '"COMMITS"]', "data names COMMITS"),
        ('data = ["READ", "COMMIT"]', "data = 4", "list of names"),
        ("entry = { GETATTR = 0.5 }", "entry = 4", "must be a table"),
        ('name = "small"', "", "name"),
    ],
)
def test_impossible_expansions_are_refused_in_one_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    file = tmp_path / "small.toml"
    file.write_text(_PROTOCOL.replace(old, new))
    with pytest.raises(UsageError) as caught:
        load_protocol("small.toml", tmp_path)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_protocol_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="r1"):
        load_protocol("smb9")


def test_storage_tells_the_filer_what_a_call_found(tmp_path: Path, path: Path) -> None:
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
