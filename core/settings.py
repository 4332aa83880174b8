"""Settings: one frozen object, read once from `EDBENCH_*` at the start of a process, then passed along."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from core.errors import UsageError, reading_errors
from core.options import MOST_BYTES
from core.program import shown_url
from core.roles import Login, has_login, has_password, with_login

INDEX_ENGINES = ("tantivy", "whoosh")
LOGIN_FILE = "EDBENCH_LOGIN_FILE"  # names a file with user:password, for the URLs without a login
_BYTES = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)(B|kB|MB|GB|TB)")
_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseAddress:
    """The address of a database, by its name in this installation."""

    name: str
    url: str  # postgresql+psycopg2://…


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Names, addresses and directories that a process needs."""

    databases: tuple[DatabaseAddress, ...] = ()  # empty: embedded services are to be started
    broker: str | None = None  # redis://…
    storage: Path = field(default_factory=lambda: Path("edbench-storage").absolute())  # on the filer under test
    evidence: Path | None = None  # may contain sources that containers see and cannot change
    scratch: Path = field(default_factory=lambda: Path(".edbench").absolute())  # local, never the filer
    slots: int = 4  # per worker
    index_engine: str = "tantivy"
    slot_memory_mb: int = 1024  # private memory a slot may have before it is refused more (RLIMIT_DATA)
    stall_seconds: int = 600  # a slot that is silent for longer, outside an item, is ended
    log_level: str = "WARNING"
    filer: str = "none"  # emulated filer: a profile's name or a file (core.filer)
    filer_cache: int | None = None  # bytes that the filer itself can cache, as declared; None: not declared
    filer_arbiter: str = ""  # directory for its arbiter that all workers share; empty: this host's shared memory
    observe: bool = True  # off: storage calls are not recorded and nothing is observed, to see what that costs
    sandbox: bool = True  # off: files are parsed in the slots themselves, to see what it costs (worker.sandbox)
    run: str = ""  # of an experiment, whose messages are kept apart at the broker; empty: the system's own jobs
    hosts: tuple[str, ...] = ()  # of an experiment on several, this one first; empty: one host, or irrelevant
    handed: tuple[Login, ...] = ()  # the login of each role to these databases and broker; empty: those of the URLs
    plugins: tuple[str, ...] = ()  # modules with format handlers of their own (worker.parsers)

    @property
    def embedded(self) -> bool:
        """Whether edbench starts PostgreSQL and the broker itself."""
        return not self.databases

    def for_role(self, role: str) -> Settings:
        """The settings for a process of that role, with only its own login to databases and broker."""
        for login in self.handed:
            if login.role == role:
                databases = tuple(DatabaseAddress(name=d.name, url=login.into(d.url)) for d in self.databases)
                broker = None if self.broker is None else login.into(self.broker)
                return replace(self, databases=databases, broker=broker, handed=())
        return replace(self, handed=())

    def environment(self) -> dict[str, str]:
        """The `EDBENCH_*` variables that give a child process these settings."""
        out = {
            "EDBENCH_STORAGE": str(self.storage),
            "EDBENCH_SCRATCH": str(self.scratch),
            "EDBENCH_SLOTS": str(self.slots),
            "EDBENCH_INDEX_ENGINE": self.index_engine,
            "EDBENCH_SLOT_MEMORY_MB": str(self.slot_memory_mb),
            "EDBENCH_STALL_S": str(self.stall_seconds),
            "EDBENCH_LOG_LEVEL": self.log_level,
            "EDBENCH_FILER": self.filer,
            "EDBENCH_OBSERVE": "on" if self.observe else "off",
            "EDBENCH_BOX": "on" if self.sandbox else "off",
            "EDBENCH_PLUGINS": ",".join(self.plugins),
        }
        if self.databases:
            out["EDBENCH_DATABASES"] = ",".join(f"{d.name}={d.url}" for d in self.databases)
        if self.filer_cache is not None:
            out["EDBENCH_FILER_CACHE"] = f"{self.filer_cache}B"
        if self.filer_arbiter:
            out["EDBENCH_FILER_ARBITER"] = self.filer_arbiter
        if self.broker:
            out["EDBENCH_BROKER"] = self.broker
        return out


def _by_socket(url: str) -> bool:
    """Whether a database's URL leads to a unix socket, where the server's `peer` authentication decides."""
    parts = urlsplit(url)
    local = parts.scheme.startswith("postgresql") and not parts.hostname
    return local and parse_qs(parts.query).get("host", ["/"])[0].startswith("/")


def _guarded(url: str, what: str, login: str | None) -> str:
    """The URL, with the login from the file if it has none. Raises UsageError if it has no password then.

    Over a network a database may also require a certificate or keep its passwords in a file of libpq's, if the URL has
    `sslcert=` or `passfile=`."""
    if login is not None and not has_login(url):
        return with_login(url, login)
    if has_password(url) or _by_socket(url) or {"sslcert", "passfile"} & parse_qs(urlsplit(url).query).keys():
        return url
    raise UsageError(
        f"{what} has no password, so anyone who reaches it may use it; write scheme://user:password@host, or"
        f" scheme://host and put user:password into a file that {LOGIN_FILE} names"
    )


def read_login(text: str, origin: str) -> str:
    """Parse `user:password` of a login file. Raises UsageError, with the origin of the text, if it is invalid."""
    if not re.fullmatch(r"[A-Za-z0-9._~-]+:[A-Za-z0-9._~-]+", text.strip()):
        raise UsageError(f"{origin} must contain user:password; both may have letters, digits and . _ ~ -")
    return text.strip()


