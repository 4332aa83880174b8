"""mbox: where one message ends."""

from reading import files, handler

read = handler("application/mbox")
SEEDS = files(".mbox")
