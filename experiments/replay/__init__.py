"""Replays of one trace with several numbers of clients: the points, what they may claim, the report (docs/replay.md)."""
