"""The workloads: modules here, and those that optional packages register under `edbench.workloads`; each is a module,
or a class in one (`module:Class`), with an `ABOUT`."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Any

from core.errors import UsageError
from core.extensions import extensions, imported
from experiments.workload import About


@cache
def _modules() -> Mapping[str, str]:
    """Return the modules by workload; a module here has `_` where its workload has `-`."""
    here = {module.name.replace("_", "-"): f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)}
    return here | {name: modules[0] for name, modules in extensions("edbench.workloads").items()}


def names() -> tuple[str, ...]:
    """Return the names of all workloads."""
    return tuple(sorted(_modules()))


@cache
def about(name: str) -> About:
    """Return the workload of this name. Raises UsageError for an unknown one, whose package may not be installed."""
    if name not in _modules():
        raise UsageError(
            f"workload {name!r} is not one of {', '.join(names())}; if an optional package of edbench runs it, install that"
        )
    try:
        workload: About = registered(name).ABOUT
    except ModuleNotFoundError as error:
        raise UsageError(f"workload {name!r} needs the module {error.name}; install its package") from error
    return workload


def registered(name: str) -> Any:
    """Return the object registered under the name of a workload: a module, or a class in one."""
    return imported(_modules()[name])
