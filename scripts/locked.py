"""What requirements.lock says, for the scripts beside."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
LOCK = REPOSITORY / "requirements.lock"
OURSELVES = "edbench"
_PACKAGE = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_VIA = re.compile(r"^    #(?: via| {2}) +([A-Za-z0-9._-]+)")


@dataclass(slots=True, kw_only=True)
class Locked:
    """One package; of some there are two versions, for different versions of Python."""

    name: str
    version: str
    hashes: list[str] = field(default_factory=list)  # sha256 of its distributions
    via: set[str] = field(default_factory=set)  # who needs it


def read_lock(path: Path = LOCK) -> list[Locked]:
    """All packages, in the order of the file."""
    packages: list[Locked] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if package := _PACKAGE.match(line):
            packages.append(Locked(name=package[1].lower(), version=package[2]))
        elif packages:
            packages[-1].hashes += _HASH.findall(line)
            if via := _VIA.match(line):
                packages[-1].via.add(via[1].lower())
    return packages


def shipped(packages: list[Locked], direct: set[str]) -> set[str]:
    """Names of what comes with an installation of the product: what it names itself, and what that needs."""
    out = set(direct)
    while new := {p.name for p in packages if p.via & out} - out:
        out |= new
    return out
