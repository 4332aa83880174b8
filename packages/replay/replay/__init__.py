"""Replays: the storage calls of a trace made again, from client processes, without the work between them (docs/replay.md)."""
