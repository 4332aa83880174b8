"""The faces of sql/ and of packages: classes that declare statements as functions with typed rows, by name; and all statements."""

from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

import sql
from sql.interface import QUERIES, Query

_MODULES = [
    *(f"sql.{module.name}" for module in iter_modules(sql.__path__)),
    *(f"{package}.statements" for package in ("production", "review") if find_spec(package)),  # optional packages
]
INTERFACES: dict[str, Any] = {
    f"{module} {name}": declared
    for module in _MODULES
    for name, declared in vars(import_module(module)).items()
    if name.startswith("_") and getattr(declared, "_is_protocol", False)
}
STATEMENTS: dict[str, Query] = dict(QUERIES)
for _module in _MODULES:
    STATEMENTS |= getattr(import_module(_module), "STATEMENTS", {})
