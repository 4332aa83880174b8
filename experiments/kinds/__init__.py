"""Kinds of study: which points are measured, and in what order."""
