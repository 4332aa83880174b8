"""What a client can do with a storage, whatever it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from core.errors import EdbenchError

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Refused(EdbenchError):
    """The storage did not take the connection: refused, reset before an answer, or said to be busy."""


class Failed(EdbenchError):
    """Anything else that went wrong with one file or object."""


class Store(Protocol):
    """One client's way to the storage; not for several threads. Names are relative, with `/` between their parts.

    Everything raises Refused or Failed; nothing is tried again.
    """

    def make(self, directory: str) -> None:
        """A directory that names begin with, where the storage has such a thing."""

    def write(self, name: str, size: int, pieces: Iterable[Buffer]) -> int:
        """A new file or object of so many bytes, whole; its bytes."""

    def read(self, name: str) -> int:
        """All of it; its bytes."""

    def remove(self, name: str) -> None:
        """It is gone."""

    def forget(self, name: str) -> None:
        """It is safe on the storage, and this host's cache was asked to drop it; nothing where no cache lies between."""
