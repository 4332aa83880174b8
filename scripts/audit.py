"""`make audit`: asks OSV (https://osv.dev) for known vulnerabilities of everything in the lock.

Where the database cannot be reached, or does not know a vulnerability that every database knows, it says so in one line
and is content: no answer is no finding. Exit status 1 only for what was found and is not in accepted.toml.
"""

from __future__ import annotations

import json
import os
import sys
import tomllib
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from locked import read_lock

URL = os.environ.get("EDBENCH_OSV", "https://api.osv.dev/v1/querybatch")
ACCEPTED = Path(__file__).with_name("accepted.toml")  # id = "why it does not concern us"
CANARY = ("jinja2", "2.4.1")  # has known vulnerabilities; a database that finds none is not one to trust
_SECONDS = 20


def ask(packages: list[tuple[str, str]]) -> list[list[str]]:
    """Ids of vulnerabilities for each of the packages; raises OSError or ValueError when there is no answer to use."""
    queries = [{"package": {"name": name, "ecosystem": "PyPI"}, "version": version} for name, version in packages]
    body = json.dumps({"queries": queries}).encode()
    request = urllib.request.Request(URL, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
        results: list[dict[str, Any]] = json.load(answer)["results"]
    if len(results) != len(packages):
        raise ValueError(f"{len(results)} answers to {len(packages)} questions")
    return [[str(vulnerability["id"]) for vulnerability in result.get("vulns") or ()] for result in results]


def main() -> int:
    """Print what was found."""
    packages = sorted({(p.name, p.version) for p in read_lock()})
    accepted: dict[str, str] = tomllib.loads(ACCEPTED.read_text(encoding="utf-8"))
    try:
        canary, *answers = ask([CANARY, *packages])
        if not canary:
            raise ValueError(f"it knows no vulnerability of {CANARY[0]} {CANARY[1]}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = getattr(error, "reason", None) or error
        sys.stdout.write(f"audit skipped: no vulnerability database at {URL} ({reason})\n")
        return 0
    bad = 0
    for (name, version), ids in zip(packages, answers, strict=True):
        for each in ids:
            why = accepted.get(each)
            bad += why is None
            sys.stdout.write(f"{name} {version}: {each}{f' (accepted: {why})' if why else ''}\n")
    sys.stdout.write(f"audited {len(packages)} packages: {bad} open vulnerabilities\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
