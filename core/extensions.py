"""Optional packages that are installed, by their entry points.

A package registers what it adds under a group: `edbench.commands` (the name is a command group, the value a module with
`commands`), `edbench.web` (a module with the routers `api` and `pages`, and optionally `kinds` of measurements),
`edbench.workloads` (the name is a workload, the value a module, or `module:Class`, with `ABOUT`), `edbench.job_types`
(core.job_types), `edbench.members` (a module with `Clients`, see worker.member.agent) and `edbench.predictions` (a module that
predicts a workload, see cli.day). Nothing of a package is imported before it is used.

`importlib.metadata` gives the same and takes 40 ms to import, most of the time of `edbench --help`."""

from __future__ import annotations

import functools
import os
import sys
from collections import defaultdict
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

_DISTRIBUTIONS = "edbench"
NOT_INSTALLED = "unknown"  # a version, as of a checkout


def installed_version(package: str = "edbench") -> str:
    """The version of a package, or NOT_INSTALLED."""
    from importlib.metadata import PackageNotFoundError, version  # a parser of mail, which few processes need

    try:
        return version(package)
    except PackageNotFoundError:
        return NOT_INSTALLED


def extensions(group: str) -> Mapping[str, tuple[str, ...]]:
    """The modules registered in a group, by the name they are registered under."""
    return {name: tuple(modules) for name, modules in sorted(_registered().get(group, {}).items())}


def imported(name: str) -> Any:
    """A module, or `module:object` the object in it; it is imported now, because that is slow."""
    module, _, found = name.partition(":")
    return getattr(import_module(module), found) if found else import_module(module)


def extension_modules(group: str) -> list[ModuleType]:
    """The modules registered in a group, imported."""
    return [import_module(module) for modules in extensions(group).values() for module in modules]


@functools.cache
def _registered() -> dict[str, dict[str, list[str]]]:
    """Modules by group and name. A distribution that is found twice (a checkout and an installation) counts once."""
    groups: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    seen: set[str] = set()
    for place in sys.path:
        try:
            found = sorted(os.listdir(place or "."))
        except OSError:  # an archive, or a directory that is gone
            continue
        for folder in found:
            distribution, _, rest = folder.partition("-" if folder.endswith(".dist-info") else ".")
            if not folder.startswith(_DISTRIBUTIONS) or not rest or distribution in seen:
                continue
            try:
                with open(os.path.join(place, folder, "entry_points.txt"), encoding="utf-8") as file:
                    lines = file.read().splitlines()
            except OSError:  # it registers nothing
                continue
            seen.add(distribution)
            group = ""
            for line in map(str.strip, lines):
                if line.startswith("["):
                    group = line.strip("[]")
                elif "=" in line:
                    name, module = map(str.strip, line.split("=", 1))
                    groups[group][name].append(module)
    return groups
