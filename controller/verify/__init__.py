"""Verification of finished jobs against the ground truth of their corpora."""
