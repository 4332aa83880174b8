"""A replay asks an emulated filer for what the job asked it for, whatever phase its calls were of."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from relay_traces import compiled, relay

from core.filer.arbiter import Arbiter
from core.filer.emulation import EmulatedFiler, Pacer
from core.filer.load import load_filer
from core.filer.model import FilerModel
from core.operations import Op
from core.records import Phase
from replay.local import run_local
from traces.model import MemoryTrace

_FILER = """
name = "mine"
protocol = "r1"
[metadata]
service_us.default = 0.01
[data]
service_us.default = 0.01
"""
_PHASES = (Phase.WALK, Phase.EXPAND, Phase.INDEX)


def _filer(tmp_path: Path) -> FilerModel:
    file = tmp_path / "filer.toml"
    file.write_text(_FILER)
    model = load_filer(str(file))
    assert model is not None
    return model


def _of_all_phases() -> MemoryTrace:
    """Phases change with each call or two, and streams differ in them."""
    trace = relay()
    turns = itertools.cycle((0, 2, 2, 1, 0, 2, 1))
    streams = [[call._replace(phase=next(turns)) for call in stream] for stream in trace.streams]
    return replace(trace, header=replace(trace.header, phases=tuple(map(str, _PHASES))), streams=streams)


def _ops(arbiter: Arbiter) -> dict[str, float]:
    return {name: counts.filer_ops for name, counts in arbiter.snapshot().stations.items()}


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("clients", [1, 3])
def test_a_replay_asks_for_the_filer_ops_of_the_job(tmp_path: Path, clients: int, closed: bool) -> None:
    """Protocol r1 counts calls of phase index otherwise: those of the trace, and no others. Clients that play several streams too."""
    model, trace = _filer(tmp_path), _of_all_phases()
    with Arbiter(tmp_path / "edbench-filer-job", model) as job:
        slot = EmulatedFiler(job, Pacer())
        for call in itertools.chain(*trace.streams):
            slot.works_on(_PHASES[call.phase])
            slot.serve(call.op, call.bytes, 0, b"", call.argument)
        asked, other = _ops(job), _other(model, trace, tmp_path)
    assert asked != other, "of all phases alike it would be another number"
    program, target = compiled(tmp_path, trace, clients, closed=closed)
    path = tmp_path / "edbench-filer-replay"
    with Arbiter(path, model) as arbiter:
        found = run_local(program, target, station=lambda: EmulatedFiler(Arbiter(path, model), Pacer()))
        assert found.merged.differences == ()
        assert _ops(arbiter) == pytest.approx(asked)


def _other(model: FilerModel, trace: MemoryTrace, tmp_path: Path) -> dict[str, float]:
    with Arbiter(tmp_path / "edbench-filer-other", model) as arbiter:
        for call in itertools.chain(*trace.streams):
            arbiter.book(Op(call.op), call.bytes, 0, b"", call.argument)
        return _ops(arbiter)
