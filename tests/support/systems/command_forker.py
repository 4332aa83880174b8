"""Forks `edbench` commands and crews, as `commands` orders them. Processes that such a command begins with multiprocessing read
this file too, as they do any program's."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module, invalidate_caches
from pathlib import Path

_LATE = (  # what commands import when they are at it
    "cli.installation",
    "cli.jobs.running",
    "cli.experiments.conducting",
    "cli.traces.replaying",
    "controller.jobs.create",
    "experiments.package.finish",
    "experiments.report.page",
)
# That bring queue managers and workers. Not `chaos`, which is about how these begin and end.
_BRINGING = ("discover", "experiment", "export", "extract", "process", "replay", "requeue", "resume", "worker")


def _load() -> None:
    from cli.commands import COMMANDS
    from cli.on_demand import load

    for entry in COMMANDS:
        load(entry)
    for name in _LATE:
        import_module(name)


def main() -> None:
    """In each that is forked, the command that its arguments are, or a part of a crew."""
    import forked_crew
    from forked import become

    from cli.__main__ import start

    _load()
    forked_crew.load()
    del sys.path[0]  # where this file is
    gc.collect()
    gc.freeze()
    forker = os.getpid()
    if (words := become()) is None:
        return
    if words[:1] == ["-m"]:
        forked_crew.be(words, forker)
    sys.argv = ["edbench", *words]
    sys.path[:0] = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    invalidate_caches()
    if words and words[0] in _BRINGING:
        forked_crew.fork_crews(Path(os.readlink("/proc/self/fd/1")).parent)  # where what it says is
    start()


if __name__ == "__main__":
    main()
