"""Recorders, metrics and the figures derived from call records."""
