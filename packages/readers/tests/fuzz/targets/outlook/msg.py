"""msg: an Outlook message in a compound file."""

from reading import files, handler

read = handler("application/vnd.ms-outlook")
SEEDS = files(".msg")
