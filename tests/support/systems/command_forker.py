"""Forks `edbench` commands and crews, as `commands` orders them. Processes that such a command begins with multiprocessing read
this file too, as they do any program's."""

import gc
import os
import sys
from importlib import import_module, invalidate_caches
from importlib.util import find_spec
from pathlib import Path

_LATE = (  # what commands import when they are at it
    "cli.installation",
    "cli.progress",
    "cli.bench",
    "cli.summary",
    "controller.search.found",
    "controller.jobs.results",
    "production.create",
    "controller.jobs.create",
    "experiments.package.check",
    "experiments.report.page",
)
# That start queue managers and workers. Not `tests.chaos`, which is about how these start and end.
_STARTING = {
    ("discover",),
    ("bench",),
    ("produce",),
    ("trace", "replay"),
    ("job", "requeue"),
    ("job", "resume"),
    ("worker",),
    ("serve",),
}


def _load() -> None:
    from cli.main import commands

    for entry in commands():
        loaded = entry.load()
        for name in getattr(loaded, "commands", ()):
            loaded.get_command(None, name)
    for name in _LATE:
        if find_spec(name.partition(".")[0]) is not None:  # an optional package may be removed
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
    if {tuple(words[:1]), tuple(words[:2])} & _STARTING:
        forked_crew.fork_crews(Path(os.readlink("/proc/self/fd/1")).parent)  # where what it says is
    start()


if __name__ == "__main__":
    main()
