"""The emulated filer's stations as a worker tells of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from core.filer.emulation import open_arbiter
from core.operations import Op
from core.settings import Settings
from monitoring.host_samplers import StationSampler

_TEXT = 'name = "one"\n[data]\nservers = 3\nservice_us.default = 1000.0\n[mix]\nread = 1.0\n'


def test_stations_that_served_are_told_of(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(_TEXT)
    settings = Settings(storage=tmp_path, scratch=tmp_path, filer=str(file), filer_arbiter=tmp_path)
    sampler = StationSampler(settings)
    assert sampler.sample() == []
    other = open_arbiter(settings)
    assert other is not None
    for _ in range(6):
        other.book(Op.READ, 10, 0)
    (seen,) = sampler.sample()
    assert (seen.kind, seen.source) == ("emulated", "one")
    data = {"servers": 3, "calls": 6, "filer_ops": 6.0, "busy_s": 0.006, "waited_s": 0.003}
    assert seen.values == {"station": {"data": data}}
    assert StationSampler(dataclasses.replace(settings, filer="none")).sample() == []
