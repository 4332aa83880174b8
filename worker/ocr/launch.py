"""Started in between: puts limits on itself, ties itself to its slot's life and becomes tesseract.

Run by path as `python -I -S launch.py PARENT MEMORY SECONDS BYTES PROGRAM ARGUMENT…`, so that it needs nothing but the
standard library. It is a program of its own, and not a `preexec_fn`, because code between fork and exec may deadlock in a
process that has threads, and a slot has those of its index engine.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1
CANNOT_START = 126


def _limit(what: int, wanted: int) -> None:
    """At most so much, or less where less is allowed already."""
    _, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(what, (wanted, wanted))


def main(argv: list[str]) -> None:
    """Set the limits (bytes of private memory, seconds of processor time, bytes in any file), and become the program."""
    parent, memory, seconds, size = (int(text) for text in argv[1:5])
    program = argv[5:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:  # it died before the signal was asked for
        os._exit(1)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGTERM, signal.SIGXFSZ, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_CPU, seconds)
    _limit(resource.RLIMIT_FSIZE, size)
    _limit(resource.RLIMIT_DATA, memory)
    os.execv(program[0], program)


if __name__ == "__main__":
    try:
        main(sys.argv)
    except OSError as error:
        sys.stderr.write(f"cannot start {sys.argv[5:6]}: {error}\n")
        sys.exit(CANNOT_START)
