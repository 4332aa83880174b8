"""Questions to a running Prometheus."""

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

import pytest


def ask(url: str, path: str, **parameters: str) -> Any:
    """What the HTTP API answers; fails with its reason when it refuses."""
    line = f"{url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
    try:
        with urllib.request.urlopen(line, timeout=120) as reply:
            return json.load(reply)["data"]
    except urllib.error.HTTPError as error:
        pytest.fail(f"{parameters}: {error.read().decode()}")


def query(url: str, expr: str) -> list[dict[str, Any]]:
    """The samples of an instant query."""
    return list(ask(url, "query", query=expr)["result"])


def as_asked(expr: str) -> str:
    """A dashboard's query with Grafana's variables filled in. Over an hour, as a rate over a minute finds nothing once the last job has
    been over for so long."""
    filled = {"$__rate_interval": "1h", "$__range_s": "3600", "$__range": "3600s"}
    for name, value in (filled | {"$worker": ".*", "$op": "read"}).items():
        expr = expr.replace(name, value)
    return expr
