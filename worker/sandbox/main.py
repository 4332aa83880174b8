"""`python -m worker.sandbox SOCKET` runs the fork server on an inherited socket; without SOCKET it probes the lockdown."""

from __future__ import annotations

import argparse
import encodings
import faulthandler
import importlib
import json
import os
import pkgutil
import signal
import socket
from dataclasses import asdict

from readers import charset_guess, ciphers
from readers.archives import libarchive
from readers.identification.libmagic import preload
from readers.registry import all_handlers
from worker.parsers import load_plugins, own_set
from worker.processes import die_with_parent, limit_slot
from worker.sandbox.fork_server import ForkServer
from worker.sandbox.lockdown import lock_down
from worker.sandbox.messages import Ended, Pipe
from worker.sandbox.sandbox import EXIT_BROKEN, EXIT_MEMORY
from worker.sandbox.server import Server


def run() -> int:
    """Run the fork server, or the probe; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m worker.sandbox", description="Run the fork server of the parsers' sandboxes."
    )
    parser.add_argument(
        "orders", type=int, nargs="?", help="file descriptor of the socket on which sandboxes are requested"
    )
    parser.add_argument("--memory-mb", type=int, default=1024)
    parser.add_argument("--plugins", default="")
    parser.add_argument("--parent", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.orders is None:
        print(json.dumps(asdict(lock_down())))  # noqa: T201
        return 0
    die_with_parent(arguments.parent)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):  # it ends when no process is left that might order
        signal.signal(number, signal.SIG_IGN)
    load_everything(tuple(filter(None, arguments.plugins.split(","))))
    own_set()  # sandboxes cannot read it any more
    orders = socket.socket(fileno=arguments.orders)
    return ForkServer(orders, lambda talk: live(talk, arguments.memory_mb)).run()


def load_everything(plugins: tuple[str, ...]) -> None:
    """Load every parser, library and character set that is loaded at its first use: a sandbox can load nothing."""
    load_plugins(plugins)
    all_handlers()
    for late in ("worker.ocr.pdf_pages", "worker.ocr.picture_pages", "bcj", "inflate64", "readers.text.xml_tree"):
        importlib.import_module(late)
    ciphers.preload()
    preload()
    libarchive.library()
    for module in pkgutil.iter_modules(encodings.__path__):
        if module.name not in ("mbcs", "oem", "cp65001"):  # of another system
            importlib.import_module(f"encodings.{module.name}")
            "".encode("ascii")
    charset_guess.preload()


def live(talk: int, memory_mb: int) -> int:
    """Be a sandbox: lock down, then serve the slot; return the exit status."""
    handlers = {handler.name: handler for handler in all_handlers()}  # now: what is not loaded cannot be any more
    own_set()
    parent = os.getppid()
    faulthandler.enable()
    limit_slot(memory_mb)
    lock_down(parent=parent)
    room = Server(Pipe(talk), handlers)
    try:
        room.serve()
    except Ended:
        return 0
    except MemoryError:
        return EXIT_MEMORY
    return EXIT_BROKEN
