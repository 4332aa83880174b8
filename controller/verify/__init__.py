"""Checks finished jobs against the truth of their corpora."""
