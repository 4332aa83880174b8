"""Replays: how fast their clients are, and how true to what was recorded."""
