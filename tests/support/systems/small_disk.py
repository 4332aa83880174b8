"""A file system of few megabytes, which tests fill."""

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_tmpfs(directory: Path, megabytes: int) -> Iterator[Callable[[int], None]]:
    """A file system of that size there; the value makes it larger."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    directory.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "edbench-test", str(directory)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")
    try:
        yield lambda size: subprocess.run(["mount", "-o", f"remount,size={size}m", str(directory)], check=True)
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)


def fill(ballast: Path) -> None:
    """Leave no room beside this file."""
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            try:
                while file.write(bytes(size)):
                    pass
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
        os.fsync(file.fileno())
