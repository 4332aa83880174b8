"""Run in a container of the product's, with the text of `intruder_plugin` as its argument: prints what its attacks achieved in a
sandbox, whose slot is this process, and outside of one, on a process that is there for it."""

import json
import os
import subprocess
import sys
from pathlib import Path

from core.records import Limits
from readers.base import MemorySource
from worker.sandbox.fork_server import order_sandbox, start_fork_server
from worker.sandbox.lockdown import lacking
from worker.sandbox.messages import introduction
from worker.sandbox.sandbox import sandboxed

PLACE = Path("/tmp/attack")


def main(plugin: str) -> None:
    """The sandbox first."""
    PLACE.mkdir()
    (PLACE / "intruder_plugin.py").write_text(plugin)
    sys.path.insert(0, str(PLACE))
    from intruder_plugin import HANDLERS, Targets

    def attacks_on(slot: int) -> MemorySource:
        secret, place = "/secrets/login", str(PLACE)
        targets = Targets(slot=slot, port=9464, unix=f"{place}/none", readable=secret, directory=place)
        return MemorySource(b"x", targets.file())

    fork_server = start_fork_server(1024, ("intruder_plugin",), {**os.environ, "PYTHONPATH": str(PLACE)})
    inside = (
        sandboxed(introduction(HANDLERS[0]), order_sandbox(fork_server))
        .text(attacks_on(os.getpid()), Limits())
        .metadata
    )
    victim = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    try:
        outside = HANDLERS[0].text(attacks_on(victim.pid), Limits()).metadata
    finally:
        victim.kill()
        victim.wait()
    sys.stdout.write(json.dumps({"inside": inside, "outside": outside, "lacking": lacking()}))


if __name__ == "__main__":
    main(sys.argv[1])
