"""Profiles of emulated filers, from TOML: ours by name, a user's own by path."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from core.errors import StorageFault
from core.filer.model import (
    DATA_OPS,
    MAX_SERVERS,
    Client,
    Directory,
    Disk,
    FilerModel,
    Processor,
    Protocol,
    Sizes,
    Tables,
    load_protocol,
    read_table,
)
from core.operations import Op

PROFILES = Path(__file__).parent / "profiles"
MAX_SERVICE_US = 60e6
MAX_LINK_BYTES_PER_S = 1e12
MAX_ENTRY_US = 1e4
MAX_DISK_MS = 60_000.0
MAX_SCALE = 1e6
MAX_NAME = 40
MAX_CACHE_BYTES = 1 << 50
MAX_CALL_BYTES = 1e9
_METADATA_OPS = frozenset(Op) - DATA_OPS
_MIX_TOLERANCE = 0.001
_DEFAULT = "default"  # in service times: of every op that is not named
_TABLES = ("metadata", "data", "link", "disk", "directory", "client", "mix", "sizes")


def profile_names() -> list[str]:
    """Profiles that come with the product, `none` last."""
    return [*sorted(path.stem for path in PROFILES.glob("*.toml")), "none"]


def filer_help(default: str) -> str:
    """Help of --filer, for all commands that have it."""
    return (
        f"Use this emulated filer: {', '.join(profile_names())}, or (commands only) a TOML file.  [default: {default}]"
    )


def load_filer(name_or_path: str) -> FilerModel | None:
    """Return the emulated filer of that name or file; None for `none`. Raises UsageError in one line."""
    if name_or_path == "none":
        return None
    if name_or_path in profile_names():
        path, source = PROFILES / f"{name_or_path}.toml", name_or_path
    else:
        path = Path(name_or_path).absolute()
        source = str(path)
    table = read_table(path, f"filer {name_or_path!r}", profile_names())
    return _Reader(f"filer {name_or_path}", ours=path.parent == PROFILES).model(table, source, path.parent)


def copied_filer(file: Path, directory: Path) -> Path:
    """Copy the file of a filer, with that of a protocol next to it, into a directory; the copy. Raises UsageError, StorageFault."""
    model, here = load_filer(str(file)), file.absolute().parent
    files = [file.absolute()]
    if model is not None and model.protocol is not None and Path(model.protocol.source).is_relative_to(here):
        files.append(Path(model.protocol.source))
    try:
        for one in files:
            target = directory / one.relative_to(here)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(one, target)
    except OSError as error:
        raise StorageFault(
            f"{file} cannot be copied to {directory}: {error.strerror}", errno=error.errno or 0
        ) from error
    return directory / file.name


class _Reader(Tables):
    def __init__(self, where: str, *, ours: bool) -> None:
        super().__init__(where)
        self._ours = ours

    def model(self, table: Mapping[str, Any], source: str, beside: Path) -> FilerModel:
        self.known(table, ("name", "description", "scale", "protocol", *_TABLES), "")
        link, disk, client, sizes = (self.table(table, key) for key in ("link", "disk", "client", "sizes"))
        directory = self.table(table, "directory")
        self.known(directory, ("entry_us",), "directory.")
        self.known(link, ("bytes_per_s",), "link.")
        self.known(disk, ("read_ms", "read_miss", "write_ms", "write_miss"), "disk.")
        limit = {"ms": MAX_DISK_MS, "miss": 1.0}
        said = self.text(table, "protocol")
        protocol = load_protocol(said, beside) if said else None
        return FilerModel(
            name=self._filer_name(table),
            description=self.text(table, "description"),
            scale=self.number(table, "scale", "", 1.0, MAX_SCALE, low=1e-3),
            metadata=self._processor(table, "metadata", self._served(protocol, _METADATA_OPS, data=False)),
            data=self._processor(table, "data", self._served(protocol, DATA_OPS, data=True)),
            link_bytes_per_s=self.number(link, "bytes_per_s", "link.", 0.0, MAX_LINK_BYTES_PER_S, low=1000.0)
            if "bytes_per_s" in link
            else 0.0,
            disk=Disk(**{k: self.number(disk, k, "disk.", 0.0, limit[k.partition("_")[2]]) for k in disk}),
            mix=self._mix(table),
            source=source,
            protocol=protocol,
            client=self._client(client),
            sizes=self._sizes(sizes),
            directory=Directory(entry_us=self.number(directory, "entry_us", "directory.", 0.0, MAX_ENTRY_US)),
        )

    def _filer_name(self, table: Mapping[str, Any]) -> str:
        name = self.name(table, MAX_NAME)
        if name in profile_names() and not self._ours:
            raise self.wrong(
                f"name is {name!r}, which is a built-in profile; give another name, so that results show which one was used"
            )
        return name

    def _served(self, protocol: Protocol | None, calls: Collection[Op], *, data: bool) -> Collection[str]:
        """What one unit serves, by name."""
        if protocol is None:
            return [op.label for op in calls]
        return [name for name in protocol.ops if (name in protocol.data) == data]

    def _processor(self, table: Mapping[str, Any], name: str, served: Collection[str]) -> Processor:
        section = self.table(table, name)
        self.known(section, ("servers", "service_us"), f"{name}.")
        servers = self.whole(section, "servers", f"{name}.", 1, MAX_SERVERS)
        times = self.table(section, "service_us", f"{name}.")
        at = f"{name}.service_us."
        self.known(times, (_DEFAULT, *served), at)
        usual = self.number(times, _DEFAULT, at, 0.0, MAX_SERVICE_US)
        service = {op: self.number(times, op, at, usual, MAX_SERVICE_US) for op in sorted(served)}
        return Processor(servers=servers, service_us=service)

    def _client(self, table: Mapping[str, Any]) -> Client:
        self.known(table, ("cache_bytes", "reread_us", "round_trip_us"), "client.")
        return Client(
            cache_bytes=self.whole(table, "cache_bytes", "client.", 0, MAX_CACHE_BYTES, low=0),
            reread_us=self.number(table, "reread_us", "client.", 0.0, MAX_SERVICE_US),
            round_trip_us=self.number(table, "round_trip_us", "client.", 0.0, MAX_SERVICE_US),
        )

    def _sizes(self, table: Mapping[str, Any]) -> Sizes:
        self.known(table, ("entries", "read_bytes", "write_bytes"), "sizes.")
        return Sizes(**{key: self.number(table, key, "sizes.", 0.0, MAX_CALL_BYTES) for key in table})

    def _mix(self, table: Mapping[str, Any]) -> dict[Op, float]:
        shares = self.table(table, "mix")
        self.known(shares, [op.label for op in Op], "mix.")
        mix = {op: self.number(shares, op.label, "mix.", 0.0, 1.0) for op in Op if op.label in shares}
        if not mix:
            return {op: 1 / len(Op) for op in Op}
        if abs(sum(mix.values()) - 1) > _MIX_TOLERANCE:
            raise self.wrong(f"the shares in mix sum to {sum(mix.values()):g}; they must sum to 1")
        return mix
