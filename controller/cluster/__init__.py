"""Starts and scales workers."""
