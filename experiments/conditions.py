"""The disclosure of design §7: the conditions of a result and the hash of its configuration; dropped caches; the
limiting station of an emulated filer."""

from __future__ import annotations

import hashlib
import json
import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from core.filer import FilerModel
from core.residency import Dropped
from experiments.report import words
from monitoring.machine import place


def configuration_hash(config: Mapping[str, Any]) -> str:
    """Return the hash of a configuration's canonical JSON."""
    return hashlib.sha256(json.dumps(config, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def database_places(directories: Mapping[str, Path], storage: Path, *, emulated: bool = False) -> list[dict[str, Any]]:
    """Return where each database's files are, and whether that is the storage under test; None if this process has no
    access. An emulated filer is no file system: it neither delays nor counts what databases do, wherever their files
    are."""
    under_test = os.stat(storage).st_dev
    out: list[dict[str, Any]] = []
    for name, directory in directories.items():
        try:
            there = place(directory)
        except OSError as error:
            there = {
                "path": str(directory),
                "label": f"not visible from here: {error.strerror}",
                "device": None,
            }
        on_it = None if there["device"] is None else there["device"] == under_test and not emulated
        out.append({"name": name, "on_storage_under_test": on_it, **there})
    return out


def emulated(filer: FilerModel | None) -> dict[str, Any] | None:
    """Return the numbers of an emulated filer's model."""
    if filer is None:
        return None
    ceiling = filer.ceiling_calls_per_s
    none = ceiling == float("inf")
    return {
        "name": filer.name,
        "label": filer.choice.label,
        "description": filer.description,
        "scale": filer.scale,
        "ceiling_calls_per_s": None if none else ceiling,
        "ceiling_filer_ops_per_s": None if none or filer.protocol is None else filer.ceiling_filer_ops_per_s,
        "assumptions": assumptions(filer),
        "digest": filer.digest,
        "numbers": {
            "description": filer.description,
            "metadata": asdict(filer.metadata),
            "data": asdict(filer.data),
            "link_bytes_per_s": filer.link_bytes_per_s,
            "disk": asdict(filer.disk),
            "mix": {op.label: share for op, share in filer.mix.items()},
            "source": filer.source,
            "protocol": None if filer.protocol is None else filer.protocol.to_plain(),
            "client": asdict(filer.client),
            "sizes": asdict(filer.sizes),
            "directory": asdict(filer.directory),
        },
    }


def assumptions(filer: FilerModel) -> list[str]:
    """Return sentences that list what was not measured on the filer that the model represents."""
    protocol, client = filer.protocol, filer.client
    lines = []
    if protocol is None:
        lines.append(
            "filer ops: every call counts as one filer op; no protocol is modelled between calls and the filer's units"
        )
    else:
        lines.append(
            f"filer ops: by protocol {protocol.name}, {protocol.origin};"
            f" {filer.filer_ops_per_call:.3g} for a call of the mix that the ceiling is stated for"
            + ("" if (served := filer.server_ops_per_call) is None else f", {served:.3g} as the server counts them")
        )
    lines.append(
        f"client cache: {client.cache_bytes:,} bytes a client, a cached read takes {client.reread_us:g} us"
        if client.cache_bytes
        else "client cache: none, every read reaches the filer"
    )
    if filer.directory.entry_us:
        lines.append(f"directories: each entry adds {filer.directory.entry_us:g} us to the creation of another")
    lines.append(f"round trip: {client.round_trip_us:g} us a metadata op, and for all data ops of a call together")
    return lines


NOT_DROPPED = "not dropped: caches of the filer itself, of its disks, and of other hosts"
_STAYS = 0.01  # share of resident bytes that still counts as cold: mapped pages cannot be dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop(Dropped):
    """Result and time of one attempt to drop caches."""

    when: str  # "before" the run, at the barrier into "index", "before the calls" of a replay
    host: str = ""  # of an experiment on several; empty: this command's

    @classmethod
    def of(cls, when: str, dropped: Dropped) -> Self:
        """Return the result of an attempt with the time at which it was made."""
        return cls(when=when, **asdict(dropped))

    @property
    def cold(self) -> bool:
        """Whether at most `_STAYS` of the bytes stayed in memory and no file was refused or unknown."""
        return not self.refused and not self.unknown and self.resident_after <= _STAYS * self.bytes

    def to_json(self) -> dict[str, Any]:
        """Return plain data for the result."""
        return asdict(self) | {"seconds": round(self.seconds, 3), "cold": self.cold}


def cache_state(drops: Sequence[Drop], *, asked: bool) -> str:
    """Return `cold …`, `partly cold: …` or `unknown` (nothing was dropped), with the share of bytes in memory after a
    drop."""
    if not asked:
        return "unknown (nothing was dropped; --cold drops caches)"
    stayed = max((one.resident_after / one.bytes for one in drops if one.bytes), default=0.0)
    if drops and all(one.cold for one in drops):
        where = "every host" if any(one.host for one in drops) else "this host"
        return f"cold on {where}, at most {stayed:.1%} of the bytes in memory after a drop ({NOT_DROPPED})"
    unknown = max((one.unknown for one in drops), default=0)
    refused = max((one.refused for one in drops), default=0)
    return (
        f"partly cold: up to {stayed:.1%} of the bytes stayed in memory, {unknown:,} bytes unknown,"
        f" {refused:,} files refused ({NOT_DROPPED})"
    )


BUSY = 0.85  # utilisation from which a station is called the limit
THE_STORAGE = "limit: the storage"  # not emulated: its parts are not known
Stations = Mapping[str, Mapping[str, float]]  # by name: {"utilisation": 0 to 1, …}


def busiest(series: Iterable[tuple[float, Stations]]) -> tuple[str, float] | None:
    """Return the station that was busiest in the median second of work, and its utilisation; None with too few seconds.
    The first and the last second of work are cut: calls began or ended within them."""
    worked = [stations for _, stations in series if any(use["utilisation"] > 0 for use in stations.values())][1:-1]
    if not worked:
        return None
    medians = {name: statistics.median(use[name]["utilisation"] for use in worked) for name in worked[0]}
    name = max(medians, key=lambda station: medians[station])
    return name, medians[name]


def filer_limit(series: Iterable[tuple[float, Stations]], *, waits: bool) -> list[str]:
    """Return the limit of the filer: its busiest station from `BUSY` on, or its delays if most of the time was spent
    waiting for it (`waits`). Return nothing if neither is known."""
    limit = busiest(series)
    if limit is None:
        return []
    name, share = limit
    if share >= BUSY:
        return [f"limit: the filer's {name}, {words.percent(min(share, 1.0))} busy"]
    if waits:
        return [f"limit: the filer's delays, no station over {words.percent(share)} busy"]
    return []
