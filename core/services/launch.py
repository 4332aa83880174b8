"""Launcher: becomes the given program, under limits; the kernel sends it a signal when its starter dies.

Run by path as `python -I -S launch.py PARENT SIGNAL UID GID LIMITS PROGRAM ARGUMENT…` so that it needs nothing but the
standard library; LIMITS is `RESOURCE=VALUE,…` in the numbers of setrlimit(2), or empty. It is a program of its own, and
not a `preexec_fn`, because code between fork and exec may deadlock in a process that has threads. It gives up the
privileges first: the kernel forgets the parent-death signal on a change of user (prctl(2), PR_SET_PDEATHSIG)."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1
KEEP = -1  # as UID and GID: stay who we are
CANNOT_START = 126  # exit status


def _limit(what: int, wanted: int) -> None:
    """Set a resource limit, or the hard limit if that is lower."""
    _, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(what, (wanted, wanted))


def main(argv: list[str]) -> None:
    """Change user, request the signal, check that the parent is alive, set limits, and execute the program."""
    parent, signum, uid, gid = (int(text) for text in argv[1:5])
    limits, program = argv[5], argv[6:]
    if uid != KEEP:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signum, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:  # it died before the signal was asked for
        os._exit(1)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGTERM, signal.SIGXFSZ, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.umask(0o077)
    for limit in filter(None, limits.split(",")):
        what, _, most = limit.partition("=")
        _limit(int(what), int(most))
    os.execv(program[0], program)


if __name__ == "__main__":
    try:
        main(sys.argv)
    except OSError as error:
        sys.stderr.write(f"cannot start {sys.argv[6:7]}: {error}\n")
        sys.exit(CANNOT_START)
