"""The bill of materials: everything that is locked, each with its licence."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Written twice."""
    place = tmp_path_factory.mktemp("sbom")
    for name in ("one", "two"):
        script = REPOSITORY / "scripts" / "sbom.py"
        subprocess.run([sys.executable, script, "-o", place / name], check=True, capture_output=True, timeout=300)
    return [(place / name).read_bytes() for name in ("one", "two")]


@pytest.fixture(scope="module")
def bill(documents: list[bytes]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(documents[0])
    return found


def test_every_locked_package_is_listed_with_its_hashes(bill: dict[str, Any]) -> None:
    """Name and version as the lock has them, whatever the marker; nothing but them and what the page brings along."""
    lock = (REPOSITORY / "requirements.lock").read_text()
    locked = set(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", lock, re.M))
    assert len(locked) > 100
    listed = {(c["name"], c["version"]) for c in bill["components"] if c["purl"].startswith("pkg:pypi/")}
    assert listed == {(name.lower(), version) for name, version in locked}
    assert [c["name"] for c in bill["components"] if not c["purl"].startswith("pkg:pypi/")] == ["uplot"]
    hashes = [h["content"] for c in bill["components"] for h in c.get("hashes", ())]
    assert sorted(hashes) == sorted(re.findall(r"--hash=sha256:([0-9a-f]{64})", lock))


def test_every_licence_is_named_and_may_be_shipped(bill: dict[str, Any]) -> None:
    """SPDX; no GPL and no AGPL, and a LGPL library is one that whoever has it may replace."""
    licences = {c["name"]: [each["expression"] for each in c["licenses"]] for c in bill["components"]}
    assert all(len(each) == 1 and re.fullmatch(r"[A-Za-z0-9.+ -]+", each[0]) for each in licences.values()), licences
    strong = {name for name, (each,) in licences.items() if re.search(r"(?<!L)GPL", each)}
    assert strong == set()


def test_what_only_developers_need_is_told_apart(bill: dict[str, Any]) -> None:
    """A package that the product needs by way of another is required too."""
    scopes = {c["name"]: c["scope"] for c in bill["components"]}
    assert {scopes[name] for name in ("celery", "kombu", "vine", "psycopg2-binary", "uplot")} == {"required"}
    assert {scopes[name] for name in ("pytest", "mypy", "playwright", "pluggy")} == {"excluded"}
    references = {c["bom-ref"] for c in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    assert {d["ref"] for d in bill["dependencies"]} <= references
    assert all(set(d["dependsOn"]) <= references for d in bill["dependencies"])


def test_the_same_lock_gives_the_same_bytes(documents: list[bytes], bill: dict[str, Any]) -> None:
    """No time and no place in it."""
    assert documents[0] == documents[1]
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
