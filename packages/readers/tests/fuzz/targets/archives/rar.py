"""rar: the headers, then the library."""

from reading import files, handler

read = handler("application/vnd.rar")
SEEDS = files(".rar")
