"""Compound files that are nothing better known."""

from reading import files, handler

read = handler("application/x-ole-storage")
SEEDS = files(".doc", ".msg", ".xls")
