"""Queue managers and workers, and their fork servers, in processes forked from one that has loaded them, where a
cluster would begin an interpreter for each: to load them takes nearly three processor seconds, and the suite brings
sixty crews.

Each is a process of its own as any other, with session, environment, directory, log, signals, and the line and
environment that /proc tells of it. Limits: it is no direct child of whoever brings it, modules are there that it would
import late or never, and a fork server's memory has what its worker's had. Whoever is begun afresh
(`Bench.start_afresh`), as the documents' examples are, has crews that are, and so have the tests of
`tests/integration`."""

import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import NoReturn

from forked import Forker, appear_as, become, spawner

import worker.crowd
import worker.supervisor
from controller.cluster import embedded
from core.program import begin
from experiments.workloads.discovery import site as serving
from worker import app
from worker.processes import die_with_parent
from worker.sandbox import main as fork_server_main
from worker.sandbox.fork_server import ForkServerAddress
from worker.slots.slot import fork_into

_UMASK = 0o077  # as core.services.process has it
_DESCRIPTORS = 4_096  # more than a worker has open when it brings its fork server


def load() -> None:
    """Everything that they load, before anybody is forked."""
    for module in ("queue_manager.main", "worker.main", "search.tantivy_engine"):
        import_module(module)
    app.preload(None)
    fork_server_main.load_everything(())


def fork_crews(statuses: Path) -> None:
    """From now on the clusters of this process have theirs forked by a copy of it, as it is now; `statuses`: a directory for how
    each ended."""
    command = os.getpid()
    orders, to_order = os.pipe()
    to_hear, answers = os.pipe()
    twin = os.fork()
    if not twin:
        os.dup2(orders, 0)
        os.dup2(answers, 1)
        for end in (orders, to_order, to_hear, answers):
            os.close(end)
        _fork_on(command)
    os.close(orders)
    os.close(answers)
    embedded.spawn = spawner(Forker(os.fdopen(to_order, "w"), os.fdopen(to_hear), statuses), embedded.spawn)
    below = serving.below
    # Whose direct children queue managers are, which alone are looked for.
    serving.below = lambda parent, *, direct=False: below(twin if direct else parent, direct=direct)


def _fork_on(command: int) -> NoReturn:
    """In the copy: for as long as the command lives."""
    os.setsid()  # Ctrl-C is meant for the command
    die_with_parent(command)
    forker = os.getpid()
    words = become()
    if words is None:
        os._exit(0)
    be(words, forker)


def be(words: Sequence[str], parent: int) -> NoReturn:
    """In a process that `parent` forked: the one that an interpreter would be that is begun with these words, `-m` and a module
    first."""
    die_with_parent(parent)
    os.umask(_UMASK)
    appear_as([sys.executable, *words])
    module, arguments = words[1], words[2:]
    sys.argv = [module, *arguments]
    sys.path[:0] = [os.getcwd(), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    invalidate_caches()
    worker.crowd.start_fork_server = worker.supervisor.start_fork_server = _start_fork_server
    begin(f"{module}.main")


def _start_fork_server(memory_mb: int, plugins: Sequence[str], env: Mapping[str, str]) -> ForkServerAddress:
    """As worker.sandbox.fork_server does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    words = ["-m", "worker.sandbox", "3", "--memory-mb", str(memory_mb)]
    words += ["--plugins", ",".join(plugins), "--parent", str(os.getpid())]

    def fork_server(_parent: int) -> int:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.dup2(theirs.fileno(), 3)
        os.closerange(4, _DESCRIPTORS)
        for name in [name for name in os.environ if name.startswith("EDBENCH_")]:
            del os.environ[name]
        appear_as([sys.executable, *words])
        sys.argv = words[1:]
        return fork_server_main.run()

    with theirs:
        return ForkServerAddress(ours, fork_into(fork_server, ours.close))
