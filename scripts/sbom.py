"""`make sbom`: the bill of materials as CycloneDX 1.5 in JSON: uv's export of the lock, with licences and the contents
of wheels.

Licences are SPDX expressions, from the packages' metadata or, if that has none, from licences.toml. The contents of a
wheel are in the component of its package: as its own SBOM (PEP 770) lists them, if it is installed here, and as
wheels.toml does. The same lock and installation give the same bytes. System packages and images are not listed."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
UV = REPOSITORY / ".venv" / "bin" / "uv"
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
    """Return the package's SPDX expression; raises SystemExit if neither the metadata nor licences.toml has one."""
    if name in known:
        return known[name]
    try:
        metadata = importlib.metadata.metadata(name).json
    except importlib.metadata.PackageNotFoundError:
        raise SystemExit(f"sbom: {name} is not installed here; put its licence into scripts/licences.toml") from None
    if expression := metadata.get("license_expression"):
        return str(expression)
    if _SPDX.fullmatch(text := str(metadata.get("license") or "").strip()):
        return text
    classifiers = [str(c).rsplit(" :: ", 1)[-1] for c in metadata.get("classifier", ()) if c.startswith("License")]
    if len(classifiers) == 1 and classifiers[0] in _BY_CLASSIFIER:
        return _BY_CLASSIFIER[classifiers[0]]
    raise SystemExit(f"sbom: {name} does not say its licence; put it into scripts/licences.toml")


def exported(*options: str) -> dict[str, Any]:
    """Return the lock as uv exports it in CycloneDX."""
    line: list[str | Path] = [UV, "export", "--quiet", "--frozen", "--all-packages", "--all-extras", *options]
    line += ["--format", "cyclonedx1.5", "--preview-features", "sbom-export"]
    document: dict[str, Any] = json.loads(subprocess.run(line, cwd=REPOSITORY, check=True, capture_output=True).stdout)
    return document


def in_wheel(package: dict[str, Any], listed: dict[str, dict[str, str]]) -> Iterator[dict[str, Any]]:
    """Yield the components in a package's wheel, without the files that they were built from."""
    for name, version in listed.get(f"{package['name']} {package['version']}", {}).items():
        yield component(f"pkg:generic/{name}@{version}")
    try:
        files = importlib.metadata.distribution(package["name"]).files or ()
    except importlib.metadata.PackageNotFoundError:
        return
    for file in sorted(file for file in files if "sboms" in file.parts and file.suffix == ".json"):
        for found in json.loads(file.read_text(encoding="utf-8")).get("components", ()):
            name = re.sub(r"[^a-z0-9.+-]+", "-", found["name"].lower())
            purl = found.get("purl", f"pkg:generic/{name}@{found.get('version')}").partition("?")[0]
            if not purl.startswith("pkg:pypi/"):  # the wheel itself, and its own modules
                yield component(purl)


def component(purl: str, **more: Any) -> dict[str, Any]:
    name, _, version = purl.rpartition("@")
    return {"type": "library", "name": name.rpartition("/")[2], "version": version, "purl": purl, **more}


def bill() -> dict[str, Any]:
    """Return the whole document."""
    known: dict[str, str] = tomllib.loads(Path(__file__).with_name("licences.toml").read_text(encoding="utf-8"))
    listed = tomllib.loads(Path(__file__).with_name("wheels.toml").read_text(encoding="utf-8"))
    document = exported()
    del document["metadata"]["timestamp"]
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(_OURS, (REPOSITORY / 'uv.lock').read_text(encoding='utf-8'))}"
    shipped = {package["purl"] for package in exported("--no-dev")["components"] if "purl" in package}
    packages = [package for package in document["components"] if "purl" in package]
    if stale := listed.keys() - {f"{package['name']} {package['version']}" for package in packages}:
        raise SystemExit(f"sbom: {', '.join(sorted(stale))} is not in uv.lock; look at scripts/wheels.toml")
    for package in packages:
        package["scope"] = "required" if package["purl"] in shipped else "excluded"  # excluded: development and tests
        package["licenses"] = [{"expression": licence_of(package["name"], known)}]
        if inner := {each["purl"]: each for each in in_wheel(package, listed)}:
            package["components"] = list(inner.values())
    uplot = re.search(r"\(v([0-9.]+)\)", _VENDORED.read_text(encoding="utf-8"))  # its files are in the repository
    assert uplot is not None
    licence = [{"expression": known["uplot"]}]
    document["components"].append(component(f"pkg:npm/uplot@{uplot[1]}", scope="required", licenses=licence))
    return document


def main() -> int:
    """Write the document."""
    parser = argparse.ArgumentParser(prog="make sbom", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("sbom.json"))
    target = parser.parse_args().output
    document = bill()
    target.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    inner = sum(len(each.get("components", ())) for each in document["components"])
    sys.stdout.write(f"{target}: {len(document['components'])} components, and {inner} in their wheels\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
