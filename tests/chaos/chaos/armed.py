"""`python -m chaos.armed SOCKET MODULE ARGUMENTS…`: run a program of the product that reports its moments to a
campaign.

A worker's storage layer asks the campaign before its system calls as well. `cli` itself reports nothing; the processes
that it starts do."""

import sys
from collections.abc import Sequence

from chaos import faulty_os, hook
from controller.cluster.embedded import EmbeddedCluster, module_commands
from core.program import begin


def armed(command: Sequence[str], socket: str) -> Sequence[str]:
    """The command `python -m MODULE …` as it is run with a campaign that listens at this socket."""
    python, _, *rest = command
    return (python, "-m", "chaos.armed", socket, *rest)


def main() -> None:
    """Does not return."""
    socket, module = sys.argv[1:3]
    del sys.argv[1:3]
    if module == "cli":
        defaults = EmbeddedCluster.__init__.__kwdefaults__
        defaults["commands"] = lambda name, slots: armed(module_commands(name, slots), socket)
    else:
        hook.arm(socket)
        if module == "worker":
            faulty_os.install(socket)
    begin(f"{module}.main")


if __name__ == "__main__":
    main()
