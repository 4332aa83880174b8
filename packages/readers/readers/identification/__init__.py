"""Identification of the format of bytes."""
