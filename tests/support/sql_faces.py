"""The faces of sql/: classes that declare statements as functions with typed rows, by name."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import sql.faces

FACES: dict[str, Any] = {
    name: declared
    for module in iter_modules(sql.faces.__path__)
    for name, declared in vars(import_module(f"sql.faces.{module.name}")).items()
    if name.startswith("_") and isinstance(declared, type)
}
