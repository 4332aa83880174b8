"""A connection to the broker for monitoring: short timeouts, no retries of its own."""

from __future__ import annotations

from functools import cache
from urllib.parse import parse_qs, quote, urlsplit

import redis
import redis.utils
from redis.backoff import NoBackoff
from redis.retry import Retry

from core.errors import UsageError
from core.program.urls import shown_url

TIMEOUT_SECONDS = 0.5

# For each connection the library reports its version to the broker, and reads it from the package's files: 3 ms the first
# time, then 0.5 ms. Slots inherit it (worker.app.preload).
redis.utils.get_lib_version = cache(redis.utils.get_lib_version)


def client_url(url: str) -> str:
    """The broker's address as the client library wants it; raises UsageError.

    Celery writes a socket as `redis+socket://:password@/path?virtual_host=0`, the client `unix://…?db=0`.
    """
    parts = urlsplit(url)
    if parts.scheme in ("redis", "rediss", "unix"):
        return url
    if parts.scheme != "redis+socket":
        said = parts.scheme or repr(shown_url(url))
        raise UsageError(f"EDBENCH_BROKER: {said} is not known; write redis://… or redis+socket://…")
    database = parse_qs(parts.query).get("virtual_host", ["0"])[0].lstrip("/") or "0"
    login = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    return f"unix://{login}{quote(parts.path, safe='/%')}?db={database}"


def connect(url: str, *, block_seconds: float = 0.0) -> redis.Redis:
    """A client that connects on first use and fails within about TIMEOUT_SECONDS (+ `block_seconds` of waiting).

    Its errors are `redis.RedisError`.
    """
    return redis.Redis.from_url(
        client_url(url),
        socket_connect_timeout=TIMEOUT_SECONDS,
        socket_timeout=TIMEOUT_SECONDS + block_seconds,
        retry=Retry(NoBackoff(), 0),
    )
