"""How far the clients of one clone are, in memory that they share; and whether they live.

Two words of 8 bytes a client, stored in one piece each: steps done, and whether it plays. The first has a cache line of its
own, because each client stores there after every call. A client holds a record lock (fcntl(2)) on its own byte for as long as
it plays, which the kernel releases when it dies.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
from pathlib import Path
from typing import Final, Self

from core.errors import StorageFault

_AWAITED, _PLAYING, _FINISHED, _GAVE_UP = range(4)
_LINE: Final = 64 // 8  # words of a cache line
_LOCKS: Final = 1 << 40  # where the locked bytes begin, far behind the words


class Progress:
    """One client's side; made by whoever comes first. Open it after the fork and once a process: locks belong to it."""

    def __init__(self, path: Path, clients: int, position: int) -> None:
        self._position = position
        size = -(-clients * 8 * (_LINE + 1) // mmap.PAGESIZE) * mmap.PAGESIZE
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            os.posix_fallocate(self._fd, 0, size)  # full memory shows here, not as SIGBUS later
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _LOCKS + position)
        except OSError as e:
            raise StorageFault(
                f"the clients' shared memory {path}: {e.strerror}; free memory", errno=e.errno or errno.EIO
            ) from e
        self._map = mmap.mmap(self._fd, size)
        self._words = memoryview(self._map).cast("Q")
        self.done = self._words[: clients * _LINE : _LINE]  # by position in the clone: steps done
        self._states = self._words[clients * _LINE : clients * (_LINE + 1)]
        self.done[position] = 0
        self._states[position] = _PLAYING

    def finish(self) -> None:
        """All of its steps are done."""
        self._states[self._position] = _FINISHED

    def give_up(self) -> None:
        """It will not go on: whoever waits for it is to stop."""
        self._states[self._position] = _GAVE_UP

    def awaited(self, position: int) -> bool:
        """Whether that client has not come yet."""
        return self._states[position] == _AWAITED

    def gave_up(self, position: int) -> bool:
        """Whether that client said so, or came and is dead before its end."""
        state = self._states[position]
        if state != _PLAYING:
            return state == _GAVE_UP
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _LOCKS + position)
        except OSError as e:
            if e.errno in (errno.EACCES, errno.EAGAIN):
                return False  # it holds it
            raise
        fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, _LOCKS + position)
        return self._states[position] != _FINISHED

    def close(self) -> None:
        for view in (self.done, self._states, self._words):
            view.release()
        self._map.close()
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
