"""Profiles of emulated filers, from TOML: ours by name, a user's own by path."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from core.errors import UsageError
from core.filer.model import DATA_OPS, MAX_SERVERS, Disk, FilerModel, Processor
from core.operations import Op

PROFILES = Path(__file__).parent / "profiles"
MAX_FILE_BYTES = 65_536
MAX_SERVICE_US = 60e6
MAX_LINK_BYTES_PER_S = 1e12
MAX_DISK_MS = 60_000.0
MAX_SCALE = 1e6
MAX_NAME = 40
_METADATA_OPS = frozenset(Op) - DATA_OPS
_MIX_TOLERANCE = 0.001


def profile_names() -> list[str]:
    """Profiles that come with the product, `none` last."""
    return [*sorted(path.stem for path in PROFILES.glob("*.toml")), "none"]


def load_filer(name_or_path: str) -> FilerModel | None:
    """The emulated filer of that name or file, None for `none`; raises UsageError in one line."""
    if name_or_path == "none":
        return None
    if name_or_path in profile_names():
        path, source = PROFILES / f"{name_or_path}.toml", name_or_path
    else:
        path = Path(name_or_path).absolute()
        source = str(path)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            raise UsageError(
                f"filer {name_or_path}: a profile has at most {MAX_FILE_BYTES} bytes; is it the right file?"
            )
        table = tomllib.loads(raw.decode("utf-8"))
    except OSError as e:
        known = ", ".join(profile_names())
        raise UsageError(f"filer {name_or_path!r}: {e.strerror}; take {known}, or a file in TOML") from e
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise UsageError(f"filer {name_or_path}: not TOML: {' '.join(str(e).split())}") from e
    return _Reader(name_or_path).model(table, source)


class _Reader:
    """Takes numbers out of tables; what is wrong is told with the file and the key."""

    def __init__(self, where: str) -> None:
        self._where = where

    def wrong(self, what: str) -> UsageError:
        return UsageError(f"filer {self._where}: {what}")

    def model(self, table: Mapping[str, Any], source: str) -> FilerModel:
        self._known(table, ("name", "description", "scale", "metadata", "data", "link", "disk", "mix"), "")
        link, disk = self._table(table, "link"), self._table(table, "disk")
        self._known(link, ("bytes_per_s",), "link.")
        self._known(disk, ("read_ms", "read_miss", "write_ms", "write_miss"), "disk.")
        limit = {"ms": MAX_DISK_MS, "miss": 1.0}
        return FilerModel(
            name=self._name(table),
            description=self._text(table, "description"),
            scale=self._number(table, "scale", "", 1.0, MAX_SCALE, low=1e-3),
            metadata=self._processor(table, "metadata", _METADATA_OPS),
            data=self._processor(table, "data", DATA_OPS),
            link_bytes_per_s=self._number(link, "bytes_per_s", "link.", 0.0, MAX_LINK_BYTES_PER_S, low=1000.0)
            if "bytes_per_s" in link
            else 0.0,
            disk=Disk(**{k: self._number(disk, k, "disk.", 0.0, limit[k.partition("_")[2]]) for k in disk}),
            mix=self._mix(table),
            source=source,
        )

    def _name(self, table: Mapping[str, Any]) -> str:
        name = self._text(table, "name")
        if not name or len(name) > MAX_NAME or not name.isprintable() or name != name.strip():
            raise self.wrong(f"name must be a printable text of at most {MAX_NAME} characters")
        if name in profile_names() and Path(self._where).name != self._where:
            raise self.wrong(f"the name {name!r} is a profile's of ours; results must tell them apart, give another")
        return name

    def _text(self, table: Mapping[str, Any], key: str) -> str:
        value = table.get(key, "")
        if not isinstance(value, str):
            raise self.wrong(f"{key} must be a text")
        return value

    def _processor(self, table: Mapping[str, Any], name: str, ops: Collection[Op]) -> Processor:
        section = self._table(table, name)
        self._known(section, ("servers", "service_us"), f"{name}.")
        servers = section.get("servers", 1)
        if isinstance(servers, bool) or not isinstance(servers, int) or not 1 <= servers <= MAX_SERVERS:
            raise self.wrong(f"{name}.servers is {servers!r}; it must be a whole number from 1 to {MAX_SERVERS}")
        times = self._table(section, "service_us", f"{name}.")
        self._known(times, ("default", *(op.label for op in ops)), f"{name}.service_us.")
        at = f"{name}.service_us."
        usual = self._number(times, "default", at, 0.0, MAX_SERVICE_US)
        service = {op: self._number(times, op.label, at, usual, MAX_SERVICE_US) for op in ops}
        return Processor(servers=servers, service_us=service)

    def _mix(self, table: Mapping[str, Any]) -> dict[Op, float]:
        shares = self._table(table, "mix")
        self._known(shares, [op.label for op in Op], "mix.")
        mix = {op: self._number(shares, op.label, "mix.", 0.0, 1.0) for op in Op if op.label in shares}
        if not mix:
            return {op: 1 / len(Op) for op in Op}
        if abs(sum(mix.values()) - 1) > _MIX_TOLERANCE:
            raise self.wrong(f"the shares in mix sum to {sum(mix.values()):g}; they must sum to 1")
        return mix

    def _table(self, table: Mapping[str, Any], key: str, at: str = "") -> Mapping[str, Any]:
        value = table.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(f"{at}{key} must be a table")
        return value

    def _known(self, table: Mapping[str, Any], keys: Collection[str], at: str) -> None:
        for key in table:
            if key not in keys:
                raise self.wrong(f"there is no {at}{key}; there is {', '.join(sorted(keys))}")

    def _number(
        self, table: Mapping[str, Any], key: str, at: str, default: float, high: float, *, low: float = 0.0
    ) -> float:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.wrong(f"{at}{key} is {value!r}; it must be a number")
        if not low <= value <= high:
            raise self.wrong(f"{at}{key} is {value:g}; it must be from {low:g} to {high:g}")
        return float(value)
