"""`unhwp`, loaded when this is imported: a box can open no file any more.

To learn which of its libraries this system needs it would run a program (`ldd`); it is told instead.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

_PATH = "UNHWP_LIB_PATH"


def _load() -> tuple[ModuleType | None, str]:
    """The module; else why it cannot be had: its wheel brings libraries for some kinds of machine only."""
    found = importlib.util.find_spec("unhwp")
    if found is None or not found.submodule_search_locations:
        return None, "unhwp is not installed"
    kind = "linux-musl-x64" if "musl" in str(sysconfig.get_config_var("HOST_GNU_TYPE")) else "linux-x64"
    library = Path(found.submodule_search_locations[0]) / "lib" / kind / "libunhwp.so"
    told = sys.platform == "linux" and platform.machine() == "x86_64" and _PATH not in os.environ and library.is_file()
    if told:
        os.environ[_PATH] = str(library)
    try:
        return importlib.import_module("unhwp"), ""
    except (ImportError, OSError) as error:
        return None, str(error)
    finally:
        if told:
            del os.environ[_PATH]


UNHWP, MISSING = _load()
