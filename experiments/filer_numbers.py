"""An emulated filer's numbers in a result, so that the capacity model knows the filer without its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from core.errors import UsageError
from core.filer import FilerModel
from core.filer.model import Client, Directory, Disk, Processor, Sizes
from core.filer.protocol import Protocol, protocol_of
from core.filer.site import SiteModel
from core.operations import Op
from experiments.result.codec import decode
from experiments.workloads.discovery.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class _Station:
    servers: int
    service_us: dict[str, float]  # by filer op, without a protocol by call


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbers:
    description: str
    metadata: _Station
    data: _Station
    link_bytes_per_s: float
    disk: dict[str, float]
    mix: dict[str, float]
    source: str
    protocol: dict[str, Any] | None = None  # as `core.filer.protocol` writes it; results from before have none
    client: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    directory: dict[str, float] = field(default_factory=dict)
    site: SiteModel | None = None


def numbers_of(filer: FilerModel) -> dict[str, Any]:
    """Plain data: what a profile says, unscaled."""

    def station(processor: Processor) -> _Station:
        return _Station(servers=processor.servers, service_us=dict(processor.service_us))

    return asdict(
        _Numbers(
            description=filer.description,
            metadata=station(filer.metadata),
            data=station(filer.data),
            link_bytes_per_s=filer.link_bytes_per_s,
            disk=asdict(filer.disk),
            mix=_labelled(filer.mix),
            source=filer.source,
            protocol=None if filer.protocol is None else filer.protocol.to_plain(),
            client=asdict(filer.client),
            sizes=asdict(filer.sizes),
            directory=asdict(filer.directory),
            site=filer.site,
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
        raise UsageError(f"{name} does not have the numbers of its emulated filer; run the experiment again")
    numbers = decode(_Numbers, said["numbers"], f"{name}: emulated_filer.numbers")
    try:
        filer = FilerModel(
            name=str(said["name"]),
            description=numbers.description,
            scale=float(said["scale"]),
            metadata=Processor(servers=numbers.metadata.servers, service_us=numbers.metadata.service_us),
            data=Processor(servers=numbers.data.servers, service_us=numbers.data.service_us),
            link_bytes_per_s=numbers.link_bytes_per_s,
            disk=Disk(**numbers.disk),
            mix=_by_op(numbers.mix),
            source=numbers.source,
            protocol=_protocol(numbers.protocol, name),
            client=Client(**numbers.client | {"cache_bytes": int(numbers.client.get("cache_bytes", 0))}),  # type: ignore[arg-type]
            sizes=Sizes(**numbers.sizes),
            directory=Directory(**numbers.directory),
            site=numbers.site,
        )
        same = filer.digest == said["digest"]
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{name}: emulated_filer: {error!r} is wrong or missing") from error
    if not same:
        raise UsageError(f"{name}: the numbers of its emulated filer {filer.name!r} are not those it ran with")
    return filer


def _protocol(plain: dict[str, Any] | None, name: str) -> Protocol | None:
    return None if plain is None else protocol_of(plain, f"{name}: emulated_filer.numbers.protocol", "")


def _labelled(numbers: Mapping[Op, float]) -> dict[str, float]:
    return {op.label: value for op, value in numbers.items()}


def _by_op(numbers: Mapping[str, float]) -> dict[Op, float]:
    return {Op[label.upper()]: value for label, value in numbers.items()}
