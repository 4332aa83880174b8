"""Damaged copies of real files, run through the whole unpacking path in processes that may die."""