def _login(env: Mapping[str, str]) -> str | None:
    path = env.get(LOGIN_FILE)
    if not path:
        return None
    with reading_errors(f"{LOGIN_FILE}: {path}"):
        return read_login(Path(path).read_text(encoding="utf-8"), f"{LOGIN_FILE}: {path}")


def database_urls(text: str) -> list[tuple[str, str]]:
    """Names and URLs of `name=url,name=url`, unchanged. Raises UsageError if the text is invalid."""
    out: list[tuple[str, str]] = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, sep, url = (p.strip() for p in part.partition("="))
        if not sep or not name:
            raise UsageError(
                f"EDBENCH_DATABASES: {shown_url(part)!r} is not name=url;"
                " write db1=postgresql+psycopg2://user:password@host/db"
            )
        if not url.startswith("postgresql+psycopg2://"):
            raise UsageError(f"EDBENCH_DATABASES: the URL of {name} must start with postgresql+psycopg2://")
        out.append((name, url))
    if len({name for name, _ in out}) != len(out):
        raise UsageError("EDBENCH_DATABASES: two databases have the same name")
    return out


def parse_databases(text: str, login: str | None = None) -> tuple[DatabaseAddress, ...]:
    """The databases of `name=url,name=url`, with `login` (user:password) for URLs without one. Raises UsageError if the
    text is invalid, or a URL has no password."""
    return tuple(
        DatabaseAddress(name=name, url=_guarded(url, f"EDBENCH_DATABASES: the URL of {name}", login))
        for name, url in database_urls(text)
    )


def parse_broker(url: str | None, login: str | None = None) -> str | None:
    """The broker's URL, with `login` if it has none. Raises UsageError if it has no password."""
    return _guarded(url, "EDBENCH_BROKER: the URL", login) if url else None


def given_broker(url: str, env: Mapping[str, str]) -> str:
    """A broker's URL that a user typed, with the login of EDBENCH_LOGIN_FILE if it has none. Raises UsageError."""
    return _guarded(url, "the URL", _login(env))


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
        raise UsageError(f"{key} is {text!r}; use on or off")
    return text == "on"


def _log_level(env: Mapping[str, str]) -> str:
    text = env.get("EDBENCH_LOG_LEVEL") or "WARNING"
    if text.upper() not in LOG_LEVELS:
        raise UsageError(f"EDBENCH_LOG_LEVEL is {text!r}; use {', '.join(LOG_LEVELS[:-1])} or {LOG_LEVELS[-1]}")
    return text.upper()


def filer_source(text: str) -> str:
    """A name of an emulated filer that is valid in any directory: a profile's name or an absolute path. Raises
    UsageError."""
    if text == "none":
        return text
    from core.filer import load_filer  # profiles are read by who has one

    model = load_filer(text)
    return "none" if model is None else model.source


def parse_bytes(text: str, what: str) -> int:
    """Bytes of a text such as `16GB`, 1 GB being 10⁹. Raises UsageError, which names the setting."""
    match = _BYTES.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{what} is {text!r}; write a number with B, kB, MB, GB or TB, such as 16GB")
    nbytes = int(float(match[1]) * _UNITS[match[2]])
    if nbytes > MOST_BYTES:
        raise UsageError(f"{what} is {text!r}; use at most {MOST_BYTES // 10**12}TB")
    return nbytes


def read_settings(env: Mapping[str, str]) -> Settings:
    """Read settings from the given environment. Raises UsageError with the variable's name for an invalid value."""
    engine = env.get("EDBENCH_INDEX_ENGINE") or "tantivy"
    if engine not in INDEX_ENGINES:
        raise UsageError(f"EDBENCH_INDEX_ENGINE is {engine!r}; use {' or '.join(INDEX_ENGINES)}")
    login = _login(env)
    return Settings(
        databases=parse_databases(env.get("EDBENCH_DATABASES", ""), login),
        broker=parse_broker(env.get("EDBENCH_BROKER"), login),
        storage=Path(env.get("EDBENCH_STORAGE") or "edbench-storage").absolute(),
        scratch=Path(env.get("EDBENCH_SCRATCH") or ".edbench").absolute(),
        slots=_positive(env, "EDBENCH_SLOTS", 4),
        index_engine=engine,
        slot_memory_mb=_positive(env, "EDBENCH_SLOT_MEMORY_MB", 1024),
        stall_seconds=_positive(env, "EDBENCH_STALL_S", 600),
        log_level=_log_level(env),
        filer=filer_source(env.get("EDBENCH_FILER") or "none"),
        filer_cache=parse_bytes(cache, "EDBENCH_FILER_CACHE") if (cache := env.get("EDBENCH_FILER_CACHE")) else None,
        filer_arbiter=env.get("EDBENCH_FILER_ARBITER") or "",
        observe=_switch(env, "EDBENCH_OBSERVE"),
        sandbox=_switch(env, "EDBENCH_BOX"),
        plugins=tuple(filter(None, (p.strip() for p in env.get("EDBENCH_PLUGINS", "").split(",")))),
    )


def numbers(text: str, option: str, *, digits: int = 3) -> list[int]:
    """The numbers of `1,2,4`, each of at most so many digits. Raises UsageError."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(re.fullmatch(rf"[0-9]{{1,{digits}}}", part) for part in parts):
        raise UsageError(
            f"{option} is {text!r}; it must be whole numbers such as 1,2,4", field=option.lstrip("-").replace("-", "_")
        )
    return [int(part) for part in parts]
