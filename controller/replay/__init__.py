"""The replay of a trace as a job: what is asked for, where it may happen, who plays it, what it found (docs/replay.md)."""
