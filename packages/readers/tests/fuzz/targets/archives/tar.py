"""tar: all dialects of the header."""

from reading import files, handler

read = handler("application/x-tar")
SEEDS = files(".tar")
