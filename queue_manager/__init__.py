"""Sends pending tasks to the workers, inside a window, and closes phases."""
