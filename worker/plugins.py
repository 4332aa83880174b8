"""Format handlers that are not ours: `EDBENCH_PLUGINS=module,module`.

A plugin is an importable module with `HANDLERS` (see formats.base) and, where its types have first bytes of
their own, `MAGIC: Mapping[bytes, str]` from first bytes to media type. Its handlers run under the same limits and
in the same slots as ours; every worker of an installation must have the same plugins.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from core.errors import UsageError
from formats.identification.identify import register_magic
from formats.registry import register


def load_plugins(names: Iterable[str]) -> None:
    """Import and register them; UsageError when one is missing or clashes with another handler."""
    for name in names:
        try:
            module = importlib.import_module(name)
            register(module.HANDLERS)
            register_magic(getattr(module, "MAGIC", {}))
        except Exception as e:
            why = " ".join(f"{type(e).__name__}: {e}".split())  # a module that is imported may raise anything
            raise UsageError(
                f"EDBENCH_PLUGINS: {name} cannot be used ({why}); give importable modules with HANDLERS"
            ) from e
