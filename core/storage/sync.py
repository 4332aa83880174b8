"""syncfs(2), and what has been written since the last sync (fsync policy `task`)."""

from __future__ import annotations

import ctypes
import os


class Unsynced:
    """Paths written and directories changed since the last `take`; keeps names only, never descriptors."""

    def __init__(self) -> None:
        self._files: set[bytes] = set()
        self._directories: set[bytes] = set()

    def wrote(self, path: bytes) -> None:
        """A new file: its bytes and its directory's entry are not yet safe."""
        self._files.add(path)
        self._directories.add(os.path.dirname(path))

    def made(self, directory: bytes) -> None:
        """A new directory: its entry in the one above is not yet safe."""
        self._directories.add(os.path.dirname(directory))

    def renamed(self, old: bytes, new: bytes) -> None:
        """The file goes on under its new name."""
        self._files.discard(old)
        self.wrote(new)

    def removed(self, path: bytes) -> None:
        """Nothing of it needs to be kept."""
        self._files.discard(path)

    def take(self) -> tuple[list[bytes], list[bytes]]:
        """Files and directories to sync, in order of name; forgets them."""
        out = sorted(self._files), sorted(self._directories)
        self._files, self._directories = set(), set()
        return out


_libc = ctypes.CDLL(None, use_errno=True)


def syncfs(fd: int) -> None:
    """syncfs(2): write back everything of the file system that `fd` is on; raises OSError."""
    if _libc.syncfs(fd) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
