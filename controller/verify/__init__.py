"""Finished jobs held against the truth of their corpora."""
