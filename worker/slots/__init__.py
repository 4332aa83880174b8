"""The process that does the work, and what its parent sees of it."""
