"""`make audit`: known vulnerabilities of everything in the lock (`uv audit`) and in its wheels, by OSV
(https://osv.dev).

If the database cannot be reached, or does not know a vulnerability that every database knows, it prints one line and
passes: no answer is no finding. Exit status 1 only for findings; `[tool.uv.audit]` of pyproject.toml lists those that
do not concern us."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts.sbom import REPOSITORY, UV, bill

URL = os.environ.get("EDBENCH_OSV", "https://api.osv.dev/")
CANARY = "pkg:pypi/jinja2@2.4.1"  # has known vulnerabilities; a database that finds none is not one to trust
_SECONDS = 20


def ask(purls: list[str]) -> list[list[str]]:
    """Return the ids of vulnerabilities of each package; raises OSError or ValueError if there is no usable answer."""
    body = json.dumps({"queries": [{"package": {"purl": purl}} for purl in purls]}).encode()
    request = urllib.request.Request(f"{URL}v1/querybatch", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
        results = json.load(answer)["results"]
    if len(results) != len(purls):
        raise ValueError(f"{len(results)} answers to {len(purls)} questions")
    return [[str(vulnerability["id"]) for vulnerability in result.get("vulns") or ()] for result in results]


def main() -> int:
    """Print the findings."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    accepted = project["tool"]["uv"].get("audit", {}).get("ignore", ())
    inside: dict[str, list[str]] = {}
    for package in bill()["components"]:
        for inner in package.get("components", ()):
            inside.setdefault(inner["purl"], []).append(package["name"])
    try:
        canary, *answers = ask([CANARY, *inside])
        if not canary:
            raise ValueError(f"it knows no vulnerability of {CANARY}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = getattr(error, "reason", None) or error
        sys.stdout.write(f"audit skipped: no vulnerability database at {URL} ({reason})\n")
        return 0
    bad = 0
    for (purl, packages), ids in zip(inside.items(), answers, strict=True):
        for each in sorted(set(ids).difference(accepted)):
            bad += 1
            sys.stdout.write(f"{purl} in {', '.join(packages)}: {each}\n")
    sys.stdout.write(f"audited {len(inside)} components of wheels: {bad} open vulnerabilities\n")
    sys.stdout.flush()
    options = ["--frozen", "--preview-features", "audit-command", "--service-url", URL]
    return max(subprocess.run([UV, "audit", *options], cwd=REPOSITORY, check=False).returncode, min(bad, 1))


if __name__ == "__main__":
    sys.exit(main())
