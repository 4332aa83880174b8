"""Prometheus and promtool as this machine has them, and questions to a running one."""

from __future__ import annotations

import json
import os
import shutil
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

import pytest


def find_binary(name: str) -> str:
    """`prometheus` or `promtool`; skips where there is none, fails where one can be had (CI with apt)."""
    found = shutil.which(name)
    if found is None:
        if os.environ.get("CI") == "true" and os.geteuid() == 0 and shutil.which("apt-get"):
            pytest.fail(f"there is no {name}: .ci/run is to install Debian's package prometheus")
        pytest.skip(f"there is no {name} here; Debian's package prometheus has it")
    return found


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
