"""Forks `edbench` commands, as `commands` orders them. Processes that such a command begins with multiprocessing read this file
too, as they do any program's."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module, invalidate_caches

_LATE = (  # what commands import when they are at it
    "cli.installation",
    "cli.jobs.running",
    "cli.experiments.conducting",
    "cli.traces.replaying",
    "controller.jobs.create",
    "experiments.package.finish",
    "experiments.report.page",
)


def _load() -> None:
    from cli.commands import COMMANDS
    from cli.on_demand import load

    for entry in COMMANDS:
        load(entry)
    for name in _LATE:
        import_module(name)


def main() -> None:
    """In each that is forked, the command that its arguments are."""
    from forked import become

    from cli.__main__ import start

    _load()
    del sys.path[0]  # where this file is
    gc.collect()
    gc.freeze()
    if (words := become()) is None:
        return
    sys.argv = ["edbench", *words]
    sys.path[:0] = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    invalidate_caches()
    start()


if __name__ == "__main__":
    main()
