"""Launcher that locks itself down as far as a program can be, and becomes the program it is given.

Run by path as `python -I -S confine.py PARENT READABLE WORK PROGRAM ARGUMENT…`, after core.services.launch and for its
reasons; READABLE are the paths that it may read and run, a line each; WORK is empty or the directory that is its
own."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from worker.sandbox.lockdown import lock_down_program

CANNOT_START = 126  # exit status, as core.services.launch has it
# Directories of programs, libraries and what these read; they hold no evidence and no configuration with a password.
SYSTEM = (
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/opt",
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/dev/null",
    "/dev/urandom",
)


def main(argv: list[str]) -> None:
    """Lock down, and become the program."""
    parent, readable, work, program = int(argv[1]), argv[2], argv[3], argv[4:]
    lock_down_program(parent, (program[0], *filter(None, readable.split("\n")), *SYSTEM), work)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these, and the program would inherit that
        signal.signal(number, signal.SIG_DFL)
    os.execv(program[0], program)


if __name__ == "__main__":
    try:
        main(sys.argv)
    except OSError as error:
        sys.stderr.write(f"cannot start {sys.argv[4:5]}: {error}\n")
        sys.exit(CANNOT_START)
