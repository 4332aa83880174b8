"""Settings: one frozen object, read once from `EDBENCH_*` by whoever starts a process, then passed along."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import UsageError
from core.filer import load_filer

INDEX_ENGINES = ("tantivy", "whoosh")
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseAddress:
    """A database by its name in this installation."""

    name: str
    url: str  # postgresql+psycopg2://…


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything a process needs to know about where things are."""

    databases: tuple[DatabaseAddress, ...] = ()  # empty: embedded services are to be started
    broker: str | None = None  # redis://… or redis+socket://…
    storage: Path = field(default_factory=lambda: Path("edbench-storage").absolute())  # on the filer under test
    scratch: Path = field(default_factory=lambda: Path(".edbench").absolute())  # local, never the filer
    slots: int = 4  # per worker
    index_engine: str = "tantivy"
    slot_memory_mb: int = 1024  # private memory a slot may have before it is refused more (RLIMIT_DATA)
    log_level: str = "WARNING"
    filer: str = "none"  # emulated filer: a profile's name or a file (core.filer)
    filer_arbiter: str = ""  # directory for its arbiter that all workers share; empty: this host's shared memory
    observe: bool = True  # off: storage calls are not recorded and nothing is observed, to see what that costs
    plugins: tuple[str, ...] = ()  # modules with format handlers that are not ours (worker.plugins)

    @property
    def embedded(self) -> bool:
        """Whether PostgreSQL and the broker are ours to start."""
        return not self.databases

    def environment(self) -> dict[str, str]:
        """The `EDBENCH_*` variables that give a child process these settings."""
        out = {
            "EDBENCH_STORAGE": str(self.storage),
            "EDBENCH_SCRATCH": str(self.scratch),
            "EDBENCH_SLOTS": str(self.slots),
            "EDBENCH_INDEX_ENGINE": self.index_engine,
            "EDBENCH_SLOT_MEMORY_MB": str(self.slot_memory_mb),
            "EDBENCH_LOG_LEVEL": self.log_level,
            "EDBENCH_FILER": self.filer,
            "EDBENCH_OBSERVE": "on" if self.observe else "off",
        }
        if self.databases:
            out["EDBENCH_DATABASES"] = ",".join(f"{d.name}={d.url}" for d in self.databases)
        if self.plugins:
            out["EDBENCH_PLUGINS"] = ",".join(self.plugins)
        if self.filer_arbiter:
            out["EDBENCH_FILER_ARBITER"] = self.filer_arbiter
        if self.broker:
            out["EDBENCH_BROKER"] = self.broker
        return out


def parse_databases(text: str) -> tuple[DatabaseAddress, ...]:
    """`name=url,name=url`; raises UsageError when it is not that."""
    out: list[DatabaseAddress] = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, sep, url = (p.strip() for p in part.partition("="))
        if not sep or not name:
            raise UsageError(
                f"EDBENCH_DATABASES: {part!r} is not name=url; write db1=postgresql+psycopg2://user@host/db"
            )
        if not url.startswith("postgresql+psycopg2://"):
            raise UsageError(f"EDBENCH_DATABASES: the URL of {name} must start with postgresql+psycopg2://")
        out.append(DatabaseAddress(name=name, url=url))
    if len({d.name for d in out}) != len(out):
        raise UsageError("EDBENCH_DATABASES: two databases have the same name")
    return tuple(out)


def _positive(env: Mapping[str, str], key: str, default: int) -> int:
    text = env.get(key, "")
    if not text:
        return default
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise UsageError(f"{key} is {text!r}; it must be a whole number of at least 1")
    return int(text)


def _switch(env: Mapping[str, str], key: str) -> bool:
    text = env.get(key) or "on"
    if text not in ("on", "off"):
        raise UsageError(f"{key} is {text!r}; it can be on or off")
    return text == "on"


def _log_level(env: Mapping[str, str]) -> str:
    text = env.get("EDBENCH_LOG_LEVEL") or "WARNING"
    if text.upper() not in LOG_LEVELS:
        raise UsageError(f"EDBENCH_LOG_LEVEL is {text!r}; it can be {', '.join(LOG_LEVELS[:-1])} or {LOG_LEVELS[-1]}")
    return text.upper()


def filer_source(text: str) -> str:
    """What names an emulated filer from any directory: a profile's name or an absolute path; raises UsageError."""
    model = load_filer(text)
    return "none" if model is None else model.source


def read_settings(env: Mapping[str, str]) -> Settings:
    """Settings from the given environment; raises UsageError with the variable's name on a bad value."""
    engine = env.get("EDBENCH_INDEX_ENGINE") or "tantivy"
    if engine not in INDEX_ENGINES:
        raise UsageError(f"EDBENCH_INDEX_ENGINE is {engine!r}; it can be {' or '.join(INDEX_ENGINES)}")
    return Settings(
        databases=parse_databases(env.get("EDBENCH_DATABASES", "")),
        broker=env.get("EDBENCH_BROKER") or None,
        storage=Path(env.get("EDBENCH_STORAGE") or "edbench-storage").absolute(),
        scratch=Path(env.get("EDBENCH_SCRATCH") or ".edbench").absolute(),
        slots=_positive(env, "EDBENCH_SLOTS", 4),
        index_engine=engine,
        slot_memory_mb=_positive(env, "EDBENCH_SLOT_MEMORY_MB", 1024),
        log_level=_log_level(env),
        filer=filer_source(env.get("EDBENCH_FILER") or "none"),
        filer_arbiter=env.get("EDBENCH_FILER_ARBITER") or "",
        observe=_switch(env, "EDBENCH_OBSERVE"),
        plugins=tuple(filter(None, (p.strip() for p in env.get("EDBENCH_PLUGINS", "").split(",")))),
    )
