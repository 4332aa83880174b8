"""gzip: headers and members."""

from reading import files, handler

read = handler("application/gzip")
SEEDS = files(".tgz", ".gz")
