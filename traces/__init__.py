"""Traces: every storage call of a job, for analysis and replay (docs/dev/trace-format.md)."""
