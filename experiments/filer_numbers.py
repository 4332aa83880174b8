"""An emulated filer's numbers in a result, so that the capacity model knows the filer without its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from core.errors import UsageError
from core.filer import FilerModel
from core.filer.model import Disk, Processor
from core.operations import Op
from experiments.result.codec import decode
from experiments.workloads.discovery.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class _Station:
    servers: int
    service_us: dict[str, float]  # by op label


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbers:
    description: str
    metadata: _Station
    data: _Station
    link_bytes_per_s: float
    disk: dict[str, float]
    mix: dict[str, float]
    source: str


def numbers_of(filer: FilerModel) -> dict[str, Any]:
    """Plain data: what a profile says, unscaled."""

    def station(processor: Processor) -> _Station:
        return _Station(servers=processor.servers, service_us=_labelled(processor.service_us))

    return asdict(
        _Numbers(
            description=filer.description,
            metadata=station(filer.metadata),
            data=station(filer.data),
            link_bytes_per_s=filer.link_bytes_per_s,
            disk=asdict(filer.disk),
            mix=_labelled(filer.mix),
            source=filer.source,
        )
    )


def filer_of(result: Result, name: str) -> FilerModel | None:
    """The emulated filer that a result was made on, None for one on real storage.

    Raises UsageError where its numbers are missing (an older version wrote them not) or damaged; `name`: of the result.
    """
    said = result.conditions.get("emulated_filer")
    if not said:
        return None
    if "numbers" not in said:
        raise UsageError(f"{name} does not say what numbers its emulated filer had; run the experiment again")
    found = decode(_Numbers, said["numbers"], f"{name}: emulated_filer.numbers")
    try:
        filer = FilerModel(
            name=str(said["name"]),
            description=found.description,
            scale=float(said["scale"]),
            metadata=Processor(servers=found.metadata.servers, service_us=_by_op(found.metadata.service_us)),
            data=Processor(servers=found.data.servers, service_us=_by_op(found.data.service_us)),
            link_bytes_per_s=found.link_bytes_per_s,
            disk=Disk(**found.disk),
            mix=_by_op(found.mix),
            source=found.source,
        )
        same = filer.digest == said["digest"]
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{name}: emulated_filer: {error!r} is wrong or missing") from error
    if not same:
        raise UsageError(f"{name}: the numbers of its emulated filer {filer.name!r} are not those it ran with")
    return filer


def _labelled(numbers: Mapping[Op, float]) -> dict[str, float]:
    return {op.label: value for op, value in numbers.items()}


def _by_op(numbers: Mapping[str, float]) -> dict[Op, float]:
    return {Op[label.upper()]: value for label, value in numbers.items()}
