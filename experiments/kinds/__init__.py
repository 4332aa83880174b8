"""Kinds of experiment: which points are measured, and in what order."""
