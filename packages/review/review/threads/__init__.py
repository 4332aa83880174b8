"""Threads: which message answers which."""
