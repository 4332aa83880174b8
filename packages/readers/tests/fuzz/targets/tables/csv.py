"""csv: rows."""

from reading import files, handler

read = handler("text/csv")
SEEDS = files(".csv")
