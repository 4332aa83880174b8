"""The task bodies: one phase of a job a module."""
