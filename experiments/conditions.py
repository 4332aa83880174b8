"""The disclosure of design §7: everything under which a result was found, and the hash of what must not differ."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from core.filer import FilerModel
from monitoring.machine import place


def configuration_hash(config: Mapping[str, Any]) -> str:
    """Of the canonical JSON of a configuration."""
    return hashlib.sha256(json.dumps(config, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def database_places(directories: Mapping[str, Path], storage: Path, *, emulated: bool = False) -> list[dict[str, Any]]:
    """Where the databases' files are, and whether that is the storage under test; None where this process may not look.

    An emulated filer is no file system: it neither delays nor counts what databases do, wherever their files are.
    """
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
    """The emulated filer's own numbers."""
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
    """List in sentences what was not measured on the filer that an emulated filer stands for."""
    protocol, client = filer.protocol, filer.client
    said = []
    if protocol is None:
        said.append(
            "filer ops: every call counts as one filer op; no protocol is modelled between calls and the filer's units"
        )
    else:
        said.append(
            f"filer ops: by protocol {protocol.name}, {protocol.origin};"
            f" {filer.filer_ops_per_call:.3g} for a call of the mix that the ceiling is stated for"
            + ("" if (served := filer.server_ops_per_call) is None else f", {served:.3g} as the server counts them")
        )
    said.append(
        f"client cache: {client.cache_bytes:,} bytes a client, a read that it answers takes {client.reread_us:g} us"
        if client.cache_bytes
        else "client cache: none, every read reaches the filer"
    )
    if filer.directory.entry_us:
        said.append(f"directories: each entry adds {filer.directory.entry_us:g} us to making one more")
    said.append(f"round trip: {client.round_trip_us:g} us a metadata op, and for all data ops of a call together")
    return said
