"""Packages told anew: what was observed stays as it is; results, reports and manifests are made by the functions of today."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.results.campaign import say
from benchmarks.results.record import ENDING, lighten, packed, published, unpacked
from benchmarks.results.told import told
from experiments.package.check import check, told_again
from experiments.package.finish import finish
from experiments.package.manifest import seal
from experiments.package.records import RAW
from experiments.result.codec import write_result


def retell() -> None:
    """Every published package; a signature of before goes with the manifest that it was over."""
    for there in published():
        with unpacked(there) as packages:
            for name, package in packages.items():
                again(package)
                (there / f"{name}{ENDING}").write_bytes(packed(package))
        seal(there)
        say(f"{there.name}: told anew")


def differences() -> list[str]:
    """Of every published package, between what it says and what is told from what was observed; a line each, with where."""
    out: list[str] = []
    with told() as storages:
        for one in storages:
            for name, package in one.directories.items():
                out += _differences(f"{one.title}/{name}", package)
    return out


def _differences(what: str, package: Path) -> list[str]:
    found = check(package).differences
    say(f"{what}: {len(found)} differences")
    return [f"{what}: {difference}" for difference in found]


def again(package: Path) -> None:
    """In its place."""
    result = told_again(package)
    for path in package.iterdir():
        if path.name not in (RAW, "sheet.toml"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    write_result(result, package)
    finish(result, package)
    lighten(package)
