"""The workloads: each module or package here has an `ABOUT`. Nothing else needs to know that it is there."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any

from core.errors import UsageError
from experiments.workload import About


def names() -> tuple[str, ...]:
    """All of them; a module has `_` where its workload has `-`."""
    return tuple(sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__)))


@cache
def about(name: str) -> About:
    """The workload of this name; raises UsageError when there is none."""
    if name not in names():
        raise UsageError(f"workload {name!r} is not one of {', '.join(names())}")
    workload: About = module_of(name).ABOUT
    return workload


def module_of(name: str) -> Any:
    """The module or package of a workload that is there."""
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
