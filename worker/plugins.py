"""Format handlers that are not ours: `EDBENCH_PLUGINS=module,module`.

A plugin is an importable module with one of

    HANDLERS: Iterable[Handler]                    # see readers.base
    MEDIA_TYPES: Mapping[str, tuple[str, ...]]     # or where they are, as in readers.modules, but with full names

and, where its types are not among those that are known anyway (readers.identification),

    MAGIC: Mapping[bytes, str]                     # first bytes → media type
    IDENTIFY: Callable[[bytes], str | None]        # what first bytes alone do not tell

Its handlers run under the same limits and in the same slots as ours; every worker of an installation must have the
same plugins (packages/readers/README.md).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from types import ModuleType

from core.errors import UsageError
from readers.identification.identify import register_identify, register_magic
from readers.registry import register, register_modules


def load_plugins(names: Iterable[str]) -> None:
    """Import and register them; UsageError when one is missing or clashes with another handler."""
    for name in names:
        try:
            _register(importlib.import_module(name))
        except Exception as e:
            why = " ".join(f"{type(e).__name__}: {e}".split())  # a module that is imported may raise anything
            raise UsageError(
                f"EDBENCH_PLUGINS: {name} cannot be used ({why}); install its package, or set EDBENCH_PLUGINS to other"
                " modules, or to none (EDBENCH_PLUGINS=)"
            ) from e


def _register(plugin: ModuleType) -> None:
    if not {"HANDLERS", "MEDIA_TYPES"} & set(vars(plugin)):
        raise ValueError("neither HANDLERS nor MEDIA_TYPES")
    if hasattr(plugin, "HANDLERS"):
        register(plugin.HANDLERS)
    register_modules(getattr(plugin, "MEDIA_TYPES", {}))
    register_magic(getattr(plugin, "MAGIC", {}))
    if hasattr(plugin, "IDENTIFY"):
        register_identify(plugin.IDENTIFY)
