"""Traces from and to what other programs write."""
