"""Tar archives."""
