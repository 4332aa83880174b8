"""`make sbom`: what this product is made of, as CycloneDX 1.6 in JSON, from the lock and the packages' own metadata.

The same lock gives the same bytes. Licences are SPDX expressions, from the packages' metadata or, where that has none, from
licences.toml. Limits: what lies inside of a wheel (PostgreSQL, Valkey, PDFium, libarchive) is not listed by itself, nor
are system packages and images.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import re
import sys
import tomllib
import uuid
from pathlib import Path
from typing import Any

from locked import LOCK, OURSELVES, REPOSITORY, Locked, read_lock, shipped

_OURS = uuid.UUID("6b2a0d2e-5a40-4a54-9f4b-2c8f3d0f6a51")  # namespace of serial numbers
_BY_CLASSIFIER = {  # those that leave no doubt about the version
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "ISC License (ISCL)": "ISC",
}
_SPDX = re.compile(r"[A-Za-z]+-[0-9.]+(-[A-Za-z-]+)?|MIT|ISC")
_VENDORED = REPOSITORY / "web" / "static" / "vendor" / "uPlot.iife.min.js"


def licence_of(name: str, known: dict[str, str]) -> str:
    """Its SPDX expression; SystemExit when nobody knows."""
    if name in known:
        return known[name]
    try:
        metadata = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        raise SystemExit(f"sbom: {name} is not installed here; put its licence into scripts/licences.toml") from None
    if expression := metadata.get("License-Expression"):
        return str(expression)
    if _SPDX.fullmatch(text := str(metadata.get("License") or "").strip()):
        return text
    classifiers = [
        str(c).rsplit(" :: ", 1)[-1] for c in metadata.get_all("Classifier") or [] if c.startswith("License")
    ]
    if len(classifiers) == 1 and classifiers[0] in _BY_CLASSIFIER:
        return _BY_CLASSIFIER[classifiers[0]]
    raise SystemExit(f"sbom: {name} does not say its licence; put it into scripts/licences.toml")


def component(package: Locked, licence: str, *, required: bool) -> dict[str, Any]:
    """One package as CycloneDX has it."""
    reference = f"pkg:pypi/{package.name}@{package.version}"
    return {
        "type": "library",
        "bom-ref": reference,
        "name": package.name,
        "version": package.version,
        "scope": "required" if required else "excluded",  # excluded: for developing and testing only
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in package.hashes],
        "licenses": [{"expression": licence}],
        "purl": reference,
    }


def vendored(licence: str) -> dict[str, Any]:
    """uPlot, whose files are in the repository."""
    version = re.search(r"\(v([0-9.]+)\)", _VENDORED.read_text(encoding="utf-8"))
    assert version is not None
    reference = f"pkg:npm/uplot@{version[1]}"
    return {
        "type": "library",
        "bom-ref": reference,
        "name": "uplot",
        "version": version[1],
        "scope": "required",
        "licenses": [{"expression": licence}],
        "purl": reference,
    }


def bill() -> dict[str, Any]:
    """The whole document."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = tomllib.loads(Path(__file__).with_name("licences.toml").read_text(encoding="utf-8"))
    packages = read_lock()
    named = {re.split(r"[^A-Za-z0-9._-]", wanted, maxsplit=1)[0].lower() for wanted in project["dependencies"]}
    needed = shipped(packages, named)
    components = [component(p, licence_of(p.name, known), required=p.name in needed) for p in packages]
    product = f"pkg:pypi/{OURSELVES}@{project['version']}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_OURS, LOCK.read_text(encoding='utf-8'))}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": product,
                "name": OURSELVES,
                "version": project["version"],
                "licenses": [{"expression": project["license"]}],
                "purl": product,
            }
        },
        "components": [*components, vendored(known["uplot"])],
        "dependencies": _dependencies(packages, product),
    }


def _dependencies(packages: list[Locked], product: str) -> list[dict[str, Any]]:
    """Who needs whom. The product's are what the lock says it asks for, tools for development among them."""
    references: dict[str, list[str]] = {OURSELVES: [product]}
    for package in packages:
        references.setdefault(package.name, []).append(f"pkg:pypi/{package.name}@{package.version}")
    needs: dict[str, set[str]] = {reference: set() for several in references.values() for reference in several}
    for package in packages:
        for user in package.via:
            for reference in references.get(user, ()):
                needs[reference].add(f"pkg:pypi/{package.name}@{package.version}")
    return [{"ref": reference, "dependsOn": sorted(wanted)} for reference, wanted in sorted(needs.items())]


def main() -> int:
    """Write it."""
    parser = argparse.ArgumentParser(prog="make sbom", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("sbom.json"))
    target = parser.parse_args().output
    document = bill()
    target.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    sys.stdout.write(f"{target}: {len(document['components'])} components\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
