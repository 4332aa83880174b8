"""pst: the node database, heaps and tables of a mail store."""

from reading import files, handler

read = handler("application/vnd.ms-outlook-pst")
SEEDS = files(".pst")
