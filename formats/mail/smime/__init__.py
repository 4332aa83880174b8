"""Signed and encrypted mail."""
