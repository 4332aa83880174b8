"""How much memory this host gives us; see `core.memory`."""

from core.memory import client_memory, free_memory

__all__ = ["client_memory", "free_memory"]
