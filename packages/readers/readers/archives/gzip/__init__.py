"""Gzip files."""
