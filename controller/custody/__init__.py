"""Chain of custody: what was done to a job and by whom, and what was read of each item (docs/custody.md)."""
